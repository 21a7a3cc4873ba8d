"""The port to object storage: what an adapter must do, and nothing more.

Semantics are those of S3. A conditional request ends in one of five ways: done; ``PreconditionFailedError`` (HTTP 412,
409, and 404 on a replace or conditional delete: no effect); ``ThrottledError`` (no effect); ``UnknownOutcomeError`` (no
answer: no effect, an effect, or an effect still to come); another ``BackendError`` or ``AccessDeniedError``. Adapters
do not retry writes: only the caller can tell whether its own write won.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object as read.

    Attributes:
        body: the bytes, cut at the ``size_max`` of the request.
        etag: opaque; changes whenever the bytes change.
        is_truncated: True if the object is larger than ``size_max``; decoders refuse such a body.
    """

    body: bytes
    etag: str
    is_truncated: bool = False


class Unchanged(Enum):
    """The answer to a conditional read whose ETag still holds (HTTP 304)."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED


@dataclass(frozen=True, slots=True)
class ListedObject:
    """One row of a listing: key, ETag, size in bytes and when the store last changed it (ms since the epoch)."""

    key: str
    etag: str
    size_bytes: int
    modified_ms: int


@dataclass(frozen=True, slots=True)
class ObjectPage:
    """One page of an ordered listing.

    Attributes:
        objects: rows in ascending order of the key's UTF-8 bytes.
        is_last: False if more keys follow; ask again with ``start_after`` the last key of this page.
    """

    objects: tuple[ListedObject, ...]
    is_last: bool


@dataclass(frozen=True, slots=True)
class Get:
    """A read of one object: at most ``size_max`` bytes; with ``if_none_match`` the answer may be ``UNCHANGED``."""

    key: str
    size_max: int
    if_none_match: str | None = None


@dataclass(frozen=True, slots=True)
class ListPage:
    """A read of one page of keys that start with ``prefix`` and sort after ``start_after``."""

    prefix: str
    start_after: str = ""
    limit: int | None = None


Read = Get | ListPage
ReadResult = StoredObject | Unchanged | ObjectPage | None


class ObjectStore(Protocol):
    """Object storage with conditional writes. Safe for use by many threads and many processes at once."""

    def get(self, key: str, *, size_max: int) -> StoredObject | None:
        """Return the object, or None if there is none."""

    def get_if_changed(self, key: str, etag: str, *, size_max: int) -> StoredObject | Unchanged | None:
        """Return the object unless its ETag is still ``etag``; None if there is none."""

    def list_page(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> ObjectPage:
        """Return keys that start with ``prefix`` and sort after ``start_after``, in byte order.

        Args:
            limit: at most so many keys; None means the adapter's own page size. An adapter may return fewer.
        """

    def read_many(self, reads: Sequence[Read]) -> list[ReadResult]:
        """Do several reads at once, in parallel where the adapter can; results in the order of ``reads``."""

    def put(self, key: str, body: bytes, *, if_match: str | None = None, if_absent: bool = False) -> str:
        """Write the object and return its new ETag; ``if_match`` replaces, ``if_absent`` creates, neither overwrites.

        Raises:
            PreconditionFailedError: the condition did not hold, or another conditional write was under way.
        """

    def delete(self, key: str, *, if_match: str | None = None) -> None:
        """Delete the object; without ``if_match`` deleting what is not there succeeds.

        Raises:
            PreconditionFailedError: with ``if_match``, the object is not there or has another ETag.
        """

    def delete_many(self, keys: Sequence[str]) -> None:
        """Delete several objects unconditionally and for good, in parallel where the adapter can.

        In a bucket that keeps versions no version stays, if the credentials allow that.
        """
