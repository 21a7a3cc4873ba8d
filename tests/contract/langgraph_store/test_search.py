"""Searching: filters, prefixes and pages. Where LangGraph leaves the order open, results are compared without it."""

from typing import Any

import pytest
from langgraph.store.base import BaseStore

from tests.contract.langgraph_store.agreement import ALICE, PLACES, Agree, found, keys

PEOPLE: dict[str, dict[str, Any]] = {
    "ann": {"name": "Ann", "age": 31, "city": "Rome", "tags": ["x", "y"], "home": {"zip": 7, "geo": {"lat": 1.5}}},
    "bob": {"name": "Bob", "age": 9, "city": "Oslo", "tags": [], "home": {"zip": 8}},
    "cy": {"name": "Cy", "age": 31.0, "city": None, "tags": ["x"], "home": None},
    "dee": {"name": "Dee", "age": 100, "tags": [{"t": 1, "u": 2}, None], "a.b": 1, "$m": 2},
}
FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"city": "Rome"},
    {"city": "rome"},
    {"city": None},
    {"age": 31},
    {"age": 31.0},
    {"age": "31"},
    {"age": {"$eq": 9}},
    {"age": {"$ne": 31}},
    {"city": {"$ne": "Rome"}},
    {"city": {"$ne": None}},
    {"missing": {"$eq": None}},
    {"missing": {"$ne": 1}},
    {"age": {"$gt": 9}},
    {"age": {"$gte": 31}},
    {"age": {"$lt": 31}},
    {"age": {"$lte": 31}},
    {"age": {"$gt": 9, "$lt": 100}},
    {"age": {"$gt": 30.5}, "city": "Rome"},
    {"home": {"zip": 7}},
    {"home": {"zip": {"$ne": 8}}},
    {"home": {"geo": None}},
    {"home": {"geo": {"$ne": 1}}},
    {"home": {}},
    {"home": {"zip": 8}, "name": "Bob"},
    {"home": {"$eq": {"zip": 8}}},
    {"home": {"$ne": {"zip": 8}}},
    {"tags": ["x", "y"]},
    {"tags": ["y", "x"]},
    {"tags": []},
    {"tags": "x"},
    {"tags": [{"t": 1}, None]},
    {"tags": {"$eq": ["x"]}},
    {"a.b": 1},
    {"$m": 2},
    {"": 1},
    {"nothing": "here"},
)


def meet(store: BaseStore) -> None:
    for key, person in PEOPLE.items():
        store.put(("people",), key, person)


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_search_filters(agree: Agree, filters: dict[str, Any]) -> None:
    def scenario(store: BaseStore) -> Any:
        meet(store)
        return keys(store.search(("people",), filter=filters))

    agree(scenario)


def test_search_refuses_an_unknown_operator(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        meet(store)
        with pytest.raises(ValueError, match=r"Unsupported operator: \$in"):
            store.search(("people",), filter={"city": {"$in": ["Rome"]}})

    agree(scenario)


def test_search_finds_all_namespaces_below_its_prefix(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        for place in PLACES:
            store.put(place, "-".join(place), {"x": 1})
        prefixes = ((), ("a",), ("a", "b"), ("z",), ("nothing",))
        return [found(store.search(prefix, limit=100)) for prefix in prefixes]

    assert [len(items) for items in agree(scenario)] == [8, 5, 3, 1, 0]


def test_a_label_is_not_a_prefix_of_a_longer_one(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        store.put(("user",), "a", {})
        store.put(("users",), "b", {})
        return keys(store.search(("user",)))

    assert agree(scenario) == ["a"]


@pytest.mark.parametrize(("limit", "offset"), [(10, 0), (3, 0), (3, 3), (3, 24), (10, 25), (10, 99), (0, 0), (100, 5)])
def test_search_pages_have_the_same_length(agree: Agree, limit: int, offset: int) -> None:
    def scenario(store: BaseStore) -> Any:
        for number in range(25):
            store.put(("n", str(number % 3)), str(number), {"n": number})
        return len(store.search(("n",), limit=limit, offset=offset))

    agree(scenario)


def test_search_pages_meet_every_item_once(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        for number in range(25):
            store.put(("n", str(number % 3)), str(number), {"n": number})
        return sorted(
            item.value["n"] for offset in range(0, 30, 4) for item in store.search(("n",), limit=4, offset=offset)
        )

    assert agree(scenario) == list(range(25))


def test_search_returns_ten_items_unless_told(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        for number in range(12):
            store.put(ALICE, str(number), {"n": number})
        return len(store.search(ALICE))

    assert agree(scenario) == 10


@pytest.mark.parametrize("query", [None, "", "  ", "metric", "nothing that anybody wrote", "the", "🍜"])
def test_a_query_leaves_no_item_out(agree: Agree, query: str | None) -> None:
    def scenario(store: BaseStore) -> Any:
        store.put(ALICE, "units", {"text": "prefers metric units"})
        store.put(ALICE, "food", {"text": "vegetarian"})
        store.put(ALICE, "hidden", {"text": "metric too"}, index=False)
        return found(store.search(ALICE, query=query))

    assert len(agree(scenario)) == 3
