"""Scheduled rounds over all namespaces: within their time, on from where they stopped, past what fails."""

from collections.abc import Callable

import pytest

from s3_agent_memory.service.rounds import RESERVE_MS, RoundReport
from tests.fakes.clock import MINUTE
from tests.unit.service.worlds import World

USERS = [f"users/u{number}" for number in range(5)]


def forever() -> int:
    return 10 * RESERVE_MS


def time_for(count: int) -> Callable[[], int]:
    """Return what leaves time for so many namespaces."""
    left = [2 * RESERVE_MS] * count
    return lambda: left.pop() if left else 0


@pytest.fixture
def crowded(world: World) -> World:
    """Five namespaces, each with an expired and a lasting memory, all of them folded once."""
    for user in USERS:
        world.memories.remember(user, "short", ttl=MINUTE)
        world.memories.remember(user, "long")
        world.another_process().memories.sweep(user)
    world.clock.advance(MINUTE)
    return world


def test_a_round_prunes_every_namespace(crowded: World) -> None:
    report = crowded.parts.pruning.run(forever)
    assert report == RoundReport(namespaces=5, changed=5, failed=(), is_complete=True)
    assert [crowded.seen(user).truth for user in USERS] == [("long",)] * 5


def test_a_round_finds_what_a_program_left_unfolded_where_nothing_wakes_an_indexer(world: World) -> None:
    world.memories.remember("users/u1", "short", ttl=MINUTE)
    world.clock.advance(MINUTE)
    assert world.parts.pruning.run(forever).changed == 1


def test_a_round_without_time_does_nothing(crowded: World) -> None:
    assert crowded.parts.pruning.run(time_for(0)) == RoundReport(namespaces=0, changed=0, failed=(), is_complete=False)


def test_a_round_goes_on_where_it_stopped(crowded: World) -> None:
    reports = [crowded.another_process().pruning.run(time_for(2)) for _ in range(3)]
    assert [report.namespaces for report in reports] == [2, 2, 1]
    assert [report.is_complete for report in reports] == [False, False, True]
    assert sum(report.changed for report in reports) == 5


def test_a_complete_round_is_followed_by_a_new_one(crowded: World) -> None:
    crowded.parts.pruning.run(forever)
    assert crowded.another_process().pruning.run(forever).namespaces == 5


def test_two_kinds_of_round_do_not_share_their_place(crowded: World) -> None:
    crowded.parts.pruning.run(time_for(3))
    assert crowded.parts.sweeping.run(forever).namespaces == 5


def test_a_round_goes_past_a_namespace_that_fails(crowded: World) -> None:
    crowded.store.inner.put("memory/users/u1/_tombstones/a.json", b"{")
    key = next(key for key in crowded.store.keys_below("memory/users/u1/semantic/"))
    crowded.store.inner.put(key, b"{")
    report = crowded.parts.pruning.run(forever)
    assert (report.namespaces, report.is_complete) == (5, True)
    assert set(report.failed) <= {"users/u1"}
    assert report.changed >= 4


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"after":7}'])
def test_a_broken_place_begins_a_new_round(crowded: World, body: bytes) -> None:
    crowded.store.inner.put("memory/_rounds/pruner", body)
    assert crowded.parts.pruning.run(forever).namespaces == 5


def test_a_sweeping_round_counts_repairs(crowded: World) -> None:
    crowded.memories.remember(USERS[0], "unlogged")
    crowded.store.inner.delete_many(crowded.store.keys_below("memory/users/u0/_index/log/"))
    assert crowded.parts.sweeping.run(forever).changed == 1
