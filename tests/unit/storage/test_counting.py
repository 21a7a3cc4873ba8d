"""Every request is counted once, by its verb."""

import pytest

from s3_agent_memory.domain.clock import SystemClock
from s3_agent_memory.errors import PreconditionFailedError
from s3_agent_memory.storage.counting import CountingObjectStore, RequestCounts
from s3_agent_memory.storage.in_memory import InMemoryObjectStore
from s3_agent_memory.storage.port import Get, ListPage


@pytest.fixture
def store() -> CountingObjectStore:
    return CountingObjectStore(InMemoryObjectStore(SystemClock()))


def test_a_write_counts_with_its_bytes(store: CountingObjectStore) -> None:
    store.put("a", b"four")
    assert store.counts == RequestCounts(put_count=1, written_bytes=4)


def test_a_write_that_fails_was_sent_all_the_same(store: CountingObjectStore) -> None:
    with pytest.raises(PreconditionFailedError):
        store.put("a", b"four", if_match='"none"')
    assert store.counts == RequestCounts(put_count=1, written_bytes=4)


def test_a_read_counts_with_the_bytes_received(store: CountingObjectStore) -> None:
    store.put("a", b"four")
    store.reset()
    store.get("a", size_max=3)
    assert store.counts == RequestCounts(get_count=1, read_bytes=3)


def test_a_read_of_what_is_not_there_counts(store: CountingObjectStore) -> None:
    store.get("a", size_max=3)
    assert store.counts == RequestCounts(get_count=1)


def test_an_unchanged_object_counts_apart(store: CountingObjectStore) -> None:
    etag = store.put("a", b"four")
    store.reset()
    store.get_if_changed("a", etag, size_max=10)
    store.get_if_changed("a", '"stale"', size_max=10)
    assert store.counts == RequestCounts(get_count=1, get_unchanged_count=1, read_bytes=4)


def test_each_of_many_reads_counts(store: CountingObjectStore) -> None:
    etag = store.put("a", b"four")
    store.reset()
    store.read_many([Get("a", 10), Get("a", 10, if_none_match=etag), Get("b", 10), ListPage("")])
    assert store.counts == RequestCounts(get_count=2, get_unchanged_count=1, list_count=1, read_bytes=4)


def test_listings_and_deletes_count(store: CountingObjectStore) -> None:
    store.list_page("")
    store.delete("a")
    store.delete_many(["a", "b"])
    assert store.counts == RequestCounts(list_count=1, delete_count=3)


def test_the_sum_of_all_requests(store: CountingObjectStore) -> None:
    etag = store.put("a", b"four")
    store.get("a", size_max=10)
    store.get_if_changed("a", etag, size_max=10)
    store.list_page("")
    store.delete("a")
    assert store.counts.request_count == 5
