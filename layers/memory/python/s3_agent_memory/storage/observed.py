"""A wrapper that tells somebody about each successful write, as a bucket's event notifications would."""

from collections.abc import Callable, Sequence

from s3_agent_memory.storage.port import ObjectPage, ObjectStore, Read, ReadResult, StoredObject, Unchanged

Observer = Callable[[str, str], None]


class ObservedObjectStore:
    """An object store that calls ``observer(key, verb)`` after every put and delete that took effect.

    Attributes:
        inner: the store that is observed.
    """

    def __init__(self, inner: ObjectStore, observers: Sequence[Observer]) -> None:
        self.inner = inner
        self._observers = observers

    def get(self, key: str, *, size_max: int) -> StoredObject | None:
        """See ``ObjectStore``."""
        return self.inner.get(key, size_max=size_max)

    def get_if_changed(self, key: str, etag: str, *, size_max: int) -> StoredObject | Unchanged | None:
        """See ``ObjectStore``."""
        return self.inner.get_if_changed(key, etag, size_max=size_max)

    def list_page(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> ObjectPage:
        """See ``ObjectStore``."""
        return self.inner.list_page(prefix, start_after=start_after, limit=limit)

    def read_many(self, reads: Sequence[Read]) -> list[ReadResult]:
        """See ``ObjectStore``."""
        return self.inner.read_many(reads)

    def put(self, key: str, body: bytes, *, if_match: str | None = None, if_absent: bool = False) -> str:
        """See ``ObjectStore``."""
        etag = self.inner.put(key, body, if_match=if_match, if_absent=if_absent)
        self._tell(key, "put")
        return etag

    def delete(self, key: str, *, if_match: str | None = None) -> None:
        """See ``ObjectStore``."""
        self.inner.delete(key, if_match=if_match)
        self._tell(key, "delete")

    def delete_many(self, keys: Sequence[str]) -> None:
        """See ``ObjectStore``."""
        self.inner.delete_many(keys)
        for key in keys:
            self._tell(key, "delete")

    def _tell(self, key: str, verb: str) -> None:
        for observer in self._observers:
            observer(key, verb)
