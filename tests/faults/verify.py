"""The look afterwards: does a fresh process find what all writers were told, and is the index what the objects say."""

import json
from collections import Counter
from collections.abc import Sequence
from random import Random

from s3_agent_memory.bootstrap import MemoryStore
from tests.faults.book import Book
from tests.faults.memories import LibraryMemories
from tests.faults.worker import SHARED_IDS, mark_of

RECALL_COUNT_MAX = 60
EXAMPLE_COUNT_MAX = 5


def verify(store: MemoryStore, namespace: str, book: Book, *, seed: int) -> list[str]:
    """Return whatever is not as it must be; nobody else writes the namespace meanwhile."""
    memories = LibraryMemories(store, namespace)
    certain = {entry: content for entry, content in book.certain.items() if "#" not in entry}
    listed = memories.list_all()
    findings = [
        *_some("acknowledged and not listed", set(certain) - set(listed)),
        *_some("forgotten and listed", (book.forgotten | book.gone) & set(listed)),
        *_some("listed twice", {memory_id for memory_id, count in Counter(listed).items() if count > 1}),
    ]
    sample = Random(seed).sample(sorted(certain), min(RECALL_COUNT_MAX, len(certain)))
    missing = {memory_id for memory_id in sample if memory_id not in memories.search(certain[memory_id])}
    return [*findings, *_some("acknowledged and not found", missing), *_verify_repaired(store, namespace, book)]


def _verify_repaired(store: MemoryStore, namespace: str, book: Book) -> list[str]:
    """Compare again behind a sweep, which takes in what was written and never acknowledged."""
    store.sweep(namespace)
    unreadable: list[str] = []
    documents = [json.loads(line) for line in store.export(namespace, on_corrupt=unreadable.append)]
    own = {document["id"]: document["content"] for document in documents if document["id"] not in SHARED_IDS}
    marks = {
        mark_of(document["id"], slot): value
        for document in documents
        if document["id"] in SHARED_IDS
        for slot, value in document["metadata"].items()
    }
    rebuilt = store.reindex(namespace)
    swept = store.sweep(namespace)
    listed = LibraryMemories(store, namespace).list_all()
    return [
        *_some("unreadable", set(unreadable)),
        *book.findings(own | marks),
        *_some("stored, but not listed or the reverse", {item["id"] for item in documents} ^ set(listed)),
        *([] if rebuilt.digest_before == rebuilt.digest_after else ["a rebuild made another index"]),
        *([] if swept.repaired == 0 else [f"a second sweep repaired {swept.repaired}"]),
    ]


def merged(books: Sequence[Book]) -> Book:
    """Return one book of all writers."""
    together = Book()
    for book in books:
        together.add(book)
    return together


def _some(what: str, found: set[str]) -> list[str]:
    return [f"{what}: {len(found)}, such as {sorted(found)[:EXAMPLE_COUNT_MAX]}"] if found else []
