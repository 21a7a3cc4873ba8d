"""Finding namespaces: by looking at the keys themselves, or by the markers that schedules go by."""

from collections.abc import Callable, Iterator
from typing import Final

from s3_agent_memory import names
from s3_agent_memory.domain.keys import Namespace, marker_key, namespace_prefix, parse_marker_key, parse_namespace
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.service.listing import pages
from s3_agent_memory.service.runtime import Runtime

_STEP_COUNT_MAX: Final = 1_000_000
_PAGE_SIZE: Final = 1_000
# Sorts after every key character that is allowed.
_AFTER_ALL: Final = "\x7f"

# Gives the namespace a key belongs to, or None, and the folder of it that may be skipped.
Split = Callable[[str], tuple[Namespace | None, str]]


def discover(runtime: Runtime, root: Namespace | None = None) -> Iterator[Namespace]:
    """Yield every namespace that holds anything, at or below ``root``.

    This finds namespaces whose log was never folded, which have no marker yet.
    """
    return _walk(runtime, names.MEMORY_PREFIX if root is None else namespace_prefix(root), _split)


def discover_conversations(runtime: Runtime) -> Iterator[Namespace]:
    """Yield every namespace that has conversations."""
    return _walk(runtime, names.SESSION_PREFIX, _split_session)


def _walk(runtime: Runtime, prefix: str, split: Split) -> Iterator[Namespace]:
    """Yield the namespaces of the keys below a prefix, each once.

    Listing goes page by page; what is left of the last folder of a page is passed over, so a large folder costs one
    page.
    """
    start_after = ""
    seen: set[Namespace] = set()
    for _ in range(_STEP_COUNT_MAX):
        page = runtime.store.list_page(prefix, start_after=start_after, limit=_PAGE_SIZE)
        folder = ""
        for item in page.objects:
            if folder and item.key.startswith(folder):
                continue
            namespace, folder = split(item.key)
            # The folders of a namespace may lie on both sides of the namespaces below it.
            if namespace is not None and namespace not in seen:
                seen.add(namespace)
                yield namespace
        if page.is_last or not page.objects:
            return
        start_after = folder + _AFTER_ALL


def _split_session(key: str) -> tuple[Namespace | None, str]:
    path, separator, rest = key.removeprefix(names.SESSION_PREFIX).partition("/_")
    skipped = f"{names.SESSION_PREFIX}{path}{separator}{rest.partition('/')[0]}/" if separator else key
    try:
        return parse_namespace(path) if separator else None, skipped
    except ValidationError:
        return None, skipped


def _split(key: str) -> tuple[Namespace | None, str]:
    parts = key.removeprefix(names.MEMORY_PREFIX).split("/")
    for length in range(1, len(parts)):
        folder = parts[length]
        if folder.startswith("_") or folder in {"semantic", "episodic", "procedural"}:
            skipped = names.MEMORY_PREFIX + "/".join(parts[: length + 1]) + "/"
            try:
                return parse_namespace(parts[:length]), skipped
            except ValidationError:
                return None, skipped
    return None, key


def due(runtime: Runtime, *, start_after: str = "") -> Iterator[tuple[str, Namespace]]:
    """Yield marker key and namespace of every namespace that a schedule looks after, in the order of marker keys.

    The markers are a list of them that is cheap to read. But where nothing wakes an indexer, a namespace gets its
    marker with its first fold, and a program that writes a few memories and ends may never fold.
    """
    if runtime.has_events:
        yield from marked(runtime, start_after=start_after)
        return
    found = sorted((marker_key(namespace), namespace) for namespace in discover(runtime))
    yield from (item for item in found if item[0] > start_after)


def marked(runtime: Runtime, *, start_after: str = "") -> Iterator[tuple[str, Namespace]]:
    """Yield marker key and namespace of every namespace that was ever folded, in the order of marker keys."""
    for page in pages(runtime.store, names.NAMESPACE_MARKER_PREFIX, start_after=start_after):
        for item in page:
            namespace = parse_marker_key(item.key)
            if namespace is not None:
                yield item.key, namespace
