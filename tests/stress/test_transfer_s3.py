"""Export and import on a real S3 server: many requests at once, read ahead, and byte by byte the same."""

import pytest

from benchmarks.synthetic_memories import Corpus
from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.checksum_line import with_checksum
from s3_agent_memory.domain.codec import encode_memory
from tests.stress.conftest import BUCKET

COUNT = 1_500


@pytest.fixture
def store(s3_endpoint_url: str) -> MemoryStore:
    return MemoryStore.from_url(f"s3://{BUCKET}/moved", endpoint_url=s3_endpoint_url, region="us-east-1")


def test_lines_go_through_s3_unchanged_and_are_passed_over_the_second_time(store: MemoryStore) -> None:
    lines = [encode_memory(memory).decode() for memory in Corpus().memories("moved", COUNT)]
    first = store.import_("moved", with_checksum(lines))
    again = store.import_("moved", with_checksum(lines))
    exported = list(store.export("moved"))
    assert (first.imported, first.checksum, again.skipped) == (COUNT, "verified", COUNT)
    assert sorted(exported) == sorted(lines)
    assert store.stats("moved").memories == COUNT


def test_an_export_is_read_page_by_page_as_at_once(store: MemoryStore) -> None:
    store.import_("paged", (encode_memory(memory) for memory in Corpus().memories("paged", 300)))
    for line in list(store.export("paged"))[:50]:
        store.forget("paged", line.split('"id":"')[1].split('"')[0])
    pages: list[str] = []
    cursor: str | None = None
    while True:
        page = store.export_page("paged", cursor)
        pages += page.lines
        cursor = page.next_cursor
        if cursor is None:
            break
    assert (pages, len(pages)) == (list(store.export("paged")), 250)
