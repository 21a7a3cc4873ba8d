"""Batches: what their operations see of each other, and what they answer."""

from typing import Any

import pytest
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, Op, PutOp, SearchOp

from tests.contract.langgraph_store.agreement import ALICE, Agree, found, keys, seen


def test_a_batch_answers_in_the_order_of_its_operations(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        store.put(ALICE, "a", {"x": 1})
        got, put, hits, names, nothing = store.batch(
            [
                GetOp(ALICE, "a"),
                PutOp(ALICE, "b", {"x": 2}),
                SearchOp(("users",)),
                ListNamespacesOp(),
                GetOp(ALICE, "nothing"),
            ]
        )
        return seen(got), put, found(hits), names, nothing  # type: ignore[arg-type]

    assert agree(scenario)[3] == [ALICE]


def test_a_batch_reads_what_was_there_before_it(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        store.put(ALICE, "a", {"x": 1})
        operations: list[Op] = [
            PutOp(ALICE, "a", {"x": 2}),
            GetOp(ALICE, "a"),
            PutOp(ALICE, "b", {"x": 3}),
            SearchOp(ALICE),
        ]
        results = store.batch(operations)
        return seen(results[1]), keys(results[3]), seen(store.get(ALICE, "a"))  # type: ignore[arg-type]

    assert agree(scenario) == ((ALICE, "a", {"x": 1}), ["a"], (ALICE, "a", {"x": 2}))


@pytest.mark.parametrize("values", [(1, 2, 3), (1, None), (None, 1), (None, None), (1, None, 2)])
def test_of_several_writes_in_a_batch_the_last_wins(agree: Agree, values: tuple[int | None, ...]) -> None:
    def scenario(store: BaseStore) -> Any:
        store.batch([PutOp(ALICE, "a", None if value is None else {"x": value}) for value in values])
        return seen(store.get(ALICE, "a"))

    agree(scenario)


def test_a_batch_writes_to_many_places(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        store.batch([PutOp(("n", str(number % 5)), str(number), {"n": number}) for number in range(40)])
        return found(store.search(("n",), limit=100)), store.list_namespaces()

    assert len(agree(scenario)[0]) == 40


def test_an_empty_batch_answers_nothing(agree: Agree) -> None:
    assert agree(lambda store: store.batch([])) == []


def test_a_batch_takes_any_iterable(agree: Agree) -> None:
    assert agree(lambda store: store.batch(GetOp(ALICE, key) for key in "ab")) == [None, None]


def test_a_batch_refuses_an_unknown_operation(agree: Agree) -> None:
    def scenario(store: BaseStore) -> Any:
        with pytest.raises(ValueError, match="Unknown operation type"):
            store.batch(["nonsense"])  # type: ignore[list-item]

    agree(scenario)
