"""What every adapter answers to several reads at once."""

import pytest

from s3_agent_memory.storage.port import UNCHANGED, Get, ListPage, ObjectStore, Read, StoredObject


def test_read_many_of_nothing_is_nothing(store: ObjectStore) -> None:
    assert store.read_many([]) == []


def test_read_many_mixes_reads_and_keeps_their_order(store: ObjectStore) -> None:
    first, second = store.put("a/1", b"one"), store.put("a/2", b"twelve")
    reads: list[Read] = [
        ListPage("a/"),
        Get("a/1", 100),
        Get("a/none", 100),
        Get("a/2", 3),
        Get("a/1", 100, if_none_match=first),
        Get("a/2", 100, if_none_match=first),
        ListPage("a/", start_after="a/1"),
        ListPage("a/", limit=1),
    ]
    assert store.read_many(reads) == [
        store.list_page("a/"),
        StoredObject(b"one", first),
        None,
        StoredObject(b"twe", second, is_truncated=True),
        UNCHANGED,
        StoredObject(b"twelve", second),
        store.list_page("a/", start_after="a/1"),
        store.list_page("a/", limit=1),
    ]


@pytest.mark.parametrize("count", [1, 50])
def test_read_many_answers_every_read(store: ObjectStore, count: int) -> None:
    keys = [f"object-{number}" for number in range(count)]
    expected = [StoredObject(key.encode(), store.put(key, key.encode())) for key in keys]
    assert store.read_many([Get(key, 100) for key in keys]) == expected
