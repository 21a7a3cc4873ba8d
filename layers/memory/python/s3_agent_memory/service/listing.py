"""Walking the truth of a namespace page by page."""

from collections.abc import Iterator
from typing import Final

from s3_agent_memory.storage.port import ListedObject, ObjectStore

PAGE_COUNT_MAX: Final = 1_000_000


def pages(store: ObjectStore, prefix: str, *, start_after: str = "") -> Iterator[tuple[ListedObject, ...]]:
    """Yield the objects directly under ``prefix`` in key order, page by page; deeper keys are passed over."""
    for _ in range(PAGE_COUNT_MAX):
        page = store.list_page(prefix, start_after=start_after)
        yield tuple(item for item in page.objects if "/" not in item.key[len(prefix) :])
        if page.is_last or not page.objects:
            return
        start_after = page.objects[-1].key


def id_of(item: ListedObject) -> str:
    """Return the memory id a listed memory object or tombstone is for."""
    return item.key.rpartition("/")[2].removesuffix(".json")
