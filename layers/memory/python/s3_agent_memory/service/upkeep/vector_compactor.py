"""Compaction of vector shards: merges small ones, and rewrites those that hold what no memory needs any more.

Needed are the vectors whose key a live row has. A row that is written while a merge runs brings its vectors in a shard
of its own; one that relies on a vector which the merge leaves out counts as missing and is embedded again.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.index.manifest import Manifest, VectorRef, is_fenced, replace_vectors, stamp
from s3_agent_memory.index.merge_policy import choose_vector_merge
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.vectors.merge import merge_shards
from s3_agent_memory.index.vectors.shard import VectorShard
from s3_agent_memory.index.vectors.view import VectorView
from s3_agent_memory.service.grace import UPLOAD_AGE_MAX_MS
from s3_agent_memory.service.results import Consistency
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.head import HeadStore
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.stored_index.vector_files import VectorFiles

_Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Swap:
    """Shards that are to be replaced, by what, and which others must be in use then.

    The age is that of the reading, ``base_version`` that of the manifest then.
    """

    base_version: int
    inputs: Collection[str]
    outputs: tuple[VectorRef, ...]
    witnesses: Collection[str] = ()
    started_ms: int


class VectorCompactor:
    """Merges and rewrites the vector shards of one namespace at a time, whatever their model is."""

    def __init__(self, runtime: Runtime, heads: HeadStore, reader: IndexReader, files: VectorFiles) -> None:
        self._runtime = runtime
        self._heads = heads
        self._reader = reader
        self._files = files

    def compact(self, namespace: Namespace) -> int:
        """Merge one group of shards if the merge policy finds one; return how many went into it.

        A rival that replaces one of them first makes this merge void; nothing is lost but the work.

        Raises:
            IndexBrokenError: the index must be rebuilt.
        """
        started_ms = self._runtime.now_ms()
        view = self._reader.view(namespace, Consistency.EVENTUAL)
        chosen = choose_vector_merge(view.head.manifest)
        if chosen is None:
            return 0
        shards = self._files.load(namespace, chosen)
        if len(shards) < len(chosen) or len({shard.dimension for shard in shards.values()}) > 1:
            # What cannot be read or used is given up by whoever embeds next.
            return 0
        outputs = self._merged(namespace, list(shards.values()), _live_keys(view.snapshot))
        base_version = view.head.manifest.version
        swap = _Swap(base_version=base_version, inputs=shards.keys(), outputs=outputs, started_ms=started_ms)
        return len(shards) if self._commit(namespace, swap) else 0

    def purge(self, namespace: Namespace, *, dead_share_max: float = 0.0) -> int:
        """Rewrite shards without the rows that no live memory needs; return how many were rewritten.

        Args:
            dead_share_max: shards with at most this share of dead rows are left as they are.

        Raises:
            IndexBrokenError: the index must be rebuilt.
        """
        started_ms = self._runtime.now_ms()
        view = self._reader.view(namespace, Consistency.EVENTUAL)
        count = 0
        for group in _groups(self._files.load(namespace, view.head.manifest.vectors)):
            dead = _mostly_dead(view.snapshot, group, dead_share_max)
            if dead:
                outputs = tuple(self._without_dead(namespace, view.snapshot, group, dead))
                swap = _Swap(
                    base_version=view.head.manifest.version,
                    inputs=dead,
                    outputs=outputs,
                    witnesses=group.keys(),
                    started_ms=started_ms,
                )
                count += len(dead) if self._commit(namespace, swap) else 0
        return count

    def dead_row_count(self, namespace: Namespace) -> int:
        """Return how many vectors in use no live memory needs.

        Raises:
            IndexBrokenError: the index must be rebuilt.
        """
        view = self._reader.view(namespace, Consistency.EVENTUAL)
        groups = _groups(self._files.load(namespace, view.head.manifest.vectors))
        return sum(
            VectorView(view.snapshot, list(group.values())).dead_row_count(number)
            for group in groups
            for number in range(len(group))
        )

    def _without_dead(
        self, namespace: Namespace, snapshot: Snapshot, group: Mapping[str, VectorShard], dead: Sequence[str]
    ) -> Iterator[VectorRef]:
        live, shard_ids = _live_keys(snapshot), list(group)
        for shard_id in dead:
            # Where a later shard has a key as well, its vectors count and these do not.
            later = [group[item].text_keys for item in shard_ids[shard_ids.index(shard_id) + 1 :]]
            needed = np.setdiff1d(live, np.concatenate(later)) if later else live
            yield from self._merged(namespace, [group[shard_id]], needed)

    def _merged(self, namespace: Namespace, shards: Sequence[VectorShard], needed: _Keys) -> tuple[VectorRef, ...]:
        """Write one shard of all needed vectors of some shards; none if there are none."""
        if not any(np.isin(shard.text_keys, needed).any() for shard in shards):
            return ()
        body = merge_shards(shards, keep=lambda keys: np.isin(keys, needed))
        return (self._files.upload_body(namespace, body),)

    def _commit(self, namespace: Namespace, swap: _Swap) -> bool:
        def delta(fresh: Manifest) -> Manifest | None:
            now_ms = self._runtime.now_ms()
            if now_ms - swap.started_ms > UPLOAD_AGE_MAX_MS or is_fenced(fresh, swap.base_version):
                return None
            return replace_vectors(stamp(fresh, now_ms), swap.inputs, swap.outputs, witnesses=swap.witnesses)

        return self._heads.commit(namespace, delta) is not None


def _live_keys(snapshot: Snapshot) -> _Keys:
    (keys,) = snapshot.columns(snapshot.live_docs(), "text_keys")
    unique: _Keys = np.unique(keys).astype(np.uint64)
    return unique


def _groups(shards: Mapping[str, VectorShard]) -> list[dict[str, VectorShard]]:
    """Return shards grouped by what may be looked at together, each group in the order given."""
    groups: dict[tuple[str, int], dict[str, VectorShard]] = {}
    for shard_id, shard in shards.items():
        groups.setdefault((shard.model, shard.dimension), {})[shard_id] = shard
    return list(groups.values())


def _mostly_dead(snapshot: Snapshot, group: Mapping[str, VectorShard], dead_share_max: float) -> list[str]:
    view = VectorView(snapshot, list(group.values()))
    return [
        shard_id
        for number, (shard_id, shard) in enumerate(group.items())
        if view.dead_row_count(number) > dead_share_max * shard.row_count
    ]
