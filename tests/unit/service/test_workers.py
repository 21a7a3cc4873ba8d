"""Working side by side."""

import threading

import pytest

from s3_agent_memory.service.workers import Workers


@pytest.mark.parametrize("count", [1, 4])
def test_results_come_in_the_order_of_the_items(count: int) -> None:
    assert Workers(count).each(lambda item: item * 2, list(range(20))) == [item * 2 for item in range(20)]


def test_several_things_are_under_way_at_once() -> None:
    barrier = threading.Barrier(3, timeout=20)
    assert sorted(Workers(3).each(lambda _: barrier.wait(), [1, 2, 3])) == [0, 1, 2]


def test_one_worker_works_in_the_callers_thread() -> None:
    assert Workers(1).each(lambda _: threading.get_ident(), [1, 2]) == [threading.get_ident()] * 2


@pytest.mark.parametrize("count", [1, 4])
def test_what_an_action_raises_escapes(count: int) -> None:
    with pytest.raises(ZeroDivisionError):
        Workers(count).each(lambda item: 1 // item, [1, 0, 1])
