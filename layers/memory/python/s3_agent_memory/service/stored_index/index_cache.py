"""What a process may keep of an index: files that never change, and the last manifest with its ETag."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.index.log import LogEntry
from s3_agent_memory.index.segment import Segment
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.vectors.shard import VectorShard
from s3_agent_memory.index.vectors.view import VectorView
from s3_agent_memory.service.stored_index.file_cache import FileCache
from s3_agent_memory.service.stored_index.head import Head

NAMESPACE_COUNT_MAX: Final = 256
FILE_BYTES_MAX: Final = 2 * 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Contents:
    """What an index holds.

    Attributes:
        snapshot: its rows.
        vectors: their vectors; None in a process without an embedder.
        lost_vectors: ids of shards that are named and cannot be read.
    """

    snapshot: Snapshot
    vectors: VectorView | None = None
    lost_vectors: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NamespaceCache:
    """What is kept of one namespace; replaced as a whole value, so that a reader never sees half a change.

    Attributes:
        head: the last manifest read.
        entries: log entries by key, those of the last listing only.
        unreadable: log keys that hold no readable entry.
        tail_keys, contents_head: the log keys and the manifest ``contents`` was made from.
        contents: the last contents of segments and log.
        folded: the contents of ``head`` without the log.
        is_verified_young: True once it was checked that the lack of a manifest is no loss.
    """

    head: Head | None = None
    entries: Mapping[str, LogEntry] = field(default_factory=dict)
    unreadable: frozenset[str] = frozenset()
    tail_keys: frozenset[str] = frozenset()
    contents_head: Head | None = None
    contents: Contents | None = None
    folded: Contents | None = None
    is_verified_young: bool = False


class IndexCache:
    """Bounded caches shared by the threads of a process. Losing them costs requests, never correctness.

    Attributes:
        segments, vectors: index files.
    """

    def __init__(self, file_bytes_max: int = FILE_BYTES_MAX) -> None:
        # A row of vectors is about twice as large as one of postings, but a namespace may have postings alone.
        self.segments: FileCache[Segment] = FileCache(file_bytes_max // 2)
        self.vectors: FileCache[VectorShard] = FileCache(file_bytes_max // 2)
        self._lock = threading.Lock()
        self._namespaces: OrderedDict[Namespace, NamespaceCache] = OrderedDict()

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
