"""Walking the truth of a namespace page by page."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from s3_agent_memory.domain.keys import parse_truth_key
from s3_agent_memory.storage.port import ListedObject, ObjectStore

PAGE_COUNT_MAX: Final = 1_000_000


def pages(store: ObjectStore, prefix: str, *, start_after: str = "") -> Iterator[tuple[ListedObject, ...]]:
    """Yield the objects directly under ``prefix`` in key order, page by page; deeper keys are passed over."""
    for page in deep_pages(store, prefix, start_after=start_after):
        yield tuple(item for item in page if "/" not in item.key[len(prefix) :])


def deep_pages(store: ObjectStore, prefix: str, *, start_after: str = "") -> Iterator[tuple[ListedObject, ...]]:
    """Yield all objects whose keys begin with ``prefix`` in key order, page by page."""
    for _ in range(PAGE_COUNT_MAX):
        page = store.list_page(prefix, start_after=start_after)
        yield page.objects
        if page.is_last or not page.objects:
            return
        start_after = page.objects[-1].key


@dataclass(frozen=True, slots=True)
class ListedTruth:
    """A memory object or tombstone as listed: whose it is, its ETag, and when the store last changed it (ms)."""

    id: str
    etag: str
    modified_ms: int


def truth_pages(store: ObjectStore, prefix: str, *, start_after: str = "") -> Iterator[tuple[ListedTruth, ...]]:
    """Yield the memory objects or tombstones under ``prefix`` in key order; other objects are left out."""
    for page in pages(store, prefix, start_after=start_after):
        parsed = ((item, parse_truth_key(item.key)) for item in page)
        yield tuple(ListedTruth(key.memory_id, item.etag, item.modified_ms) for item, key in parsed if key is not None)
