"""Rebuilds the index of a namespace from its objects: it is a cache, and this is how it comes back."""

from collections.abc import Iterator, Sequence
from typing import Final

from s3_agent_memory.domain.keys import Namespace, memory_prefix, tombstone_prefix
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import ConflictError
from s3_agent_memory.index.manifest import Manifest, SegmentRef, is_fenced, note_fold, replace_segments, stamp
from s3_agent_memory.index.row import Row
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.service.grace import DELETION_AGE_MS, UPLOAD_AGE_MAX_MS
from s3_agent_memory.service.listing import truth_pages
from s3_agent_memory.service.results import Progress, ReindexReport, no_progress
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.head import HeadStore, IndexBrokenError
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.stored_index.row_loader import RowLoader
from s3_agent_memory.service.stored_index.segment_writer import SegmentWriter
from s3_agent_memory.service.upkeep.folder import ENTRY_COUNT_MAX

_ATTEMPT_COUNT_MAX: Final = 3
_BATCH_SIZE: Final = 1_024
# A segment is closed at whichever comes first; postings, not rows, decide how large it gets.
_SEGMENT_ROWS_MAX: Final = 100_000
_SEGMENT_TERMS_MAX: Final = 4_000_000


class Reindexer:
    """Builds new segments from the objects and swaps them for all that were in use."""

    def __init__(
        self,
        runtime: Runtime,
        heads: HeadStore,
        reader: IndexReader,
        *,
        rows: RowLoader,
        writer: SegmentWriter,
        analyzer: Analyzer,
    ) -> None:
        self._runtime = runtime
        self._heads = heads
        self._reader = reader
        self._rows = rows
        self._writer = writer
        self._analyzer = analyzer

    def reindex(self, namespace: Namespace, *, progress: Progress = no_progress) -> ReindexReport:
        """Rebuild the index; searching and writing go on meanwhile.

        Raises:
            ConflictError: others replaced the old segments during the rebuild, several times over.
        """
        digest_before = self._digest(namespace)
        for _ in range(_ATTEMPT_COUNT_MAX):
            started_ms = self._runtime.now_ms()
            base = self._heads.load_or_empty(namespace)
            # Listed before any object is read, so whatever these entries stand for is in the objects.
            log_keys = self._reader.list_log(namespace, limit=ENTRY_COUNT_MAX)[:ENTRY_COUNT_MAX]
            corrupt: list[str] = []
            outputs = tuple(self._write_segments(namespace, log_keys, corrupt, progress))
            if self._commit(namespace, base.manifest, outputs, started_ms=started_ms, has_log_keys=bool(log_keys)):
                self._heads.ensure_marker(namespace)
                view = self._reader.view(namespace)
                return ReindexReport(
                    memories=view.snapshot.live_count,
                    digest_before=digest_before,
                    digest_after=view.snapshot.digest(),
                    corrupt_keys=tuple(corrupt),
                )
        raise ConflictError("other processes kept rewriting the index; run reindex again")

    def _digest(self, namespace: Namespace) -> str:
        try:
            return self._reader.view(namespace).snapshot.digest()
        except IndexBrokenError:
            return ""

    def _commit(
        self,
        namespace: Namespace,
        base: Manifest,
        outputs: tuple[SegmentRef, ...],
        *,
        started_ms: int,
        has_log_keys: bool,
    ) -> bool:
        def delta(fresh: Manifest) -> Manifest | None:
            now_ms = self._runtime.now_ms()
            if now_ms - started_ms > UPLOAD_AGE_MAX_MS or is_fenced(fresh, base.version):
                return None
            replaced = replace_segments(
                stamp(fresh, now_ms), base.segment_ids, outputs, analyzer=self._analyzer.signature
            )
            return note_fold(replaced, outputs[0].id) if replaced is not None and has_log_keys else replaced

        return self._heads.commit(namespace, delta, replaces_corrupt=True) is not None

    def _write_segments(
        self, namespace: Namespace, log_keys: Sequence[str], corrupt: list[str], progress: Progress
    ) -> Iterator[SegmentRef]:
        """Write the segments, at least one; the first names the log entries that all of them take in."""
        rows: list[Row] = []
        term_count = done = 0
        unnamed: Sequence[str] | None = log_keys
        for batch in self._id_batches(namespace):
            loaded = self._rows.load(namespace, batch, self._analyzer)
            corrupt.extend(loaded.corrupt_keys)
            rows.extend(loaded.rows)
            term_count += sum(len(row.terms) for row in loaded.rows)
            done += len(batch)
            progress(done, None)
            if len(rows) >= _SEGMENT_ROWS_MAX or term_count >= _SEGMENT_TERMS_MAX:
                yield self._upload(namespace, rows, unnamed or ())
                rows, term_count, unnamed = [], 0, None
        if rows or unnamed is not None:
            yield self._upload(namespace, rows, unnamed or ())

    def _upload(self, namespace: Namespace, rows: Sequence[Row], log_keys: Sequence[str]) -> SegmentRef:
        return self._writer.upload(namespace, rows, analyzer_signature=self._analyzer.signature, folded_keys=log_keys)

    def _id_batches(self, namespace: Namespace) -> Iterator[dict[str, Kind | None]]:
        """Yield every id that has an object, and those that lately had one, each with its kind if it is known."""
        for kind in Kind:
            for page in truth_pages(self._runtime.store, memory_prefix(namespace, kind)):
                ids = [item.id for item in page]
                for start in range(0, len(ids), _BATCH_SIZE):
                    yield dict.fromkeys(ids[start : start + _BATCH_SIZE], kind)
        horizon_ms = self._runtime.now_ms() - DELETION_AGE_MS
        for page in truth_pages(self._runtime.store, tombstone_prefix(namespace)):
            recent = [item.id for item in page if item.modified_ms >= horizon_ms]
            for start in range(0, len(recent), _BATCH_SIZE):
                yield dict.fromkeys(recent[start : start + _BATCH_SIZE], None)
