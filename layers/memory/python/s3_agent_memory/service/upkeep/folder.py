"""The fold: takes the log (and what events name) into one new immutable segment, and cleans the log up behind it.

A fold reads the present objects of every id it is told about, whatever the message said, so repeated, stale and
reordered messages become no-ops. Folds of several processes commute: rows merge by (id, highest rank).

Vectors that log entries carry are kept in a shard that is committed together with the segment, so that nothing is
embedded twice; only those of the text that the object has now.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from s3_agent_memory.domain.ids import written_ms
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import BackendError, ThrottledError
from s3_agent_memory.index.log import EntryVectors, LogEntry
from s3_agent_memory.index.manifest import (
    Manifest,
    SegmentRef,
    VectorRef,
    add_fold,
    add_vectors,
    drop_folds,
    is_fenced,
    stamp,
)
from s3_agent_memory.index.row import Row
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.service.grace import LOG_GRACE_MS, UPLOAD_AGE_MAX_MS
from s3_agent_memory.service.results import FoldReport
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.analysis import Analyzers
from s3_agent_memory.service.stored_index.head import HeadStore
from s3_agent_memory.service.stored_index.index_reader import IndexReader, ReadEntries
from s3_agent_memory.service.stored_index.row_loader import RowLoader
from s3_agent_memory.service.stored_index.segment_writer import SegmentWriter
from s3_agent_memory.service.stored_index.vector_files import VectorFiles

# Bounds one segment and one run; what is left over is the next fold's.
ENTRY_COUNT_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Fold:
    """An uploaded fold that is to be committed, and the folds whose log entries are gone.

    Its age counts from the first read, because what was read could be out of date by any amount; ``base_version`` is
    that of the manifest read before it.
    """

    base_version: int
    segment: SegmentRef
    vectors: VectorRef | None
    started_ms: int
    signature: str
    has_log_entries: bool
    expired: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Expired:
    """Folds whose log entries were deleted, and how many entries that were."""

    segment_ids: frozenset[str]
    entry_count: int


class Folder:
    """Folds the log of one namespace at a time."""

    def __init__(
        self,
        runtime: Runtime,
        heads: HeadStore,
        reader: IndexReader,
        *,
        rows: RowLoader,
        writer: SegmentWriter,
        vectors: VectorFiles,
        analyzers: Analyzers,
    ) -> None:
        self._runtime = runtime
        self._heads = heads
        self._reader = reader
        self._rows = rows
        self._writer = writer
        self._vectors = vectors
        self._analyzers = analyzers

    def fold(
        self,
        namespace: Namespace,
        hints: Mapping[str, Kind | None] | None = None,
        *,
        known: Snapshot | None = None,
        discard: frozenset[str] = frozenset(),
    ) -> FoldReport:
        """Fold the unfolded log entries, and the ids in ``hints``, into one segment and commit it.

        Args:
            hints: ids that may have changed, each with its kind if known.
            known: rows that this snapshot has already are left out. The log is left alone then, because the snapshot
                may know a row from nowhere else.
            discard: log entries that cannot be read and may go, because what they stood for has been looked for among
                the objects. All others that cannot be read stay, and with them the note that answers are degraded.

        Raises:
            IndexBrokenError: the index must be rebuilt first.
            ThrottledError: others committed too often at the same time.
        """
        started_ms = self._runtime.now_ms()
        head = self._heads.load(namespace)
        if head.etag is None:
            # A lost index would get a manifest that knows the log alone, and no reader would notice any more.
            self._reader.view(namespace)
        manifest = head.manifest
        analyzer = self._analyzers.of(namespace, manifest)
        expired = self._delete_folded_entries(namespace, manifest)
        fresh = self._fresh_keys(namespace, manifest) if known is None else []
        read = self._reader.entries(namespace, fresh)
        ids = _ids_of(read)
        loaded = self._rows.load(namespace, {**(hints or {}), **ids}, analyzer)
        rows = loaded.rows if known is None else [row for row in loaded.rows if not _has_row(known, row)]
        took = [key for key in fresh if key in read.found or key in read.unreadable & discard]
        if not took and not rows:
            self._commit_clean_up(namespace, expired.segment_ids)
        else:
            segment = self._writer.upload(namespace, rows, analyzer_signature=analyzer.signature, folded_keys=took)
            done = _Fold(
                manifest.version,
                segment,
                vectors=self._upload_vectors(namespace, manifest, rows, read.found.values()),
                started_ms=started_ms,
                signature=analyzer.signature,
                has_log_entries=bool(took),
                expired=expired.segment_ids,
            )
            if not self._commit(namespace, done):
                took = []
        return FoldReport(
            rows=len(rows),
            log_length=len(fresh),
            lag_ms=max(0, started_ms - written_ms(min(fresh))) if fresh else 0,
            entries_folded=len(took),
            entries_deleted=expired.entry_count,
            corrupt_keys=loaded.corrupt_keys,
            unreadable_ids=loaded.corrupt_ids,
            absent_ids=loaded.absent_ids,
        )

    def _upload_vectors(
        self, namespace: Namespace, manifest: Manifest, rows: Iterable[Row], entries: Iterable[LogEntry]
    ) -> VectorRef | None:
        """Write the vectors that log entries carry for the texts of ``rows``, those of the namespace's model."""
        found = _vectors_for(rows, entries)
        model = manifest.model or (found[-1].model if found else "")
        usable = [item.keyed for item in found if item.model == model]
        fitting = [item for item in usable if item.codes.shape[1] == usable[-1].codes.shape[1]]
        return self._vectors.upload(namespace, fitting, model=model) if fitting else None

    def _fresh_keys(self, namespace: Namespace, manifest: Manifest) -> list[str]:
        folded = self._reader.folded_keys(namespace, manifest)
        limit = ENTRY_COUNT_MAX + len(folded)
        keys = self._reader.list_log(namespace, limit=limit)
        return [key for key in keys if key not in folded][:ENTRY_COUNT_MAX]

    def _delete_folded_entries(self, namespace: Namespace, manifest: Manifest) -> _Expired:
        """Delete the log entries of folds that were stamped long enough ago; what fails is left to the next fold."""
        horizon_ms = self._runtime.now_ms() - LOG_GRACE_MS
        due = [
            fold.segment_id for fold in manifest.folds if fold.stamped_ms is not None and fold.stamped_ms < horizon_ms
        ]
        expired: set[str] = set()
        entry_count = 0
        for segment_id in due:
            keys = self._reader.folded_keys_of(namespace, segment_id)
            try:
                self._runtime.store.delete_many(keys)
            except (BackendError, ThrottledError):
                # Entries that stay do no harm, but an index that takes in nothing new would.
                continue
            expired.add(segment_id)
            entry_count += len(keys)
        return _Expired(frozenset(expired), entry_count)

    def _commit(self, namespace: Namespace, fold: _Fold) -> bool:
        def delta(manifest: Manifest) -> Manifest | None:
            is_old = self._runtime.now_ms() - fold.started_ms > UPLOAD_AGE_MAX_MS
            if is_old or is_fenced(manifest, fold.base_version):
                return None
            # Only folds this manifest already shows are stamped; our own is added afterwards, without a stamp.
            now_ms = self._runtime.now_ms()
            cleaned = stamp(drop_folds(manifest, fold.expired), now_ms)
            added = add_fold(cleaned, fold.segment, analyzer=fold.signature, has_log_entries=fold.has_log_entries)
            return added if added is None or fold.vectors is None else add_vectors(added, fold.vectors, now_ms)

        return self._heads.commit(namespace, delta) is not None

    def _commit_clean_up(self, namespace: Namespace, expired: frozenset[str]) -> None:
        def delta(manifest: Manifest) -> Manifest:
            return stamp(drop_folds(manifest, expired), self._runtime.now_ms())

        self._heads.commit(namespace, delta)


def _has_row(snapshot: Snapshot, row: Row) -> bool:
    etags, is_deleted, is_present = snapshot.winner_etags([row.id])
    is_same_state = bool(is_present[0]) and bool(is_deleted[0]) == row.is_deleted
    return is_same_state and int(etags[0]) == row.etag_hash


def _vectors_for(rows: Iterable[Row], entries: Iterable[LogEntry]) -> list[EntryVectors]:
    """Return the vectors of entries whose text is still that of the row.

    The rows come from the objects. An entry may be out of date by now, or the trace of a write that was refused.
    """
    text_keys = {row.id: row.text_key for row in rows}
    return [
        entry.vectors
        for entry in entries
        if entry.vectors is not None and text_keys.get(entry.row.id) == entry.vectors.keyed.text_key
    ]


def _ids_of(read: ReadEntries) -> dict[str, Kind | None]:
    """Return the ids that log entries name, each with its kind."""
    ids: dict[str, Kind | None] = {}
    for entry in read.found.values():
        # An id stays with its kind; should two entries disagree, look under every kind.
        is_same = ids.get(entry.row.id, entry.row.kind) is entry.row.kind
        ids[entry.row.id] = entry.row.kind if is_same else None
    return ids
