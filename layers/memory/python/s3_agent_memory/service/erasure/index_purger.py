"""Purging an index: no file of it, and no log entry, may hold what belongs to erased memories any more.

Everybody who read before the erasure is shut out first, by a fence in the manifest: what they bring is never committed.
Then the segments and shards in use are rewritten without rows that something outranks, what they replace is deleted at
once, and so are log entries that no row counts for. Readers who lose a file under their hands read the manifest again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from s3_agent_memory import names
from s3_agent_memory.domain.erasure import ErasureCounts
from s3_agent_memory.domain.keys import Namespace, segment_prefix, vector_prefix
from s3_agent_memory.errors import ThrottledError
from s3_agent_memory.index.id_table import Positions
from s3_agent_memory.index.manifest import (
    Manifest,
    SegmentRef,
    is_fenced,
    raise_fence,
    rename_fold,
    replace_segments,
    replace_vectors,
    stamp,
)
from s3_agent_memory.index.segment_merge import without_rows
from s3_agent_memory.service.erasure.work import HasTime
from s3_agent_memory.service.listing import pages
from s3_agent_memory.service.results import Consistency
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.head import HeadStore, IndexBrokenError
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.stored_index.segment_writer import SegmentWriter
from s3_agent_memory.service.stored_index.vector_files import VectorFiles
from s3_agent_memory.service.upkeep.collector import Collector
from s3_agent_memory.service.upkeep.folder import Folder
from s3_agent_memory.service.upkeep.reindexer import Reindexer
from s3_agent_memory.service.upkeep.sweeper import Sweeper
from s3_agent_memory.service.upkeep.vector_compactor import VectorCompactor

_ROUND_COUNT_MAX: Final = 32
_FOLD_COUNT_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class Purge:
    """What a purge removed, and whether nothing is left."""

    counts: ErasureCounts
    is_complete: bool


@dataclass(frozen=True, slots=True)
class _Outranked:
    """The rows of segments in use that are no deletions and that something outranks, and the manifest they are of.

    Attributes:
        rows: positions by segment; segments without any are left out.
    """

    base: Manifest
    rows: Mapping[str, Positions]


class IndexPurger:
    """Purges the index of one namespace at a time."""

    def __init__(
        self,
        runtime: Runtime,
        heads: HeadStore,
        reader: IndexReader,
        *,
        folder: Folder,
        reindexer: Reindexer,
        sweeper: Sweeper,
        collector: Collector,
        segments: SegmentWriter,
        vectors: VectorFiles,
        vector_compactor: VectorCompactor,
    ) -> None:
        self._runtime = runtime
        self._heads = heads
        self._reader = reader
        self._folder = folder
        self._reindexer = reindexer
        self._sweeper = sweeper
        self._collector = collector
        self._segments = segments
        self._vectors = vectors
        self._vector_compactor = vector_compactor

    def purge(self, namespace: Namespace, has_time: HasTime) -> Purge:
        """Remove every trace of memories that are no more; doing it again goes on where it stopped.

        Raises:
            ThrottledError: others kept changing the index; do it again.
        """
        uploads = frozenset(self._files(namespace))
        self._shut_out(namespace)
        counts = ErasureCounts()
        if not self._fold_all(namespace, has_time):
            return Purge(counts, is_complete=False)
        for _ in range(_ROUND_COUNT_MAX):
            counts += self._rewrite(namespace, self._outranked(namespace), has_time) + self._clear_log(namespace)
            is_clean = not self._outranked(namespace).rows
            if is_clean and not self._vector_compactor.dead_row_count(namespace):
                return Purge(counts + self._delete_files(namespace, uploads), is_complete=True)
            if not has_time():
                return Purge(counts, is_complete=False)
        raise ThrottledError("other processes kept changing the index; send the same request again")

    def _shut_out(self, namespace: Namespace) -> None:
        """Raise the fence; an index that is lost or broken is rebuilt first, for a manifest would hide the loss."""
        try:
            self._reader.view(namespace)
        except IndexBrokenError:
            self._reindexer.reindex(namespace)
        self._heads.commit(namespace, raise_fence)

    def _fold_all(self, namespace: Namespace, has_time: HasTime) -> bool:
        """Bring the deletions of what was erased into segments; return False if the time is up."""
        for _ in range(_FOLD_COUNT_MAX):
            if not self._folder.fold(namespace).entries_folded:
                break
            if not has_time():
                return False
        view = self._reader.view(namespace)
        # An erasure may have died between a deletion and its log entry, and nobody knows what a broken entry said.
        self._sweeper.repair(namespace, view.snapshot)
        return True

    # --- rows and vectors ---------------------------------------------------------------------------------------------

    def _outranked(self, namespace: Namespace) -> _Outranked:
        view = self._reader.view(namespace, Consistency.EVENTUAL)
        manifest, snapshot = view.head.manifest, view.snapshot
        found: dict[str, Positions] = {}
        for start, reference, segment in zip(snapshot.bases, manifest.segments, snapshot.segments, strict=False):
            is_live = snapshot.is_live[start : start + segment.row_count]
            rows = np.flatnonzero(~is_live & ~segment.is_deleted)
            if len(rows):
                found[reference.id] = rows
        return _Outranked(manifest, found)

    def _rewrite(self, namespace: Namespace, outranked: _Outranked, has_time: HasTime) -> ErasureCounts:
        """Rewrite segments without their outranked rows, and shards without vectors that no row needs."""
        # What outranks a row must be in use as well when a swap lands: two that rewrote at once could otherwise each
        # leave out what the other relies on.
        needed = outranked.base.segment_ids
        count = 0
        for segment_id, rows in outranked.rows.items():
            if count and not has_time():
                break
            (segment,) = self._reader.segments(namespace, [segment_id])
            output = self._segments.upload_body(namespace, without_rows(segment, rows))
            if self._swap(namespace, segment_id, output, base=outranked.base, needed=needed):
                needed = needed - {segment_id} | {output.id}
                count += 1
        self._give_up_unreadable_vectors(namespace)
        return ErasureCounts(index_files=count + self._vector_compactor.purge(namespace))

    def _swap(
        self, namespace: Namespace, segment_id: str, output: SegmentRef, *, base: Manifest, needed: frozenset[str]
    ) -> bool:
        def delta(fresh: Manifest) -> Manifest | None:
            if output.id in fresh.segment_ids:
                return fresh
            if is_fenced(fresh, base.version) or not needed <= fresh.segment_ids:
                return None
            stamped = stamp(fresh, self._runtime.now_ms())
            changed = replace_segments(stamped, [segment_id], (output,), analyzer=base.analyzer)
            return None if changed is None else rename_fold(changed, segment_id, output.id)

        return self._heads.commit(namespace, delta) is not None

    def _give_up_unreadable_vectors(self, namespace: Namespace) -> None:
        references = self._heads.load(namespace).manifest.vectors
        lost = {item.id for item in references} - self._vectors.load(namespace, references).keys()
        if lost:
            self._heads.commit(namespace, lambda fresh: replace_vectors(fresh, lost, ()))

    # --- the log ------------------------------------------------------------------------------------------------------

    def _clear_log(self, namespace: Namespace) -> ErasureCounts:
        """Delete the log entries whose row something outranks, folded or not, and those that cannot be read.

        Nobody misses them: whoever does not see the row of a memory that is no more sees what is true.
        """
        view = self._reader.view(namespace)
        read = self._reader.entries(namespace, view.log_keys)
        doomed = [
            key
            for key, entry in read.found.items()
            if not entry.row.is_deleted
            and (winner := view.snapshot.find(entry.row.id)) is not None
            and winner.rank > entry.row.rank
        ]
        doomed += read.unreadable
        self._runtime.store.delete_many(doomed)
        return ErasureCounts(log_entries=len(doomed), objects=len(doomed))

    # --- files --------------------------------------------------------------------------------------------------------

    def _delete_files(self, namespace: Namespace, uploads: frozenset[str]) -> ErasureCounts:
        """Delete what was replaced, and what was uploaded before the fence and committed by nobody."""
        trashed = self._collector.empty_trash(namespace, at_once=True)
        manifest = self._heads.load(namespace).manifest
        known = {f"{segment_prefix(namespace)}{item}{names.SEGMENT_SUFFIX}" for item in manifest.known_ids}
        known |= {f"{vector_prefix(namespace)}{item}{names.VECTOR_SUFFIX}" for item in manifest.known_vector_ids}
        orphans = sorted(uploads & frozenset(self._files(namespace)) - known)
        self._runtime.store.delete_many(orphans)
        return ErasureCounts(index_files=len(orphans), objects=trashed + len(orphans))

    def _files(self, namespace: Namespace) -> Iterator[str]:
        for prefix in (segment_prefix(namespace), vector_prefix(namespace)):
            for page in pages(self._runtime.store, prefix):
                yield from (item.key for item in page)
