"""What every adapter does with one object: read, write, replace, delete, and refuse."""

import pytest

from s3_agent_memory.errors import PreconditionFailedError
from s3_agent_memory.storage.port import UNCHANGED, ObjectStore, StoredObject

KEY = "memory/users/alice/semantic/units.json"
SIZE_MAX = 1_000_000


def body_of(store: ObjectStore, key: str = KEY) -> bytes | None:
    found = store.get(key, size_max=SIZE_MAX)
    return None if found is None else found.body


def test_get_of_what_is_not_there_is_none(store: ObjectStore) -> None:
    assert store.get(KEY, size_max=SIZE_MAX) is None


def test_get_of_a_folder_is_none(store: ObjectStore) -> None:
    store.put(KEY, b"one")
    assert store.get("memory/users", size_max=SIZE_MAX) is None


def test_get_below_an_object_is_none(store: ObjectStore) -> None:
    store.put(KEY, b"one")
    assert store.get(KEY + "/more", size_max=SIZE_MAX) is None


@pytest.mark.parametrize(
    "body",
    [b"", b"one", bytes(range(256)) * 3, b"\r\n\r\n0\r\n\r\n", "Grüße, 世界".encode(), b"x" * 300_000],
    ids=["empty", "text", "binary", "line ends", "utf-8", "large"],
)
def test_put_stores_the_bytes_as_they_are(store: ObjectStore, body: bytes) -> None:
    etag = store.put(KEY, body)
    assert store.get(KEY, size_max=SIZE_MAX) == StoredObject(body, etag)


@pytest.mark.parametrize(
    "key",
    [
        "HEAD",
        "memory/a@example.com/semantic/x.json",
        "memory/a+b/semantic/x~1.json",
        "memory/a~b~c",
        "_index/log/00000000000000000001-abc",
        "a.b/c-d/e_f/0",
        "long/" + "k" * 200,
    ],
)
def test_put_takes_every_character_that_keys_are_made_of(store: ObjectStore, key: str) -> None:
    store.put(key, key.encode())
    assert (body_of(store, key), [row.key for row in store.list_page("").objects]) == (key.encode(), [key])


def test_put_overwrites(store: ObjectStore) -> None:
    store.put(KEY, b"one")
    store.put(KEY, b"two")
    assert body_of(store) == b"two"


def test_each_change_of_the_bytes_gives_an_etag_never_seen(store: ObjectStore) -> None:
    etags = [store.put(KEY, f"version {number}".encode()) for number in range(10)]
    assert len(set(etags)) == len(etags)


def test_get_cuts_the_body_at_size_max(store: ObjectStore) -> None:
    etag = store.put(KEY, b"0123456789")
    assert store.get(KEY, size_max=4) == StoredObject(b"0123", etag, is_truncated=True)


def test_get_of_exactly_size_max_is_whole(store: ObjectStore) -> None:
    etag = store.put(KEY, b"0123456789")
    assert store.get(KEY, size_max=10) == StoredObject(b"0123456789", etag)


def test_get_after_a_cut_body_works(store: ObjectStore) -> None:
    etag = store.put(KEY, b"x" * 300_000)
    store.get(KEY, size_max=1)
    assert store.get(KEY, size_max=SIZE_MAX) == StoredObject(b"x" * 300_000, etag)


def test_get_of_an_empty_object_with_size_max_zero_is_whole(store: ObjectStore) -> None:
    etag = store.put(KEY, b"")
    assert store.get(KEY, size_max=0) == StoredObject(b"", etag)


def test_get_if_changed_says_unchanged_while_the_etag_holds(store: ObjectStore) -> None:
    etag = store.put(KEY, b"one")
    assert store.get_if_changed(KEY, etag, size_max=SIZE_MAX) is UNCHANGED


def test_get_if_changed_returns_the_new_object(store: ObjectStore) -> None:
    stale = store.put(KEY, b"one")
    etag = store.put(KEY, b"two")
    assert store.get_if_changed(KEY, stale, size_max=SIZE_MAX) == StoredObject(b"two", etag)


def test_get_if_changed_cuts_the_body_at_size_max(store: ObjectStore) -> None:
    stale = store.put(KEY, b"one")
    etag = store.put(KEY, b"twelve")
    assert store.get_if_changed(KEY, stale, size_max=3) == StoredObject(b"twe", etag, is_truncated=True)


def test_get_if_changed_of_what_is_not_there_is_none(store: ObjectStore) -> None:
    etag = store.put(KEY, b"one")
    store.delete(KEY)
    assert store.get_if_changed(KEY, etag, size_max=SIZE_MAX) is None


def test_put_if_absent_creates(store: ObjectStore) -> None:
    etag = store.put(KEY, b"one", if_absent=True)
    assert store.get(KEY, size_max=SIZE_MAX) == StoredObject(b"one", etag)


def test_put_if_absent_rejects_an_existing_object(store: ObjectStore) -> None:
    store.put(KEY, b"one")
    with pytest.raises(PreconditionFailedError):
        store.put(KEY, b"two", if_absent=True)
    assert body_of(store) == b"one"


def test_put_if_absent_creates_again_after_a_delete(store: ObjectStore) -> None:
    store.put(KEY, b"one")
    store.delete(KEY)
    store.put(KEY, b"two", if_absent=True)
    assert body_of(store) == b"two"


def test_put_if_match_replaces(store: ObjectStore) -> None:
    etag = store.put(KEY, b"one")
    etag = store.put(KEY, b"two", if_match=etag)
    assert store.get(KEY, size_max=SIZE_MAX) == StoredObject(b"two", etag)


def test_put_if_match_rejects_a_stale_etag(store: ObjectStore) -> None:
    stale = store.put(KEY, b"one")
    store.put(KEY, b"two")
    with pytest.raises(PreconditionFailedError):
        store.put(KEY, b"three", if_match=stale)
    assert body_of(store) == b"two"


def test_put_if_match_rejects_what_is_not_there(store: ObjectStore) -> None:
    etag = store.put(KEY, b"one")
    store.delete(KEY)
    with pytest.raises(PreconditionFailedError):
        store.put(KEY, b"two", if_match=etag)
    assert body_of(store) is None


def test_put_if_match_takes_the_etag_of_a_listing(store: ObjectStore) -> None:
    store.put(KEY, b"one")
    (row,) = store.list_page("").objects
    store.put(KEY, b"two", if_match=row.etag)
    assert body_of(store) == b"two"


def test_delete_removes(store: ObjectStore) -> None:
    store.put(KEY, b"one")
    store.delete(KEY)
    assert (body_of(store), store.list_page("").objects) == (None, ())


def test_delete_leaves_other_objects(store: ObjectStore) -> None:
    store.put(KEY, b"one")
    store.put(KEY + "x", b"two")
    store.delete(KEY)
    assert body_of(store, KEY + "x") == b"two"


def test_delete_of_what_is_not_there_succeeds(store: ObjectStore) -> None:
    store.delete(KEY)
    assert body_of(store) is None


def test_delete_of_a_folder_changes_nothing(store: ObjectStore) -> None:
    store.put(KEY, b"one")
    store.delete("memory/users")
    assert body_of(store) == b"one"


def test_delete_if_match_removes(store: ObjectStore) -> None:
    etag = store.put(KEY, b"one")
    store.delete(KEY, if_match=etag)
    assert body_of(store) is None


def test_delete_if_match_rejects_a_stale_etag(store: ObjectStore) -> None:
    stale = store.put(KEY, b"one")
    store.put(KEY, b"two")
    with pytest.raises(PreconditionFailedError):
        store.delete(KEY, if_match=stale)
    assert body_of(store) == b"two"


def test_delete_if_match_rejects_what_is_not_there(store: ObjectStore) -> None:
    etag = store.put(KEY, b"one")
    store.delete(KEY)
    with pytest.raises(PreconditionFailedError):
        store.delete(KEY, if_match=etag)


@pytest.mark.parametrize("count", [0, 1, 40])
def test_delete_many_removes_the_named_objects_and_no_other(store: ObjectStore, count: int) -> None:
    keys = [f"gone/{number}" for number in range(count)]
    for key in [*keys, "kept"]:
        store.put(key, b"one")
    store.delete_many([*keys, "gone/never-was"])
    assert [row.key for row in store.list_page("").objects] == ["kept"]
