"""The object store of a URL: the one place that picks a storage adapter."""

import threading
from collections.abc import Callable
from pathlib import Path

from s3_agent_memory.bootstrap.settings import Settings
from s3_agent_memory.domain.clock import SystemClock, SystemEntropy
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.storage.filesystem import FilesystemObjectStore
from s3_agent_memory.storage.in_memory import InMemoryObjectStore
from s3_agent_memory.storage.observed import ObservedObjectStore
from s3_agent_memory.storage.port import ObjectStore

_URL_FORMS = "a store URL is s3://bucket/prefix, file://directory, memory:// or memory://name"

_named_stores: dict[str, InMemoryObjectStore] = {}
_named_stores_lock = threading.Lock()
_observers: list[Callable[[str, str], None]] = []


def observe_changes(callback: Callable[[str, str], None]) -> None:
    """Have every store opened from now on report each write as ``callback(key, "put" or "delete")``.

    This is how a process that runs all functions turns its own writes into events.
    """
    _observers.append(callback)


def open_object_store(settings: Settings) -> ObjectStore:
    """Open the object store of ``settings.url``; nothing is read or written yet.

    Raises:
        ValidationError: the URL is none of the known forms.
    """
    store = _open_adapter(settings)
    return ObservedObjectStore(store, tuple(_observers)) if _observers else store


def _open_adapter(settings: Settings) -> ObjectStore:
    scheme, separator, rest = settings.url.partition("://")
    if not separator:
        raise ValidationError(f"{settings.url!r} is no store URL; {_URL_FORMS}")
    if scheme == "memory":
        return _open_memory(rest)
    directory = store_directory(settings)
    if directory is not None:
        return FilesystemObjectStore(directory, clock=SystemClock(), entropy=SystemEntropy())
    if scheme == "s3" and rest.strip("/"):
        return _open_s3(settings, rest)
    raise ValidationError(f"{settings.url!r} is no store URL; {_URL_FORMS}")


def store_directory(settings: Settings) -> Path | None:
    """Return the directory of a ``file://`` store, None for any other; what stands after ``file://`` is a plain path.

    Raises:
        ValidationError: the path begins with ``~`` and a user who does not exist.
    """
    scheme, _, rest = settings.url.partition("://")
    if scheme != "file" or not rest:
        return None
    try:
        return Path(rest).expanduser()
    except RuntimeError as error:
        raise ValidationError(f"{settings.url!r} is no store URL: {error}") from error


def _open_memory(name: str) -> InMemoryObjectStore:
    if not name:
        return InMemoryObjectStore(clock=SystemClock())
    with _named_stores_lock:
        return _named_stores.setdefault(name, InMemoryObjectStore(clock=SystemClock()))


def _open_s3(settings: Settings, address: str) -> ObjectStore:
    try:
        # The SDK is an optional extra, and slow to import: only a store on S3 pays for it.
        from s3_agent_memory.storage.s3 import S3ObjectStore
    except ModuleNotFoundError as error:
        raise ValidationError("a store on S3 needs the extra: pip install '.[s3]'") from error
    bucket, _, prefix = address.partition("/")
    return S3ObjectStore(
        bucket,
        prefix.strip("/"),
        endpoint_url=settings.endpoint_url,
        region=settings.region,
        sse=settings.sse,
        kms_key_id=settings.kms_key_id,
    )
