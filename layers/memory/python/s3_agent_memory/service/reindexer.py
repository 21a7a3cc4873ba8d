"""Rebuilds the index of a namespace from its objects: it is a cache, and this is how it comes back."""

from collections.abc import Iterator
from typing import Final

from s3_agent_memory.domain.keys import Namespace, memory_prefix, tombstone_prefix
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import ConflictError
from s3_agent_memory.index.analyzer import Analyzer
from s3_agent_memory.index.manifest import Manifest, SegmentRef, replace_segments, stamp_folds
from s3_agent_memory.index.row import Row
from s3_agent_memory.service.grace import DELETION_AGE_MS, UPLOAD_AGE_MAX_MS
from s3_agent_memory.service.head import HeadStore, IndexBrokenError
from s3_agent_memory.service.index_reader import IndexReader
from s3_agent_memory.service.listing import truth_pages
from s3_agent_memory.service.results import Progress, ReindexReport, no_progress
from s3_agent_memory.service.row_loader import RowLoader
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.segment_writer import SegmentWriter

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
            corrupt: list[str] = []
            outputs = tuple(self._write_segments(namespace, corrupt, progress))
            if self._commit(namespace, base.manifest, outputs, started_ms):
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

    def _commit(self, namespace: Namespace, base: Manifest, outputs: tuple[SegmentRef, ...], started_ms: int) -> bool:
        def delta(fresh: Manifest) -> Manifest | None:
            now_ms = self._runtime.now_ms()
            if now_ms - started_ms > UPLOAD_AGE_MAX_MS:
                return None
            return replace_segments(
                stamp_folds(fresh, now_ms), base.segment_ids, outputs, analyzer=self._analyzer.signature, now_ms=now_ms
            )

        return self._heads.commit(namespace, delta, replaces_corrupt=True) is not None

    def _write_segments(self, namespace: Namespace, corrupt: list[str], progress: Progress) -> Iterator[SegmentRef]:
        rows: list[Row] = []
        term_count = done = 0
        for batch in self._id_batches(namespace):
            loaded = self._rows.load(namespace, batch, self._analyzer)
            corrupt.extend(loaded.corrupt_keys)
            rows.extend(loaded.rows)
            term_count += sum(len(row.terms) for row in loaded.rows)
            done += len(batch)
            progress(done, None)
            if len(rows) >= _SEGMENT_ROWS_MAX or term_count >= _SEGMENT_TERMS_MAX:
                yield self._writer.upload(namespace, rows, analyzer_signature=self._analyzer.signature)
                rows, term_count = [], 0
        if rows:
            yield self._writer.upload(namespace, rows, analyzer_signature=self._analyzer.signature)

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
