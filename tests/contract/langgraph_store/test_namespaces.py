"""Namespaces: what may be in one, and how they are listed."""

from typing import Any

import pytest
from langgraph.store.base import BaseStore, InvalidNamespaceError, ListNamespacesOp, MatchCondition

from tests.contract.langgraph_store.agreement import PLACES, Agree, Scenario, found, seen

LABELS = (
    "plain", "user:7", "a b", " ", "_private", "-dash", "semantic", "episodic", "a/b", "/up", "~", "%2e", "*", "ключ",
    "北京", "🍜", "x", "x-3A", "A@b+c", "l" * 128, "back\\slash", "tab\there", "memory", "HEAD",
)  # fmt: skip


@pytest.mark.parametrize("label", LABELS)
def test_a_label_may_hold_any_character_but_a_period(agree: Agree, label: str) -> None:
    def scenario(store: BaseStore) -> Any:
        store.put((label, "below"), "a", {"x": 1})
        store.put(("other",), "b", {"x": 2})
        return (
            seen(store.get((label, "below"), "a")),
            found(store.search((label,))),
            store.list_namespaces(),
            store.list_namespaces(max_depth=1),
        )

    assert agree(scenario)[0] == ((label, "below"), "a", {"x": 1})


WRONG_NAMESPACES = ((), ("a.b",), ("a", ""), ("a\u0000",), (1,), ("langgraph",), ("langgraph", "x"))


@pytest.mark.parametrize("namespace", WRONG_NAMESPACES)
def test_put_refuses_a_wrong_namespace(agree: Agree, namespace: Any) -> None:
    def scenario(store: BaseStore) -> str:
        with pytest.raises(InvalidNamespaceError) as raised:
            store.put(namespace, "a", {"x": 1})
        return str(raised.value)

    assert agree(scenario)


@pytest.mark.parametrize("namespace", [("a.b",), ("a", ""), ("a\u0000",), (1,)])
@pytest.mark.parametrize("method", ["get", "delete", "search", "list_namespaces"])
def test_other_operations_refuse_a_wrong_label(agree: Agree, method: str, namespace: Any) -> None:
    calls: dict[str, Scenario] = {
        "get": lambda store: store.get(namespace, "a"),
        "delete": lambda store: store.delete(namespace, "a"),
        "search": lambda store: store.search(namespace),
        "list_namespaces": lambda store: store.list_namespaces(prefix=namespace),
    }

    def scenario(store: BaseStore) -> str:
        with pytest.raises(InvalidNamespaceError) as raised:
            calls[method](store)
        return str(raised.value)

    assert agree(scenario)


LISTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"prefix": ("a",)},
    {"prefix": ("a", "b")},
    {"prefix": ("a", "b", "c", "d")},
    {"prefix": ("nothing",)},
    {"suffix": ("v1",)},
    {"suffix": ("b",)},
    {"suffix": ("b", "c")},
    {"prefix": ("a",), "suffix": ("c",)},
    {"prefix": ("*", "b")},
    {"prefix": ("a", "*", "c")},
    {"prefix": ("a", "*"), "suffix": ("*", "f")},
    {"suffix": ("b", "*")},
    {"prefix": ("*",)},
    {"max_depth": 1},
    {"max_depth": 2},
    {"max_depth": 9},
    {"max_depth": 0},
    {"prefix": ("a", "b"), "max_depth": 3},
    {"limit": 3},
    {"limit": 3, "offset": 2},
    {"offset": 100},
    {"limit": 0},
    {"max_depth": 1, "limit": 1, "offset": 1},
)


@pytest.mark.parametrize("arguments", LISTINGS, ids=str)
def test_list_namespaces_selects(agree: Agree, arguments: dict[str, Any]) -> None:
    def scenario(store: BaseStore) -> Any:
        for place in PLACES:
            store.put(place, "k", {"x": 1})
        return store.list_namespaces(**arguments)

    agree(scenario)


def test_list_namespaces_refuses_an_unknown_match_type(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        store.put(("a",), "k", {"x": 1})
        condition = MatchCondition(match_type="infix", path=("a",))  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="Unsupported match type"):
            store.batch([ListNamespacesOp(match_conditions=(condition,))])

    agree(scenario)
