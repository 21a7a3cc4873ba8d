"""Consolidating, undoing and settling, with every fault and with death at every request.

Whatever happens, no fact is out of sight for a moment, and whoever comes next brings it to its end.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.consolidation import RunState
from s3_agent_memory.errors import AgentMemoryError
from tests.fakes.clock import MINUTE
from tests.fakes.faulty_store import Fault
from tests.unit.service.scenarios import die_at_request, try_to_die
from tests.unit.service.worlds import NAMESPACE, World

DAY = 86_400
FACTS = {"alice likes tea": 2, "bob paid carol": 1, "carol paid bob": 1}
_MORE_REQUESTS = 4


@dataclass(frozen=True)
class Work:
    """Something that consolidation does, what comes before it, and how many objects and memories are left after it."""

    name: str
    prepare: Callable[[World], object]
    do: Callable[[MemoryStore], object]
    objects: int
    visible: int

    def __str__(self) -> str:
        return self.name

    def world(self) -> World:
        world = World()
        for fact, count in FACTS.items():
            for _ in range(count):
                world.memories.remember(NAMESPACE, fact)
                world.clock.advance(1)
        self.prepare(world)
        world.store.forget_requests()
        return world

    def places(self) -> Iterator[int]:
        world = self.world()
        self.do(world.memories)
        yield from range(len(world.store.requests) + _MORE_REQUESTS)


def undo(memories: MemoryStore) -> None:
    (run,) = memories.consolidations(NAMESPACE)
    memories.undo_consolidation(NAMESPACE, run.id)


def consolidated(world: World) -> None:
    world.memories.consolidate(NAMESPACE)


def due(world: World) -> None:
    consolidated(world)
    world.clock.advance(8 * DAY)


WORKS = (
    Work("consolidate", lambda _: None, lambda memories: memories.consolidate(NAMESPACE), 5, 3),
    Work("consolidate at once", lambda _: None, lambda memories: memories.consolidate(NAMESPACE, undo_days=0), 3, 3),
    Work("undo", consolidated, undo, 4, 4),
    Work("settle", due, lambda memories: memories.prune_expired(NAMESPACE), 3, 3),
)


def objects(world: World) -> list[dict]:
    return [json.loads(line) for line in world.another_process().memories.export(NAMESPACE)]


def check_no_fact_is_lost(world: World, where: str) -> None:
    """Every fact is told by an object that no other object names, whatever the index says."""
    found = objects(world)
    named = {(item["id"], item["version"]) for memory in found for item in memory.get("consolidated_from", ())}
    visible = {memory["content"] for memory in found if (memory["id"], memory["version"]) not in named}
    assert visible == set(FACTS), where


def check_it_ends_well(work: Work, world: World, where: str) -> None:
    """Somebody else does the same again, as a schedule or a person would; then all is as it should be."""
    world.store.deliver_late()
    check_no_fact_is_lost(world, where)
    world.clock.advance(MINUTE + 1)
    memories = world.another_process().memories
    memories.sweep(NAMESPACE)
    work.do(memories)
    memories.prune_expired(NAMESPACE)
    memories.sweep(NAMESPACE)
    check_no_fact_is_lost(world, where)
    listed = world.another_process().memories.list(NAMESPACE, limit=100).memories
    assert (len(objects(world)), len(listed)) == (work.objects, work.visible), where
    states = {run.state for run in memories.consolidations(NAMESPACE) if run.merges}
    assert not states & {RunState.RUNNING, RunState.SETTLING}, where


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("work", WORKS, ids=str)
def test_a_fault_loses_nothing_and_a_repetition_finishes(work: Work, fault: Fault) -> None:
    for place in work.places():
        world = work.world()
        world.store.fail(fault, at=place)
        with suppress(AgentMemoryError):
            work.do(world.memories)
        check_no_fact_is_lost(world, f"{fault} at request {place}")
        check_it_ends_well(work, world, f"{fault} at request {place}")


@pytest.mark.parametrize("work", WORKS, ids=str)
def test_a_death_loses_nothing_and_a_repetition_finishes(work: Work) -> None:
    for place in work.places():
        world = work.world()
        die_at_request(world, at=place)
        with suppress(AgentMemoryError):
            try_to_die(lambda world=world: work.do(world.memories))  # type: ignore[misc]
        check_no_fact_is_lost(world, f"death at request {place}")
        check_it_ends_well(work, world, f"death at request {place}")


@pytest.mark.parametrize("work", WORKS, ids=str)
def test_a_process_that_sleeps_at_a_request_harms_nothing(work: Work) -> None:
    """Meanwhile somebody else does all of it, waits until the undo window is over, and settles."""
    for place in work.places():
        world = work.world()

        def others_work(world: World = world) -> None:
            memories = world.another_process().memories
            with suppress(AgentMemoryError):
                work.do(memories)
            world.clock.advance(8 * DAY)
            memories.prune_expired(NAMESPACE)

        world.store.run_before(others_work, at=place)
        with suppress(AgentMemoryError):
            work.do(world.memories)
        check_no_fact_is_lost(world, f"sleep at request {place}")
