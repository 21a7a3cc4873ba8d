"""What a store may be able to do besides: show and delete earlier versions of objects.

In a bucket with versioning a replaced or deleted object stays behind its successor or behind a delete marker. Stores
that keep nothing of the kind do not implement this.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from s3_agent_memory.storage.port import StoredObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectVersion:
    """One version of an object, or a delete marker in its place.

    Attributes:
        is_latest: True for what a plain read sees (an object, or through a delete marker nothing).
        modified_ms: when the store took it in, in milliseconds since the epoch; S3 knows whole seconds.
    """

    key: str
    version_id: str
    is_latest: bool
    is_delete_marker: bool
    size_bytes: int
    modified_ms: int


@dataclass(frozen=True, slots=True)
class VersionMarker:
    """Where the next page of versions begins: behind this version of this key, or behind all versions of the key."""

    key: str
    version_id: str | None = None


@dataclass(frozen=True, slots=True)
class VersionPage:
    """One page of versions, by key; ``next_marker`` is None if it is the last one."""

    versions: tuple[ObjectVersion, ...]
    next_marker: VersionMarker | None


@runtime_checkable
class VersionedObjectStore(Protocol):
    """Object storage that keeps earlier versions, or might."""

    def list_versions(self, prefix: str, *, marker: VersionMarker | None = None) -> VersionPage | None:
        """Return versions and delete markers of keys that start with ``prefix``; None if the store cannot list any.

        Raises:
            AccessDeniedError: the credentials do not allow it.
        """

    def get_version(self, key: str, version_id: str, *, size_max: int) -> StoredObject | None:
        """Return one version of an object, or None if there is none."""

    def delete_versions(self, versions: Sequence[ObjectVersion]) -> list[ObjectVersion]:
        """Delete versions and delete markers for good, and return those that stay (by a lock or a policy)."""


def versions_of(store: object) -> VersionedObjectStore | None:
    """Return what shows the versions of a store, None if it keeps none; a wrapper has its store in ``inner``."""
    while not isinstance(store, VersionedObjectStore):
        store = getattr(store, "inner", None)
        if store is None:
            return None
    return store
