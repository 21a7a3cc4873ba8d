"""What a query finds, in which order, and how a filter compares what is of different types."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from langgraph.store.base import SearchItem
from langgraph.store.memory import InMemoryStore

from s3_agent_memory import LimitExceededError, MemoryStore, ValidationError
from s3_agent_memory.integrations import langgraph_search
from s3_agent_memory.integrations.langgraph_embedder import LangChainEmbedder
from s3_agent_memory.langgraph_store import S3Store
from tests.integrations.langgraph_worlds import ALICE, StoreWorld

NOTES: dict[str, dict[str, Any]] = {
    "units": {"title": "units", "text": "prefers metric units"},
    "food": {"title": "food", "text": "eats no meat", "parts": [{"t": "tofu"}, {"t": "seitan"}]},
    "city": {"title": "city", "text": "lives in Rome", "deep": {"er": "Trastevere"}},
}
TOPICS = ("metric", "meat", "Rome")


@pytest.fixture
def lab() -> StoreWorld:
    return StoreWorld()


def fill(store: S3Store) -> S3Store:
    for key, note in NOTES.items():
        store.put(ALICE, key, note)
    return store


def ranked(items: list[SearchItem]) -> list[str]:
    """Return the keys of the items that the query ranked."""
    return [item.key for item in items if item.score is not None]


@pytest.mark.parametrize(
    ("query", "keys"), [("metric", ["units"]), ("Rome", ["city"]), ("seitan", ["food"]), ("trastevere", ["city"])]
)
def test_a_query_ranks_items_by_every_string_in_them(lab: StoreWorld, query: str, keys: list[str]) -> None:
    assert ranked(fill(lab.store()).search(ALICE, query=query)) == keys


def test_the_best_hit_comes_first_and_the_rest_follows(lab: StoreWorld) -> None:
    items = fill(lab.store()).search(ALICE, query="which metric units?")
    assert (items[0].key, len(items), items[1].score) == ("units", 3, None)


@pytest.mark.parametrize(
    ("index", "query", "keys"),
    [
        (["text"], "metric", ["units"]),
        (["text"], "seitan", []),
        (["parts[*].t"], "seitan", ["food"]),
        (["parts[-1].t"], "tofu", []),
        (["deep.er", "title"], "trastevere", ["city"]),
        (["$"], "seitan", ["food"]),
        (["missing"], "metric", []),
        ({"fields": ["text"]}, "metric", ["units"]),
        ({"fields": ["title"]}, "metric", []),
        ({}, "metric", ["units"]),
    ],
)
def test_index_names_the_text_that_is_searched(lab: StoreWorld, index: object, query: str, keys: list[str]) -> None:
    assert ranked(fill(lab.store(index=index)).search(ALICE, query=query)) == keys


def test_put_can_name_other_fields_for_one_item(lab: StoreWorld) -> None:
    store = fill(lab.store(index=["title"]))
    store.put(ALICE, "units", NOTES["units"], index=["text"])
    assert ranked(store.search(ALICE, query="metric")) == ["units"]


def test_an_item_that_is_not_indexed_is_found_but_not_ranked(lab: StoreWorld) -> None:
    store = lab.store()
    store.put(ALICE, "units", NOTES["units"], index=False)
    assert [(item.key, item.score) for item in store.search(ALICE, query="metric")] == [("units", None)]


def test_putting_an_item_again_can_take_it_out_of_the_index(lab: StoreWorld) -> None:
    store = fill(lab.store())
    store.put(ALICE, "units", NOTES["units"], index=False)
    before = ranked(store.search(ALICE, query="metric"))
    store.put(ALICE, "units", NOTES["units"])
    assert (before, ranked(store.search(ALICE, query="metric"))) == ([], ["units"])


def test_a_query_and_a_filter_hold_together(lab: StoreWorld) -> None:
    store = fill(lab.store())
    assert [item.key for item in store.search(ALICE, query="metric", filter={"title": "food"})] == ["food"]


def test_without_a_query_the_latest_change_comes_first(lab: StoreWorld) -> None:
    store = lab.store()
    for key in ("a", "b", "c"):
        lab.advance_minutes(1)
        store.put(("users", key), key, {"x": 1})
    lab.advance_minutes(1)
    store.put(("users", "a"), "a", {"x": 2})
    assert [item.key for item in store.search(("users",))] == ["a", "c", "b"]


def test_pages_of_a_query_meet_every_item_once_beyond_the_first_hundred_hits(lab: StoreWorld) -> None:
    store = lab.store()
    for number in range(130):
        store.put(ALICE, str(number), {"text": "metric", "n": number})
    pages = [store.search(ALICE, query="metric", limit=40, offset=offset) for offset in range(0, 160, 40)]
    assert sorted(item.value["n"] for page in pages for item in page) == list(range(130))


def test_a_filter_that_no_index_can_decide_is_applied_to_ranked_items(lab: StoreWorld) -> None:
    store = lab.store()
    for number in range(30):
        store.put(ALICE, str(number), {"text": "metric", "a.b": number % 3})
    items = store.search(ALICE, query="metric", filter={"a.b": 1}, limit=20)
    assert (len(items), {item.value["a.b"] for item in items}, len(ranked(items))) == (10, {1}, 10)


def test_a_hit_that_only_the_filter_itself_shuts_out_takes_no_place(lab: StoreWorld) -> None:
    store = lab.store()
    store.put(ALICE, "best", {"text": "metric metric", "home": "Rome"})
    store.put(ALICE, "next", {"text": "metric or so, one day", "home": {"zip": 7}})
    store.put(ALICE, "latest", {"text": "imperial", "home": {}})
    assert ranked(store.search(ALICE, query="metric", filter={"home": {"geo": None}}, limit=1)) == ["next"]


def test_a_filter_may_have_more_conditions_than_the_index_takes(lab: StoreWorld) -> None:
    store = lab.store()
    value = {f"k{number}": number for number in range(50)}
    store.put(ALICE, "a", value)
    store.put(ALICE, "b", {**value, "k49": 0})
    assert [item.key for item in store.search(ALICE, filter=value)] == ["a"]


@pytest.mark.parametrize(
    ("filters", "keys"),
    [
        ({"v": {"$gt": 9}}, ["ten"]),
        ({"v": {"$gte": "9"}}, ["nine"]),
        ({"v": {"$lt": "9"}}, ["one-zero"]),
        ({"v": True}, ["true"]),
        ({"v": 1}, ["one"]),
        ({"v": {"$ne": 1}}, ["nil", "nine", "one-zero", "ten", "true"]),
        ({"v": {"$gt": None}}, []),
        ({"v": {"$lte": False}}, []),
    ],
)
def test_filters_compare_by_type(lab: StoreWorld, filters: dict, keys: list[str]) -> None:
    store = lab.store()
    values = {"ten": 10, "nine": "9", "one-zero": "10", "true": True, "one": 1, "nil": None}
    for key, value in values.items():
        store.put(ALICE, key, {"v": value})
    assert sorted(item.key for item in store.search(ALICE, filter=filters)) == keys


@pytest.mark.parametrize(("limit", "offset"), [(-1, 0), (1, -1), (1.5, 0), (True, 0)])
def test_wrong_bounds_are_refused(lab: StoreWorld, limit: int, offset: int) -> None:
    with pytest.raises(ValidationError, match="whole number"):
        lab.store().search(ALICE, limit=limit, offset=offset)


def test_too_many_namespaces_below_a_prefix_are_refused(lab: StoreWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(langgraph_search, "NAMESPACE_COUNT_MAX", 2)
    store = lab.store()
    for name in ("a", "b", "c"):
        store.put(("users", name), "k", {"x": 1})
    assert len(store.search(("users", "a"))) == 1
    with pytest.raises(LimitExceededError, match="search a longer prefix"):
        store.search(("users",))


# --- by meaning -------------------------------------------------------------------------------------------------------


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Return how much of each topic is in a text; "imperial" means metric and "vegan" means meat here."""
    meanings = [text.replace("imperial", "metric").replace("vegan", "meat") for text in texts]
    return [[float(meaning.count(topic)) for topic in TOPICS] + [0.1] for meaning in meanings]


def both() -> tuple[InMemoryStore, S3Store]:
    theirs = InMemoryStore(index={"dims": 4, "embed": embed, "fields": ["text"]})
    embedder = LangChainEmbedder(embed, name="topics/1")
    return theirs, S3Store(MemoryStore.from_url("memory://", embedder=embedder), index=["text"])


@pytest.mark.parametrize(("query", "best"), [("imperial", "units"), ("vegan", "food"), ("Rome", "city")])
def test_an_embedder_finds_by_meaning_what_theirs_does(query: str, best: str) -> None:
    firsts = []
    for store in both():
        for key, note in NOTES.items():
            store.put(ALICE, key, note)
        firsts.append((store.search(ALICE, query=query, limit=1)[0].key, len(store.search(ALICE, query=query))))
    assert firsts == [(best, 3)] * 2


async def _search_all(query: str) -> list[list[str]]:
    found = []
    for store in both():
        for key, note in NOTES.items():
            await store.aput(ALICE, key, note)
        found.append([item.key for item in await store.asearch(ALICE, query=query, limit=1)])
    return found


def test_asearch_finds_by_meaning() -> None:
    assert asyncio.run(_search_all("imperial")) == [["units"], ["units"]]


def test_an_item_that_is_not_indexed_has_no_score_by_meaning_either() -> None:
    found = []
    for store in both():
        store.put(ALICE, "a", {"text": "metric"}, index=False)
        store.put(ALICE, "b", {"text": "meat"})
        found.append([(item.key, item.score is None) for item in store.search(ALICE, query="imperial")])
    assert found == [[("b", False), ("a", True)]] * 2


def test_an_asynchronous_embedder_is_refused() -> None:
    async def embed_later(texts: Sequence[str]) -> list[list[float]]:
        return embed(texts)

    with pytest.raises(ValidationError, match="asynchronous"):
        LangChainEmbedder(embed_later, name="topics/1")  # type: ignore[arg-type]
