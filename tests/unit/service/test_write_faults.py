"""Every write, with every fault, at every one of its requests.

Acknowledged means visible to the next reader anywhere; refused means without effect; unknown is said only when in
doubt, and then the truth is either the old or the new state, which the sweep brings to the index.
"""

from collections.abc import Iterator
from functools import partial
from random import Random

import pytest

from s3_agent_memory.errors import AgentMemoryError, ThrottledError, UnknownOutcomeError
from tests.fakes.clock import MINUTE
from tests.fakes.faulty_store import Fault
from tests.unit.service.scenarios import FORGET, PRUNE, WRITES, Scenario, die_at_request, try_to_die
from tests.unit.service.worlds import NAMESPACE, World

# Where a fault makes a write take more requests, these are reached too.
_MORE_REQUESTS = 6
_WRITE_FAULTS = (Fault.REFUSED, Fault.THROTTLED, Fault.LOST_REQUEST, Fault.LOST_REPLY, Fault.LATE_EFFECT)
_FOR_EVER = 10**6
_SEED = 20_261_023
_PAIR_COUNT = 150


def outcome_of(scenario: Scenario, world: World) -> AgentMemoryError | None:
    """Do the write; return its error, or None if it was acknowledged."""
    try:
        scenario.write(world.memories)
    except AgentMemoryError as error:
        return error
    return None


def check(scenario: Scenario, world: World, error: AgentMemoryError | None, where: str) -> None:
    """Check what is seen after a write against what was answered."""
    where = f"{where}: answered {error!r}"
    if isinstance(error, UnknownOutcomeError):
        world.store.deliver_late()
        assert world.seen().truth in (scenario.before, scenario.after), where
        world.clock.advance(MINUTE + 1)
        world.another_process().memories.sweep(NAMESPACE)
    seen = world.seen()
    is_refused = error is not None and not isinstance(error, UnknownOutcomeError)
    assert seen.agrees if is_refused else seen.is_exact, f"{where}: {seen}"
    if error is None:
        assert seen.truth == scenario.after, where
        assert world.another_process().memories.sweep(NAMESPACE).repaired == 0, f"{where}: the log was not exact"
    elif not isinstance(error, UnknownOutcomeError):
        assert seen.truth == scenario.before, where
    world.store.deliver_late()
    assert world.seen() == seen, f"{where}: a late effect changed the state"


def places(scenario: Scenario) -> Iterator[int]:
    yield from range(scenario.request_count() + _MORE_REQUESTS)


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("scenario", WRITES, ids=str)
def test_a_write_with_one_fault_is_answered_truthfully(scenario: Scenario, fault: Fault) -> None:
    for place in places(scenario):
        world = scenario.world()
        world.store.fail(fault, at=place)
        check(scenario, world, outcome_of(scenario, world), f"{fault} at request {place}")


@pytest.mark.parametrize("scenario", WRITES, ids=str)
def test_a_write_with_two_faults_is_answered_truthfully(scenario: Scenario) -> None:
    count = scenario.request_count() + _MORE_REQUESTS
    pairs = [
        (first, fault, second, second_fault)
        for first in range(count)
        for second in range(first + 1, count)
        for fault in Fault
        for second_fault in Fault
    ]
    for first, fault, second, second_fault in Random(_SEED).sample(pairs, _PAIR_COUNT):
        world = scenario.world()
        world.store.fail(fault, at=first)
        world.store.fail(second_fault, at=second)
        error = outcome_of(scenario, world)
        check(scenario, world, error, f"seed {_SEED}: {fault} at request {first}, {second_fault} at {second}")


@pytest.mark.parametrize("fault", _WRITE_FAULTS)
@pytest.mark.parametrize("scenario", WRITES, ids=str)
def test_one_fault_of_a_conditional_write_is_overcome(scenario: Scenario, fault: Fault) -> None:
    for place in places(scenario):
        world = scenario.world()
        world.store.fail(fault, at=place)
        error = outcome_of(scenario, world)
        has_hit_a_write = place < len(world.store.requests) and world.store.requests[place].is_write
        assert error is None or not has_hit_a_write, f"{fault} at request {place}: {error!r}"


@pytest.mark.parametrize("fault", _WRITE_FAULTS)
@pytest.mark.parametrize("scenario", WRITES, ids=str)
def test_faults_that_never_end_are_given_up_and_answered_truthfully(scenario: Scenario, fault: Fault) -> None:
    for place in places(scenario):
        world = scenario.world()
        world.store.run_before(partial(world.store.fail, fault, verb="put", times=_FOR_EVER), at=place)
        error = outcome_of(scenario, world)
        world.store.deliver_late()
        assert isinstance(error, (ThrottledError, UnknownOutcomeError, type(None))), f"request {place}: {error!r}"
        assert len(world.store.requests) < 500, f"request {place}: {len(world.store.requests)} requests"
        check(scenario, world, error, f"{fault} from request {place} on")


@pytest.mark.parametrize("scenario", WRITES, ids=str)
def test_a_process_that_dies_anywhere_leaves_the_old_or_the_new_state(scenario: Scenario) -> None:
    for place in range(scenario.request_count()):
        world = scenario.world()
        die_at_request(world, at=place)
        assert not try_to_die(partial(scenario.write, world.memories)), f"request {place}"
        assert world.seen().truth in (scenario.before, scenario.after), f"request {place}: {world.seen()}"
        world.clock.advance(MINUTE + 1)
        world.another_process().memories.sweep(NAMESPACE)
        assert world.seen().is_exact, f"request {place}: {world.seen()}"


@pytest.mark.parametrize("scenario", [FORGET, PRUNE], ids=str)
def test_a_forget_after_one_that_died_anywhere_is_seen_by_every_reader(scenario: Scenario) -> None:
    for place in range(scenario.request_count()):
        world = scenario.world()
        die_at_request(world, at=place)
        try_to_die(partial(scenario.write, world.memories))
        FORGET.write(world.another_process().memories)
        assert world.seen().is_exact, f"request {place}: {world.seen()}"
        assert world.seen().truth == (), f"request {place}"
