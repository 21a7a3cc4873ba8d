"""What every adapter lists: order, prefixes, pages, checked against a sorted list of keys."""

from random import Random

import pytest

from s3_agent_memory.storage.port import ObjectStore

SEEDS = range(3)
PAGE_COUNT_MAX = 1_000
# Neighbours of "/" in byte order, names that begin alike, both cases.
COMPONENTS = ("a", "a-b", "a.b", "a+", "a0", "a@", "a~b", "A", "Z", "_a", "b", "ab", "abc", "0")


def random_tree(random: Random) -> list[str]:
    keys = {"/".join(random.choices(COMPONENTS, k=random.randint(1, 4))) + ".json" for _ in range(60)}
    return sorted(keys, key=str.encode)


def random_folder(random: Random) -> list[str]:
    keys = {"folder/" + "".join(random.choices(COMPONENTS, k=random.randint(1, 3))) for _ in range(60)}
    return sorted(keys, key=str.encode)


def random_prefix(random: Random, keys: list[str]) -> str:
    key = random.choice(keys)
    return random.choice(["", "a", "zz", key, key[: random.randint(0, len(key))], key[: key.rfind("/") + 1]])


def random_start(random: Random, keys: list[str]) -> str:
    key = random.choice(keys)
    return random.choice(["", key, key[: random.randint(0, len(key))], key + "0", "~"])


def listed_keys(store: ObjectStore, prefix: str, *, start_after: str = "", limit: int | None = None) -> list[str]:
    """Return the keys of all pages, asked for one after the other."""
    keys: list[str] = []
    for _ in range(PAGE_COUNT_MAX):
        page = store.list_page(prefix, start_after=start_after, limit=limit)
        assert limit is None or len(page.objects) <= limit
        keys += [row.key for row in page.objects]
        if page.is_last:
            return keys
        start_after = page.objects[-1].key
    raise AssertionError(f"the listing of {prefix!r} does not end")


def check_listings(store: ObjectStore, keys: list[str], random: Random, message: str) -> None:
    for key in random.sample(keys, k=len(keys)):
        store.put(key, key.encode())
    for _ in range(30):
        prefix, start_after = random_prefix(random, keys), random_start(random, keys)
        limit = random.choice([None, 2, 7])
        expected = [key for key in keys if key.startswith(prefix) and key > start_after]
        found = listed_keys(store, prefix, start_after=start_after, limit=limit)
        assert found == expected, f"{message}, prefix {prefix!r}, start after {start_after!r}, limit {limit}"


@pytest.mark.parametrize("seed", SEEDS)
def test_listing_of_a_folder_agrees_with_a_sorted_list_of_keys(store: ObjectStore, seed: int) -> None:
    random = Random(seed)
    check_listings(store, random_folder(random), random, f"seed {seed}")


@pytest.mark.parametrize("seed", SEEDS)
def test_listing_of_a_tree_agrees_with_a_sorted_list_of_keys(byte_ordered_store: ObjectStore, seed: int) -> None:
    random = Random(seed)
    check_listings(byte_ordered_store, random_tree(random), random, f"seed {seed}")


def test_listing_of_nothing_is_one_empty_last_page(store: ObjectStore) -> None:
    page = store.list_page("memory/")
    assert (page.objects, page.is_last) == ((), True)


def test_listing_sorts_whole_keys_by_their_bytes(byte_ordered_store: ObjectStore) -> None:
    keys = ["a+b/x", "a-b", "a.json", "a/x", "a0", "aA", "a_", "aa", "a~"]
    for key in reversed(keys):
        byte_ordered_store.put(key, b"")
    assert listed_keys(byte_ordered_store, "") == keys


def test_listing_takes_a_prefix_that_ends_inside_a_name(store: ObjectStore) -> None:
    for key in ("users/alice/x", "users/albert/x", "users/bob/x"):
        store.put(key, b"")
    assert listed_keys(store, "users/al") == ["users/albert/x", "users/alice/x"]


def test_listing_takes_a_prefix_in_letters_no_key_has(store: ObjectStore) -> None:
    store.put("a", b"")
    assert listed_keys(store, "ä/ö") == []


def test_listing_rows_describe_the_objects(store: ObjectStore) -> None:
    etag = store.put("a/b", b"12345")
    (row,) = store.list_page("a").objects
    assert (row.key, row.etag, row.size_bytes) == ("a/b", etag, 5)


def test_listing_gives_the_time_of_change_in_milliseconds_since_1970(store: ObjectStore) -> None:
    store.put("a/b", b"12345")
    (row,) = store.list_page("a").objects
    assert 10**12 < row.modified_ms < 10**13


def test_listing_with_a_limit_of_all_keys_is_the_last_page(store: ObjectStore) -> None:
    for key in ("a/1", "a/2", "b/1"):
        store.put(key, b"")
    page = store.list_page("a/", limit=2)
    assert (len(page.objects), page.is_last) == (2, True)


def test_listing_with_a_smaller_limit_says_that_more_follows(store: ObjectStore) -> None:
    for key in ("a/1", "a/2", "a/3"):
        store.put(key, b"")
    page = store.list_page("a/", limit=2)
    assert ([row.key for row in page.objects], page.is_last) == (["a/1", "a/2"], False)


def test_listing_starts_after_a_key_that_is_not_there(store: ObjectStore) -> None:
    for key in ("a/1", "a/3"):
        store.put(key, b"")
    assert listed_keys(store, "a/", start_after="a/2") == ["a/3"]


def test_listing_shows_the_etag_of_the_last_write(store: ObjectStore) -> None:
    store.put("a", b"one")
    etag = store.put("a", b"two")
    assert [row.etag for row in store.list_page("").objects] == [etag]
