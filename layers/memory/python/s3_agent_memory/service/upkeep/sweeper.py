"""Anti-entropy: compares every object and tombstone with the index by ETag and folds the difference.

Events can be lost and writers can die between object and log entry; the sweep finds what they left without reading the
objects themselves. An id that has both an object and a tombstone is always looked at again.
"""

from dataclasses import replace
from functools import cache
from typing import Final

from s3_agent_memory.domain.keys import Namespace, memory_prefix, tombstone_prefix
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.index.row import etag_hash
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.service.grace import DELETION_AGE_MS
from s3_agent_memory.service.listing import truth_pages
from s3_agent_memory.service.memories.history import History
from s3_agent_memory.service.results import SweepReport
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.head import HeadStore
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.truth import Truth
from s3_agent_memory.service.upkeep.collector import Collector
from s3_agent_memory.service.upkeep.compactor import Compactor
from s3_agent_memory.service.upkeep.folder import Folder
from s3_agent_memory.service.upkeep.reindexer import Reindexer
from s3_agent_memory.service.upkeep.vector_keeper import VectorKeeper

_MERGE_COUNT_MAX: Final = 16
_FOLD_COUNT_MAX: Final = 1_000
_HINT_COUNT_MAX: Final = 10_000


class Sweeper:
    """Brings the index of one namespace in line with its objects, and tidies up behind it."""

    def __init__(
        self,
        runtime: Runtime,
        reader: IndexReader,
        *,
        folder: Folder,
        compactor: Compactor,
        collector: Collector,
        reindexer: Reindexer,
        vectors: VectorKeeper,
        truth: Truth,
    ) -> None:
        self._truth = truth
        self._history = History(runtime)
        self._heads = HeadStore(runtime)
        self._runtime = runtime
        self._reader = reader
        self._vectors = vectors
        self._folder = folder
        self._compactor = compactor
        self._collector = collector
        self._reindexer = reindexer

    def sweep(self, namespace: Namespace) -> SweepReport:
        """Fold the log, repair what differs, embed what has no vector, merge, and collect garbage.

        Raises:
            IndexBrokenError: the index must be rebuilt.
        """
        self.fold_all(namespace)
        view = self._reader.view(namespace)
        if view.head.etag is not None:
            # Without its marker no scheduled round would come by here again.
            self._heads.ensure_marker(namespace)
        repair = self.repair(namespace, view.snapshot)
        if view.unreadable_keys:
            self._folder.fold(namespace, discard=view.unreadable_keys)
            # Stamps that fold, so that the next sweep may delete the entries.
            self.fold_all(namespace)
        for _ in range(_MERGE_COUNT_MAX):
            if not self._compactor.compact(namespace):
                break
        self._sweep_history(namespace)
        embedding = self._vectors.repair(namespace)
        self._collector.empty_trash(namespace)
        self._collector.remove_orphans(namespace)
        return replace(repair, embedded=embedding.embedded if embedding else 0)

    def repair(self, namespace: Namespace, snapshot: Snapshot) -> SweepReport:
        """Fold what differs between the objects and a snapshot of the index; if objects vanished, rebuild the index.

        Raises:
            IndexBrokenError: the index must be rebuilt.
        """
        suspects, checked = self._suspects(namespace, snapshot)
        repair = self._repair(namespace, snapshot, suspects)
        if repair.vanished:
            # A row can only be outranked, and nothing outranks an object that left no trace.
            self._reindexer.reindex(namespace)
        return replace(repair, checked=checked)

    def _sweep_history(self, namespace: Namespace) -> None:
        """Remove earlier versions that somebody who died has left of memories that are gone."""
        # Read only if there are any.
        present = cache(lambda: self._reader.view(namespace).snapshot)
        self._history.sweep(namespace, self._truth, is_known=lambda memory_id: _is_live(present(), memory_id))

    def fold_all(self, namespace: Namespace) -> None:
        """Fold until the log has nothing new, and clean up log entries whose grace is over."""
        for _ in range(_FOLD_COUNT_MAX):
            if not self._folder.fold(namespace).entries_folded:
                return

    def _suspects(self, namespace: Namespace, snapshot: Snapshot) -> tuple[dict[str, Kind | None], int]:
        """Return ids whose objects differ from their rows, with the kind they lie under, and how many were compared."""
        suspects: dict[str, Kind | None] = {}
        seen: set[str] = set()
        for kind in Kind:
            for page in truth_pages(self._runtime.store, memory_prefix(namespace, kind)):
                ids = [item.id for item in page]
                seen.update(ids)
                etags, is_deleted, is_present = snapshot.winner_etags(ids)
                for position, item in enumerate(page):
                    is_known = bool(is_present[position]) and not bool(is_deleted[position])
                    if not is_known or int(etags[position]) != etag_hash(item.etag):
                        suspects[ids[position]] = kind
        self._suspect_tombstones(namespace, snapshot, seen, suspects)
        for memory_id, kind in snapshot.live_ids():
            if memory_id not in seen:
                suspects.setdefault(memory_id, kind)
        return suspects, len(seen)

    def _suspect_tombstones(
        self, namespace: Namespace, snapshot: Snapshot, seen: set[str], suspects: dict[str, Kind | None]
    ) -> None:
        horizon_ms = self._runtime.now_ms() - DELETION_AGE_MS
        for page in truth_pages(self._runtime.store, tombstone_prefix(namespace)):
            ids = [item.id for item in page]
            etags, _, is_present = snapshot.winner_etags(ids)
            for position, item in enumerate(page):
                if ids[position] in seen:
                    suspects.setdefault(ids[position], None)
                elif not is_present[position]:
                    # The rows of older deletions have left the index for good.
                    if item.modified_ms >= horizon_ms:
                        suspects.setdefault(ids[position], None)
                elif int(etags[position]) != etag_hash(item.etag):
                    suspects.setdefault(ids[position], None)

    def _repair(self, namespace: Namespace, snapshot: Snapshot, suspects: dict[str, Kind | None]) -> SweepReport:
        """Fold the ids whose present row differs from the index."""
        repaired = vanished = 0
        corrupt: list[str] = []
        items = list(suspects.items())
        for start in range(0, len(items), _HINT_COUNT_MAX):
            hints = dict(items[start : start + _HINT_COUNT_MAX])
            report = self._folder.fold(namespace, hints, known=snapshot)
            repaired += report.rows
            corrupt.extend(report.corrupt_keys)
            vanished += sum(_is_live(snapshot, memory_id) for memory_id in report.absent_ids)
        return SweepReport(checked=0, repaired=repaired, vanished=vanished, corrupt_keys=tuple(corrupt))


def _is_live(snapshot: Snapshot, memory_id: str) -> bool:
    row = snapshot.find(memory_id)
    return row is not None and not row.is_deleted
