"""Reading an index: the manifest, its segments, and the log entries that are not folded yet, as one snapshot.

A strong read lists the log and asks for the manifest at the same time, then loads only what this process has not seen:
two round trips. What it finds never changes afterwards, because segments and log entries are written once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from s3_agent_memory.domain.keys import Namespace, log_prefix, memory_prefix, parse_truth_key, segment_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import CorruptError, ThrottledError
from s3_agent_memory.index.log import ENTRY_BYTES_MAX, LogEntry, decode_entry
from s3_agent_memory.index.manifest import Manifest
from s3_agent_memory.index.row import Row
from s3_agent_memory.index.segment import Segment, build_segment
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.index.vectors.view import VectorView
from s3_agent_memory.service.grace import READ_GAP_MS, WRITE_AGE_MAX_MS
from s3_agent_memory.service.results import Consistency
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.analysis import Analyzers
from s3_agent_memory.service.stored_index.head import Head, IndexBrokenError, decode_head, head_request
from s3_agent_memory.service.stored_index.index_cache import Contents, IndexCache, NamespaceCache
from s3_agent_memory.service.stored_index.row_loader import RowLoader
from s3_agent_memory.service.stored_index.vector_reader import VectorReader
from s3_agent_memory.storage.port import Get, ListPage, ObjectPage, StoredObject, Unchanged

_ATTEMPT_COUNT_MAX: Final = 8
_LOG_PAGE_COUNT_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one read saw.

    Attributes:
        head: the manifest.
        analyzer: how text becomes terms in this index.
        contents: all live rows and their vectors, the unfolded log included.
        log_keys: every log key that exists (empty for an eventual read).
        tail_keys: those that are not folded.
        unreadable_keys: log keys whose entry cannot be read; the sweep heals what they stood for.
    """

    head: Head
    analyzer: Analyzer
    contents: Contents
    log_keys: tuple[str, ...] = ()
    tail_keys: frozenset[str] = frozenset()
    unreadable_keys: frozenset[str] = frozenset()

    @property
    def snapshot(self) -> Snapshot:
        """All live rows."""
        return self.contents.snapshot

    @property
    def vectors(self) -> VectorView | None:
        """Vectors of those rows; None in a process without an embedder."""
        return self.contents.vectors

    @property
    def degraded(self) -> tuple[str, ...]:
        """What could not be used of this index, by name."""
        return (*(("log",) if self.unreadable_keys else ()), *(("vectors",) if self.contents.lost_vectors else ()))


@dataclass(frozen=True, slots=True)
class ReadEntries:
    """Log entries by key; the keys that hold no readable entry; the keys that no longer exist."""

    found: Mapping[str, LogEntry]
    unreadable: frozenset[str]
    gone: frozenset[str]


class IndexReader:
    """Gives snapshots of the index of any namespace.

    Args:
        vectors: reads the vectors as well; None in a process without an embedder.
    """

    def __init__(
        self,
        runtime: Runtime,
        cache: IndexCache,
        *,
        rows: RowLoader,
        analyzers: Analyzers,
        vectors: VectorReader | None = None,
    ) -> None:
        self._runtime = runtime
        self._cache = cache
        self._rows = rows
        self._analyzers = analyzers
        self._vectors = vectors

    def view(self, namespace: Namespace, consistency: Consistency = Consistency.STRONG) -> View:
        """Return the present state of the index.

        Raises:
            IndexBrokenError: the manifest or a segment is corrupt, missing, or of another text analysis.
            ThrottledError: the index changed too fast to be read, several times over.
        """
        missing: IndexBrokenError | None = None
        for _ in range(_ATTEMPT_COUNT_MAX):
            started_s = self._runtime.clock.monotonic_s()
            log_keys, head = self._read_log_and_head(namespace, consistency)
            if (self._runtime.clock.monotonic_s() - started_s) * 1_000 > READ_GAP_MS:
                continue
            try:
                view = self._assemble(namespace, log_keys, head, consistency)
            except IndexBrokenError as error:
                # A segment may vanish under a slow reader: then a newer manifest does without it.
                if missing is not None and str(missing) == str(error):
                    raise
                missing = error
                continue
            if view is not None:
                return view
        if missing is not None:
            raise missing
        raise ThrottledError("the index changed too fast to be read; send the same request again")

    def last_known_count(self, namespace: Namespace) -> int:
        """Return how many live memories this process last saw in a namespace, without any request."""
        contents = self._cache.namespace(namespace).contents
        return 0 if contents is None else contents.snapshot.live_count

    def last_known_tail(self, namespace: Namespace) -> frozenset[str]:
        """Return the keys of unfolded log entries this process last saw, without any request."""
        return self._cache.namespace(namespace).tail_keys

    def segments(self, namespace: Namespace, segment_ids: Sequence[str]) -> list[Segment]:
        """Return segments by id.

        Raises:
            IndexBrokenError: one is missing or corrupt.
        """
        kept = self._cache.segments.find(namespace, segment_ids)
        wanted = [segment_id for segment_id in segment_ids if segment_id not in kept]
        size_max = self._runtime.limits.index_file_bytes_max
        found = self._runtime.store.read_many([Get(segment_key(namespace, item), size_max) for item in wanted])
        for segment_id, result in zip(wanted, found, strict=True):
            kept[segment_id] = _decode_segment(result, segment_key(namespace, segment_id))
            self._cache.segments.keep(namespace, segment_id, kept[segment_id])
        return [kept[segment_id] for segment_id in segment_ids]

    def folded_keys(self, namespace: Namespace, manifest: Manifest) -> frozenset[str]:
        """Return the log keys that segments in use have taken in and that may still exist.

        Folds whose segment was replaced meanwhile are passed over: to read or fold their entries again is harmless.
        """
        in_use = manifest.segment_ids
        ids = [fold.segment_id for fold in manifest.folds if fold.segment_id in in_use]
        return frozenset(key for segment in self.segments(namespace, ids) for key in segment.folded_keys)

    def folded_keys_of(self, namespace: Namespace, segment_id: str) -> tuple[str, ...]:
        """Return the log keys one fold has taken in; none if its segment is lost, so that they are folded again."""
        try:
            (segment,) = self.segments(namespace, [segment_id])
        except IndexBrokenError:
            return ()
        return tuple(segment.folded_keys)

    def list_log(self, namespace: Namespace, *, limit: int | None = None) -> tuple[str, ...]:
        """Return the keys of log entries, oldest first, at most about ``limit``."""
        return self._list_log_from(namespace, self._runtime.store.list_page(log_prefix(namespace)), limit)

    def entries(self, namespace: Namespace, keys: Sequence[str]) -> ReadEntries:
        """Return log entries by key; what was read before is not read again."""
        cached = self._cache.namespace(namespace)
        found = {key: cached.entries[key] for key in keys if key in cached.entries}
        unreadable = {key for key in keys if key in cached.unreadable}
        gone: set[str] = set()
        wanted = [key for key in keys if key not in found and key not in unreadable]
        results = self._runtime.store.read_many([Get(key, ENTRY_BYTES_MAX) for key in wanted])
        for key, result in zip(wanted, results, strict=True):
            if not isinstance(result, StoredObject):
                gone.add(key)
                continue
            try:
                found[key] = decode_entry(result.body, key)
            except CorruptError:
                unreadable.add(key)
        return ReadEntries(found, frozenset(unreadable), frozenset(gone))

    def _read_log_and_head(self, namespace: Namespace, consistency: Consistency) -> tuple[tuple[str, ...], Head]:
        cached = self._cache.namespace(namespace).head
        request = head_request(namespace, cached.etag if cached else None)
        if consistency is Consistency.EVENTUAL:
            (found,) = self._runtime.store.read_many([request])
            log_keys: tuple[str, ...] = ()
        else:
            page, found = self._runtime.store.read_many([ListPage(log_prefix(namespace)), request])
            log_keys = self._list_log_from(namespace, page if isinstance(page, ObjectPage) else ObjectPage((), True))
        if isinstance(found, Unchanged) and cached is not None:
            return log_keys, cached
        return log_keys, decode_head(found, namespace)

    def _list_log_from(self, namespace: Namespace, page: ObjectPage, limit: int | None = None) -> tuple[str, ...]:
        keys = [item.key for item in page.objects]
        for _ in range(_LOG_PAGE_COUNT_MAX):
            if page.is_last or (limit is not None and len(keys) >= limit):
                break
            page = self._runtime.store.list_page(log_prefix(namespace), start_after=keys[-1])
            keys.extend(item.key for item in page.objects)
        return tuple(keys)

    def _assemble(
        self, namespace: Namespace, log_keys: tuple[str, ...], head: Head, consistency: Consistency
    ) -> View | None:
        """Return a view of what was listed; None if a listed entry is gone, so that the listing is out of date."""
        analyzer = self._analyzers.of(namespace, head.manifest)
        segments = self.segments(namespace, [item.id for item in head.manifest.segments])
        cached = self._cache.namespace(namespace)
        self._drop_replaced(namespace, cached.head, head)
        if consistency is Consistency.EVENTUAL:
            is_kept = cached.folded is not None and cached.head == head
            contents = cached.folded if is_kept and cached.folded else self._contents(namespace, head, segments)
            self._cache.keep_namespace(namespace, replace(cached, head=head, folded=contents))
            return View(head=head, analyzer=analyzer, contents=contents)
        folded = self.folded_keys(namespace, head.manifest)
        read = self.entries(namespace, [key for key in log_keys if key not in folded])
        if read.gone:
            return None
        entries = read.found
        tail_keys = frozenset(entries)
        is_kept = cached.contents is not None and cached.contents_head == head and cached.tail_keys == tail_keys
        if is_kept and cached.contents is not None:
            contents = cached.contents
        else:
            tail = self._tail(namespace, list(entries.values()), analyzer)
            contents = self._contents(namespace, head, [*segments, *tail], entries.values())
        is_young = head.etag is None and self._check_not_lost(namespace, contents.snapshot, cached, tail_keys)
        self._cache.keep_namespace(
            namespace,
            NamespaceCache(
                head=head,
                entries=entries,
                unreadable=read.unreadable,
                tail_keys=tail_keys,
                contents=contents,
                contents_head=head,
                folded=cached.folded if cached.head == head else None,
                is_verified_young=is_young,
            ),
        )
        return View(
            head=head,
            analyzer=analyzer,
            contents=contents,
            log_keys=log_keys,
            tail_keys=tail_keys,
            unreadable_keys=read.unreadable,
        )

    def _contents(
        self, namespace: Namespace, head: Head, segments: Sequence[Segment], entries: Iterable[LogEntry] = ()
    ) -> Contents:
        snapshot = Snapshot(segments)
        if self._vectors is None:
            return Contents(snapshot)
        return self._vectors.contents(namespace, head.manifest, snapshot, entries)

    def _drop_replaced(self, namespace: Namespace, before: Head | None, head: Head) -> None:
        """Let go of files that a newer manifest does without: each also holds how it matches many others."""
        if before is not None and before.manifest.version < head.manifest.version:
            self._cache.segments.drop(namespace, before.manifest.segment_ids - head.manifest.segment_ids)
            self._cache.vectors.drop(namespace, before.manifest.vector_ids - head.manifest.vector_ids)

    def _tail(self, namespace: Namespace, entries: list[LogEntry], analyzer: Analyzer) -> list[Segment]:
        """Return the unfolded log as one more small segment, or none."""
        rows: dict[str, Row] = {}
        foreign: dict[str, Kind | None] = {}
        for entry in entries:
            if entry.analyzer_signature != analyzer.signature and not entry.row.is_deleted:
                foreign[entry.row.id] = entry.row.kind
            present = rows.get(entry.row.id)
            if present is None or entry.row.rank > present.rank:
                rows[entry.row.id] = entry.row
        if foreign:
            # Their writer analysed text in another way than this index does: analyse the objects again.
            for row in self._rows.load(namespace, foreign, analyzer).rows:
                if row.rank >= rows[row.id].rank:
                    rows[row.id] = row
        if not rows:
            return []
        body = build_segment(rows.values(), analyzer_signature=analyzer.signature)
        return [Segment.decode(body, log_prefix(namespace))]

    def _check_not_lost(
        self, namespace: Namespace, snapshot: Snapshot, cached: NamespaceCache, tail_keys: frozenset[str]
    ) -> bool:
        """Check that a namespace without a manifest is young, not one that lost its index; remembered while it grows.

        Raises:
            IndexBrokenError: there are memories that neither a segment nor the log knows.
        """
        # An empty log says nothing: one that was lost looks the same.
        if cached.is_verified_young and cached.tail_keys and cached.tail_keys <= tail_keys:
            return True
        horizon_ms = self._runtime.now_ms() - WRITE_AGE_MAX_MS
        limit = len(tail_keys) + 1
        pages = self._runtime.store.read_many([ListPage(memory_prefix(namespace, kind), limit=limit) for kind in Kind])
        for page in pages:
            for item in page.objects if isinstance(page, ObjectPage) else ():
                key = parse_truth_key(item.key)
                if key and item.modified_ms < horizon_ms and snapshot.find(key.memory_id) is None:
                    head = head_request(namespace).key
                    raise IndexBrokenError(f"{head} is missing although there are memories", key=head)
        return True


def _decode_segment(found: object, key: str) -> Segment:
    if not isinstance(found, StoredObject) or found.is_truncated:
        raise IndexBrokenError(f"{key} is missing or too large", key=key)
    try:
        return Segment.decode(found.body, key)
    except CorruptError as error:
        raise IndexBrokenError(str(error), key=key) from error
