"""What a process may keep of an index: files that never change, and the last manifest with its ETag."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.index.log import LogEntry
from s3_agent_memory.index.segment import Segment
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.service.head import Head

NAMESPACE_COUNT_MAX: Final = 256
SEGMENT_BYTES_MAX: Final = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class NamespaceCache:
    """What is kept of one namespace; replaced as a whole value, so that a reader never sees half a change.

    Attributes:
        head: the last manifest read.
        entries: log entries by key, those of the last listing only.
        unreadable: log keys that hold no readable entry.
        tail_keys, snapshot_head: the log keys and the manifest ``snapshot`` was made from.
        snapshot: the last snapshot of segments and log.
        folded_snapshot: the snapshot of ``head`` without the log.
        is_verified_young: True once it was checked that the lack of a manifest is no loss.
    """

    head: Head | None = None
    entries: Mapping[str, LogEntry] = field(default_factory=dict)
    unreadable: frozenset[str] = frozenset()
    tail_keys: frozenset[str] = frozenset()
    snapshot_head: Head | None = None
    snapshot: Snapshot | None = None
    folded_snapshot: Snapshot | None = None
    is_verified_young: bool = False


class IndexCache:
    """Bounded caches shared by the threads of a process. Losing them costs requests, never correctness."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._namespaces: OrderedDict[Namespace, NamespaceCache] = OrderedDict()
        self._segments: OrderedDict[tuple[Namespace, str], Segment] = OrderedDict()
        self._segment_bytes = 0

    def namespace(self, namespace: Namespace) -> NamespaceCache:
        """Return what is kept of a namespace, an empty value if nothing is."""
        with self._lock:
            kept = self._namespaces.get(namespace)
            if kept is not None:
                self._namespaces.move_to_end(namespace)
            return kept or NamespaceCache()

    def keep_namespace(self, namespace: Namespace, value: NamespaceCache) -> None:
        """Keep a value for a namespace; the least recently used one goes when there are too many."""
        with self._lock:
            self._namespaces[namespace] = value
            self._namespaces.move_to_end(namespace)
            while len(self._namespaces) > NAMESPACE_COUNT_MAX:
                self._namespaces.popitem(last=False)

    def segments(self, namespace: Namespace, segment_ids: Iterable[str]) -> dict[str, Segment]:
        """Return those of the segments that are kept."""
        found: dict[str, Segment] = {}
        with self._lock:
            for segment_id in segment_ids:
                kept = self._segments.get((namespace, segment_id))
                if kept is not None:
                    self._segments.move_to_end((namespace, segment_id))
                    found[segment_id] = kept
        return found

    def keep_segment(self, namespace: Namespace, segment_id: str, segment: Segment) -> None:
        """Keep a segment; the least recently used go when they are too many bytes."""
        with self._lock:
            if (namespace, segment_id) in self._segments:
                return
            self._segments[namespace, segment_id] = segment
            self._segment_bytes += segment.size_bytes
            while self._segment_bytes > SEGMENT_BYTES_MAX and len(self._segments) > 1:
                _, dropped = self._segments.popitem(last=False)
                self._segment_bytes -= dropped.size_bytes

    def drop_segments(self, namespace: Namespace, segment_ids: Iterable[str]) -> None:
        """Drop segments that are deleted."""
        with self._lock:
            for segment_id in segment_ids:
                dropped = self._segments.pop((namespace, segment_id), None)
                if dropped is not None:
                    self._segment_bytes -= dropped.size_bytes
