"""Objects in the memory of this process: for tests, examples and the ``memory://`` address."""

import hashlib
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

from s3_agent_memory.domain.clock import Clock
from s3_agent_memory.errors import PreconditionFailedError
from s3_agent_memory.storage.port import (
    UNCHANGED,
    Get,
    ListedObject,
    ObjectPage,
    Read,
    ReadResult,
    StoredObject,
    Unchanged,
)

PAGE_SIZE: Final = 1_000


@dataclass(frozen=True, slots=True)
class _Entry:
    body: bytes
    etag: str
    modified_ms: int


class InMemoryObjectStore:
    """An ``ObjectStore`` that lives as long as this object. Safe for threads; one lock covers every request.

    As on S3, equal bytes have equal ETags.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._entries: dict[str, _Entry] = {}
        # Python orders strings by code point, which is also the order of their UTF-8 bytes.
        self._keys: list[str] = []

    def get(self, key: str, *, size_max: int) -> StoredObject | None:
        """See ``ObjectStore``."""
        with self._lock:
            entry = self._entries.get(key)
        return None if entry is None else _cut(entry, size_max)

    def get_if_changed(self, key: str, etag: str, *, size_max: int) -> StoredObject | Unchanged | None:
        """See ``ObjectStore``."""
        found = self.get(key, size_max=size_max)
        return UNCHANGED if found is not None and found.etag == etag else found

    def list_page(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> ObjectPage:
        """See ``ObjectStore``; a page has at most 1,000 keys."""
        count_max = PAGE_SIZE if limit is None else min(limit, PAGE_SIZE)
        with self._lock:
            first = max(bisect_left(self._keys, prefix), bisect_right(self._keys, start_after))
            candidates = self._keys[first : first + count_max + 1]
            keys = [key for key in candidates if key.startswith(prefix)]
            objects = tuple(_row(key, self._entries[key]) for key in keys[:count_max])
        return ObjectPage(objects, is_last=len(keys) <= count_max)

    def read_many(self, reads: Sequence[Read]) -> list[ReadResult]:
        """See ``ObjectStore``; one after the other, for nothing here waits."""
        return [self._read(read) for read in reads]

    def _read(self, read: Read) -> ReadResult:
        if not isinstance(read, Get):
            return self.list_page(read.prefix, start_after=read.start_after, limit=read.limit)
        if read.if_none_match is None:
            return self.get(read.key, size_max=read.size_max)
        return self.get_if_changed(read.key, read.if_none_match, size_max=read.size_max)

    def put(self, key: str, body: bytes, *, if_match: str | None = None, if_absent: bool = False) -> str:
        """See ``ObjectStore``."""
        entry = _Entry(body, _etag(body), self._clock.now_us() // 1_000)
        with self._lock:
            present = self._entries.get(key)
            if if_absent and present is not None:
                raise PreconditionFailedError(f"{key!r} exists")
            self._check(key, if_match)
            if present is None:
                insort(self._keys, key)
            self._entries[key] = entry
        return entry.etag

    def delete(self, key: str, *, if_match: str | None = None) -> None:
        """See ``ObjectStore``."""
        with self._lock:
            self._check(key, if_match)
            if self._entries.pop(key, None) is not None:
                del self._keys[bisect_left(self._keys, key)]

    def delete_many(self, keys: Sequence[str]) -> None:
        """See ``ObjectStore``."""
        for key in keys:
            self.delete(key)

    def _check(self, key: str, if_match: str | None) -> None:
        present = self._entries.get(key)
        if if_match is not None and (present is None or present.etag != if_match):
            raise PreconditionFailedError(f"{key!r} is not there or has another ETag")


def _etag(body: bytes) -> str:
    return f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'


def _cut(entry: _Entry, size_max: int) -> StoredObject:
    return StoredObject(entry.body[:size_max], entry.etag, is_truncated=len(entry.body) > size_max)


def _row(key: str, entry: _Entry) -> ListedObject:
    return ListedObject(key, entry.etag, len(entry.body), entry.modified_ms)
