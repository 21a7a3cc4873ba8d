"""Writing many memories at once: objects as every writer writes them, and one index segment in place of log entries.

A memory written alone is acknowledged after its log entry. Here thousands of them are acknowledged together, once a
segment with their rows is in the manifest: for a reader that is the same, and it saves a write, a read and a deletion
for each memory. A process that dies in between has acknowledged nothing; its objects are found and indexed by whoever
imports the same lines again, by an event, or by the sweep.
"""

import threading
from collections.abc import Collection

from s3_agent_memory.domain.keys import Namespace, memory_prefix, parse_truth_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.index.log import LogEntry
from s3_agent_memory.index.manifest import Manifest, add_fold, is_fenced, stamp
from s3_agent_memory.index.row import Row
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.service.grace import UPLOAD_AGE_MAX_MS
from s3_agent_memory.service.listing import pages
from s3_agent_memory.service.memories.writer import MemoryWriter
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.analysis import Analyzers
from s3_agent_memory.service.stored_index.head import Head, HeadStore, IndexBrokenError
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.stored_index.segment_writer import SegmentWriter
from s3_agent_memory.service.truth import Truth
from s3_agent_memory.service.upkeep.folder import Folder
from s3_agent_memory.service.upkeep.reindexer import Reindexer


class UnloggedWriter(MemoryWriter):
    """Writes memories, and keeps what would be their log entries for ``BulkIndexer``."""

    def __init__(self, runtime: Runtime, truth: Truth, analyzer: Analyzer) -> None:
        super().__init__(runtime, truth, analyzer)
        self._lock = threading.Lock()
        self._entries: list[LogEntry] = []

    def _log(self, namespace: Namespace, entry: LogEntry) -> None:  # noqa: ARG002
        with self._lock:
            self._entries.append(entry)

    def take(self) -> list[LogEntry]:
        """Return the entries of what was written since the last call; a writer is for one namespace at a time."""
        with self._lock:
            taken, self._entries = self._entries, []
        return taken


class BulkIndexer:
    """Makes written memories visible, many at a time."""

    def __init__(
        self,
        runtime: Runtime,
        heads: HeadStore,
        reader: IndexReader,
        *,
        writer: SegmentWriter,
        analyzers: Analyzers,
        folder: Folder,
        reindexer: Reindexer,
    ) -> None:
        self._runtime = runtime
        self._heads = heads
        self._reader = reader
        self._writer = writer
        self._analyzers = analyzers
        self._folder = folder
        self._reindexer = reindexer

    def base(self, namespace: Namespace) -> Manifest:
        """Return the manifest to pass to ``commit`` for what is written from now on; an empty one if it is broken."""
        return self._heads.load_or_empty(namespace).manifest

    def commit(self, namespace: Namespace, entries: list[LogEntry], *, base: Manifest, started_ms: int) -> None:
        """Put what was written into the index.

        Args:
            base: what ``base`` returned before the first of it was written.
            started_ms: when that was.
        """
        try:
            if not self._commit_rows(namespace, entries, base, started_ms):
                # Erased meanwhile, or too late, or of another text analysis than the index: what is there now decides.
                self._folder.fold(namespace, {entry.row.id: entry.row.kind for entry in entries})
        except IndexBrokenError:
            self._reindexer.reindex(namespace)

    def heal(self, namespace: Namespace, ids: dict[str, Kind | None]) -> None:
        """Put memories that are there, but whose writer may have died before anything said so, into the index."""
        try:
            self._check_not_lost(namespace, self._heads.load(namespace), ids)
            self._folder.fold(namespace, ids, known=self._reader.view(namespace).snapshot)
        except IndexBrokenError:
            self._reindexer.reindex(namespace)

    def _commit_rows(self, namespace: Namespace, entries: list[LogEntry], base: Manifest, started_ms: int) -> bool:
        head = self._heads.load(namespace)
        self._check_not_lost(namespace, head, {entry.row.id for entry in entries})
        signature = self._analyzers.of(namespace, head.manifest).signature
        if any(entry.analyzer_signature != signature for entry in entries):
            return False
        segment = self._writer.upload(namespace, _winners(entries), analyzer_signature=signature)

        def delta(manifest: Manifest) -> Manifest | None:
            now_ms = self._runtime.now_ms()
            if now_ms - started_ms > UPLOAD_AGE_MAX_MS or is_fenced(manifest, base.version):
                return None
            return add_fold(stamp(manifest, now_ms), segment, analyzer=signature, has_log_entries=False)

        return self._heads.commit(namespace, delta) is not None

    def _check_not_lost(self, namespace: Namespace, head: Head, ids: Collection[str]) -> None:
        """Check that without a manifest there are no memories but these and those of the log.

        A lost index would get a manifest that knows these alone, and no reader would notice any more. Readers give
        young objects the benefit of the doubt, because their log entries may be on their way; an import writes none.

        Raises:
            IndexBrokenError: there are others.
        """
        if head.etag is not None:
            return
        snapshot = self._reader.view(namespace).snapshot
        for kind in Kind:
            for page in pages(self._runtime.store, memory_prefix(namespace, kind)):
                for item in page:
                    key = parse_truth_key(item.key)
                    if key and key.memory_id not in ids and snapshot.find(key.memory_id) is None:
                        raise IndexBrokenError(f"{item.key} is in no index, and there is no manifest", key=item.key)


def _winners(entries: list[LogEntry]) -> list[Row]:
    """Return the row of the highest rank of each id, for one id may come in several lines."""
    rows: dict[str, Row] = {}
    for entry in entries:
        present = rows.get(entry.row.id)
        if present is None or entry.row.rank > present.rank:
            rows[entry.row.id] = entry.row
    return list(rows.values())
