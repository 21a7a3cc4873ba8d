"""A store that counts what is asked of the store inside it: for tests, benchmarks and cost estimates."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from threading import Lock

from s3_agent_memory.storage.port import (
    UNCHANGED,
    Get,
    ObjectPage,
    ObjectStore,
    Read,
    ReadResult,
    StoredObject,
    Unchanged,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCounts:
    """Requests sent and bytes moved; a request that failed counts too, for it was sent.

    Attributes:
        get_count: reads answered with an object, with "there is none", or with an error.
        get_unchanged_count: conditional reads answered with "not modified" (HTTP 304).
        put_count: writes, conditional or not.
        delete_count: deletes, conditional or not.
        list_count: pages of listings.
        read_bytes: bytes of bodies received.
        written_bytes: bytes of bodies sent.
    """

    get_count: int = 0
    get_unchanged_count: int = 0
    put_count: int = 0
    delete_count: int = 0
    list_count: int = 0
    read_bytes: int = 0
    written_bytes: int = 0

    @property
    def request_count(self) -> int:
        """All requests of every kind."""
        return self.get_count + self.get_unchanged_count + self.put_count + self.delete_count + self.list_count

    def __add__(self, other: "RequestCounts") -> "RequestCounts":
        sums = {field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)}
        return RequestCounts(**sums)


class CountingObjectStore:
    """An ``ObjectStore`` that passes every request on to ``inner`` and counts it. Safe for threads.

    Example:
        store = CountingObjectStore(inner)
        store.put("a", b"one")
        assert store.counts == RequestCounts(put_count=1, written_bytes=3)
    """

    def __init__(self, inner: ObjectStore) -> None:
        self._inner = inner
        self._lock = Lock()
        self._counts = RequestCounts()

    @property
    def counts(self) -> RequestCounts:
        """What was counted since the start or the last ``reset``."""
        with self._lock:
            return self._counts

    def reset(self) -> None:
        """Start again from zero."""
        with self._lock:
            self._counts = RequestCounts()

    def get(self, key: str, *, size_max: int) -> StoredObject | None:
        """See ``ObjectStore``."""
        result: StoredObject | None = None
        try:
            result = self._inner.get(key, size_max=size_max)
        finally:
            self._add(_counts_of_get(result))
        return result

    def get_if_changed(self, key: str, etag: str, *, size_max: int) -> StoredObject | Unchanged | None:
        """See ``ObjectStore``."""
        result: StoredObject | Unchanged | None = None
        try:
            result = self._inner.get_if_changed(key, etag, size_max=size_max)
        finally:
            self._add(_counts_of_get(result))
        return result

    def list_page(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> ObjectPage:
        """See ``ObjectStore``."""
        self._add(RequestCounts(list_count=1))
        return self._inner.list_page(prefix, start_after=start_after, limit=limit)

    def read_many(self, reads: Sequence[Read]) -> list[ReadResult]:
        """See ``ObjectStore``; every element counts as a request of its own."""
        results: list[ReadResult] = [None] * len(reads)
        try:
            results = self._inner.read_many(reads)
        finally:
            for read, result in zip(reads, results, strict=True):
                self._add(_counts_of_get(result) if isinstance(read, Get) else RequestCounts(list_count=1))
        return results

    def put(self, key: str, body: bytes, *, if_match: str | None = None, if_absent: bool = False) -> str:
        """See ``ObjectStore``."""
        self._add(RequestCounts(put_count=1, written_bytes=len(body)))
        return self._inner.put(key, body, if_match=if_match, if_absent=if_absent)

    def delete(self, key: str, *, if_match: str | None = None) -> None:
        """See ``ObjectStore``."""
        self._add(RequestCounts(delete_count=1))
        self._inner.delete(key, if_match=if_match)

    def delete_many(self, keys: Sequence[str]) -> None:
        """See ``ObjectStore``; every key counts as a request of its own."""
        self._add(RequestCounts(delete_count=len(keys)))
        self._inner.delete_many(keys)

    def _add(self, counts: RequestCounts) -> None:
        with self._lock:
            self._counts += counts


def _counts_of_get(result: ReadResult) -> RequestCounts:
    if result is UNCHANGED:
        return RequestCounts(get_unchanged_count=1)
    body_size = len(result.body) if isinstance(result, StoredObject) else 0
    return RequestCounts(get_count=1, read_bytes=body_size)
