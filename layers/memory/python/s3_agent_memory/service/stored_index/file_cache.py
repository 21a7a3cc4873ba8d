"""A bounded cache of index files: they never change, so they are known by their id alone."""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from s3_agent_memory.domain.keys import Namespace


class IndexFile(Protocol):
    """What is kept: anything that knows its size."""

    @property
    def size_bytes(self) -> int:
        """The size of the file."""


_F = TypeVar("_F", bound=IndexFile)


class FileCache(Generic[_F]):
    """Files of one sort, shared by all threads; the least recently used go when they are too many bytes."""

    def __init__(self, size_bytes_max: int) -> None:
        self._size_bytes_max = size_bytes_max
        self._lock = threading.Lock()
        self._files: OrderedDict[tuple[Namespace, str], _F] = OrderedDict()
        self._size_bytes = 0

    def find(self, namespace: Namespace, file_ids: Iterable[str]) -> dict[str, _F]:
        """Return those of the files that are kept."""
        found: dict[str, _F] = {}
        with self._lock:
            for file_id in file_ids:
                kept = self._files.get((namespace, file_id))
                if kept is not None:
                    self._files.move_to_end((namespace, file_id))
                    found[file_id] = kept
        return found

    def keep(self, namespace: Namespace, file_id: str, file: _F) -> None:
        """Keep a file."""
        with self._lock:
            if (namespace, file_id) in self._files:
                return
            self._files[namespace, file_id] = file
            self._size_bytes += file.size_bytes
            while self._size_bytes > self._size_bytes_max and len(self._files) > 1:
                _, dropped = self._files.popitem(last=False)
                self._size_bytes -= dropped.size_bytes

    def drop(self, namespace: Namespace, file_ids: Iterable[str]) -> None:
        """Let go of files that are replaced or deleted."""
        with self._lock:
            for file_id in file_ids:
                dropped = self._files.pop((namespace, file_id), None)
                if dropped is not None:
                    self._size_bytes -= dropped.size_bytes
