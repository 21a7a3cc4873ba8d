"""Putting, getting and deleting items: both stores say the same."""

from typing import Any

import pytest
from langgraph.store.base import BaseStore

from tests.contract.langgraph_store.agreement import ALICE, Agree, found, keys, seen


def test_get_returns_what_was_put(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        store.put(ALICE, "units", {"text": "metric"})
        return seen(store.get(ALICE, "units"))

    assert agree(scenario) == (ALICE, "units", {"text": "metric"})


def test_get_returns_none_for_a_key_never_put(agree: Agree) -> None:
    assert agree(lambda store: store.get(ALICE, "units")) is None


def test_put_returns_none(agree: Agree) -> None:
    assert agree(lambda store: store.put(ALICE, "units", {"a": 1})) is None


def test_put_replaces_the_whole_value(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        store.put(ALICE, "a", {"x": 1, "deep": {"y": 2, "z": {"w": 3}}, "gone": [1]})
        store.put(ALICE, "a", {"deep": {"z": {"v": None}}, "list": [None, {"n": None}]})
        return store.get(ALICE, "a").value  # type: ignore[union-attr]

    assert agree(scenario) == {"deep": {"z": {"v": None}}, "list": [None, {"n": None}]}


VALUES_IN_TURN: tuple[dict[str, Any], ...] = (
    {"a": {"b": 1}},
    {"a": "text"},
    {"a": {}},
    {"a": None},
    {"a": [1]},
    {},
)


def test_put_replaces_an_object_by_a_value_and_back(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        values = []
        for value in VALUES_IN_TURN:
            store.put(ALICE, "a", value)
            values.append(store.get(ALICE, "a").value)  # type: ignore[union-attr]
        return values

    assert agree(scenario) == list(VALUES_IN_TURN)


def test_changing_the_value_after_put_changes_nothing_stored(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        value = {"x": 1}
        store.put(ALICE, "a", value)
        value["x"] = 2
        return store.get(ALICE, "a").value  # type: ignore[union-attr]

    assert agree(scenario) == {"x": 1}


def test_delete_removes_an_item(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        store.put(ALICE, "a", {"x": 1})
        store.put(ALICE, "b", {"x": 2})
        store.delete(ALICE, "a")
        return store.get(ALICE, "a"), keys(store.search(ALICE))

    assert agree(scenario) == (None, ["b"])


def test_deleting_what_is_not_there_does_nothing(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        store.delete(ALICE, "a")
        store.put(ALICE, "a", {"x": 1})
        store.delete(ALICE, "a")
        store.delete(ALICE, "a")
        return store.get(ALICE, "a")

    assert agree(scenario) is None


def test_a_deleted_key_can_be_put_again(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        store.put(ALICE, "a", {"x": 1})
        store.delete(ALICE, "a")
        store.put(ALICE, "a", {"y": 2})
        return seen(store.get(ALICE, "a")), found(store.search(ALICE))

    assert agree(scenario)[0] == (ALICE, "a", {"y": 2})


def test_the_same_key_in_two_namespaces_is_two_items(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        for namespace in (ALICE, ("users",), ("users", "alice", "prefs"), ("users", "bob")):
            store.put(namespace, "a", {"of": list(namespace)})
        store.delete(("users",), "a")
        return [seen(store.get(namespace, "a")) for namespace in (ALICE, ("users",), ("users", "bob"))]

    assert agree(scenario)[1] is None


def test_times_are_aware_and_ordered(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        store.put(ALICE, "a", {"x": 1})
        first = store.get(ALICE, "a")
        store.put(ALICE, "a", {"x": 2})
        second = store.get(ALICE, "a")
        assert first is not None
        assert second is not None
        is_utc = all(item.created_at.utcoffset().total_seconds() == 0 for item in (first, second))  # type: ignore[union-attr]
        return is_utc, first.created_at <= first.updated_at < second.updated_at, second.created_at <= second.updated_at

    assert agree(scenario) == (True, True, True)


def test_search_items_carry_the_times_of_get(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        store.put(ALICE, "a", {"x": 1})
        got, hit = store.get(ALICE, "a"), store.search(ALICE)[0]
        return (got.created_at, got.updated_at) == (hit.created_at, hit.updated_at), hit.score  # type: ignore[union-attr]

    assert agree(scenario) == (True, None)


VALUES: dict[str, dict[str, Any]] = {
    "empty": {},
    "scalars": {"text": "x", "int": 3, "float": 2.5, "true": True, "false": False},
    "null": {"a": None},
    "deep nulls": {"a": {"b": {"c": None, "d": 1}}, "e": None},
    "only a deep null": {"a": {"b": None}},
    "nulls in lists": {"a": [None, [None], {"b": None}]},
    "empty containers": {"a": {}, "b": [], "c": "", "d": {"e": {}}},
    "nested": {"a": {"b": [{"c": [1, 2, {"d": "e"}]}]}},
    "keys with dots": {"a.b": 1, "a": {"b.c": 2}, ".": 3},
    "keys with dollars": {"$eq": 1, "$nulls": [["a"]], "$": None, "a": {"$x": None}, "$$y": 2},
    "an empty key": {"": 1, "a": {"": None}},
    "unicode": {"ключ": "значение", "emoji": "🍜", "zero": "a\u0000b", "newline": "a\nb"},
    "large integers": {"a": 2**80, "b": -(2**63)},
    "small floats": {"a": 1e-300, "b": 0.1 + 0.2, "c": -0.0},
    "a key like a field": {"key": 1, "id": 2, "namespace": 3, "metadata": {"source": 4}, "content": None},
    "long text": {"text": "word " * 5_000},
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_back_as_it_was_put(agree: Agree, name: str) -> None:
    def scenario(store: BaseStore) -> Any:
        store.put(ALICE, "a", VALUES[name])
        return store.get(ALICE, "a").value, [item.value for item in store.search(ALICE)]  # type: ignore[union-attr]

    assert agree(scenario) == (VALUES[name], [VALUES[name]])


KEYS = (
    "plain", "With.Dots_and-more@x+y", "", " ", "a/b/c", "../etc/passwd", "..", "_private", "-dash", "ключ", "🍜",
    "a\u0000b", "k" * 128, "k" * 129, "k" * 1_000, "sha256-" + "0" * 64, "semantic", "a b", "%2e", "key:1", "a.json",
)  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_a_key_may_be_any_text(agree: Agree, key: str) -> None:
    def scenario(store: BaseStore) -> Any:
        store.put(ALICE, key, {"x": 1})
        store.put(ALICE, key + "2", {"x": 2})
        before = seen(store.get(ALICE, key)), found(store.search(ALICE))
        store.delete(ALICE, key)
        return before, store.get(ALICE, key), keys(store.search(ALICE))

    assert agree(scenario)[0][0] == (ALICE, key, {"x": 1})


def test_keys_that_are_no_text_are_made_text(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        store.put(ALICE, 7, {"x": 1})  # type: ignore[arg-type]
        return seen(store.get(ALICE, "7"))

    assert agree(scenario) == (ALICE, "7", {"x": 1})
