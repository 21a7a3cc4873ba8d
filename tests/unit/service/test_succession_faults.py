"""Superseding, and forgetting what supersedes or was consolidated, with every fault at every request.

A reader sees the state before or the one after, never one in between; acknowledged means after; and once a memory is
forgotten no earlier version of it is left.
"""

from functools import partial

import pytest

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.validity import MemoryVersion
from s3_agent_memory.errors import AgentMemoryError, ThrottledError, UnknownOutcomeError
from tests.fakes.clock import MINUTE
from tests.fakes.faulty_store import Fault
from tests.unit.service.scenarios import Scenario, die_at_request, try_to_die
from tests.unit.service.worlds import NAMESPACE, PLACE, World

_MORE_REQUESTS = 6


def remembered(world: World) -> None:
    world.memories.remember(NAMESPACE, "old", id="old")
    world.memories.update(NAMESPACE, "old", importance=0.7)
    world.clock.advance(1)


def superseded(world: World) -> None:
    remembered(world)
    world.memories.supersede(NAMESPACE, "old", "new", new_id="new")
    world.memories.update(NAMESPACE, "new", importance=0.7)
    world.clock.advance(1)


def consolidated(world: World) -> None:
    for number in (1, 2):
        world.memories.remember(NAMESPACE, f"old {number}", id=f"old-{number}")
    now = to_datetime(world.clock.now_us())
    world.parts.services.writer.remember_as(
        Memory(
            id="merged",
            namespace=PLACE,
            kind=Kind.SEMANTIC,
            content="merged",
            created_at=now,
            updated_at=now,
            consolidated_from=(MemoryVersion("old-1", 1), MemoryVersion("old-2", 1)),
        )
    )


SUPERSEDE = Scenario(
    "supersede", remembered, lambda memories: memories.supersede(NAMESPACE, "old", "new"), ("old",), ("new",)
)
SUPERSEDE_AS = Scenario(
    "supersede under a chosen id",
    remembered,
    lambda memories: memories.supersede(NAMESPACE, "old", "new", new_id="new"),
    ("old",),
    ("new",),
)
FORGET_SUPERSEDER = Scenario(
    "forget what supersedes", superseded, lambda memories: memories.forget(NAMESPACE, "new"), ("new",), ()
)
FORGET_SUPERSEDED = Scenario(
    "forget what is superseded", superseded, lambda memories: memories.forget(NAMESPACE, "old"), ("new",), ("new",)
)
FORGET_MERGED = Scenario(
    "forget what was consolidated", consolidated, lambda memories: memories.forget(NAMESPACE, "merged"), ("merged",), ()
)
ALL = (SUPERSEDE, SUPERSEDE_AS, FORGET_SUPERSEDER, FORGET_SUPERSEDED, FORGET_MERGED)


def true(world: World) -> tuple[str, ...]:
    memories = world.another_process().memories
    listed = sorted(memory.content for memory in memories.list(NAMESPACE).memories)
    assert listed == sorted(hit.memory.content for hit in memories.recall(NAMESPACE, ""))
    return tuple(listed)


def orphaned_versions(world: World) -> list[str]:
    """Return earlier versions of memories that are gone."""
    present = {
        key.rpartition("/")[2].removesuffix(".json") for key in world.store.keys_below("memory/users/alice/semantic")
    }
    kept = world.store.keys_below("memory/users/alice/_history/")
    return [key for key in kept if key.split("/")[-2] not in present]


def outcome_of(scenario: Scenario, world: World) -> AgentMemoryError | None:
    try:
        scenario.write(world.memories)
    except AgentMemoryError as error:
        return error
    return None


def check(scenario: Scenario, world: World, error: AgentMemoryError | None, where: str) -> None:
    where = f"{where}: answered {error!r}"
    if isinstance(error, UnknownOutcomeError):
        world.store.deliver_late()
        assert true(world) in (scenario.before, scenario.after), where
        world.clock.advance(MINUTE + 1)
        world.another_process().memories.sweep(NAMESPACE)
        assert orphaned_versions(world) == [], where
    seen = true(world)
    if error is None:
        assert (seen, orphaned_versions(world)) == (scenario.after, []), where
    elif not isinstance(error, UnknownOutcomeError):
        assert seen == scenario.before, where
    world.store.deliver_late()
    assert true(world) == seen, f"{where}: a late effect changed the state"
    assert (
        world.another_process().memories.stats(NAMESPACE).digest
        == world.another_process().memories.reindex(NAMESPACE).digest_after
    ), where


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("scenario", ALL, ids=str)
def test_one_fault_anywhere_is_answered_truthfully(scenario: Scenario, fault: Fault) -> None:
    for place in range(scenario.request_count() + _MORE_REQUESTS):
        world = scenario.world()
        world.store.fail(fault, at=place)
        check(scenario, world, outcome_of(scenario, world), f"{fault} at request {place}")


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("scenario", ALL, ids=str)
def test_a_fault_that_never_ends_is_given_up(scenario: Scenario, fault: Fault) -> None:
    for place in range(scenario.request_count()):
        world = scenario.world()
        world.store.run_before(partial(world.store.fail, fault, verb="put", times=10**6), at=place)
        error = outcome_of(scenario, world)
        world.store.deliver_late()
        assert isinstance(error, (ThrottledError, UnknownOutcomeError, type(None))), f"request {place}: {error!r}"
        assert true(world) in (scenario.before, scenario.after), f"request {place}"


@pytest.mark.parametrize("scenario", ALL, ids=str)
def test_a_process_that_dies_anywhere_leaves_one_state_or_the_other_and_the_same_call_ends_it(
    scenario: Scenario,
) -> None:
    for place in range(scenario.request_count()):
        world = scenario.world()
        die_at_request(world, at=place)
        assert not try_to_die(partial(scenario.write, world.memories)), f"request {place}"
        assert true(world) in (scenario.before, scenario.after), f"request {place}"
        if scenario not in (SUPERSEDE, SUPERSEDE_AS):
            scenario.write(world.another_process().memories)
            assert (true(world), orphaned_versions(world)) == (scenario.after, []), f"request {place}"
        world.clock.advance(MINUTE + 1)
        world.another_process().memories.sweep(NAMESPACE)
        assert true(world) in (scenario.before, scenario.after), f"request {place}"
        assert orphaned_versions(world) == [], f"request {place}"
