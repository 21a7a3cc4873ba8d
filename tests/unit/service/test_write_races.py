"""Two writers of one id: whatever the order of their requests, both get an answer that is true in the end.

The rival does its whole write just before each request of the write under test in turn.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.errors import AgentMemoryError, ConflictError, ForgottenError, NotFoundError
from tests.unit.service.scenarios import (
    FORGET,
    ID,
    REMEMBER_AS,
    RESURRECT,
    RESURRECT_EXPIRED,
    UPDATE,
    UPDATE_EXPECTED,
    Scenario,
)
from tests.unit.service.worlds import NAMESPACE, Seen, World

_MORE_REQUESTS = 8

Write = Callable[[MemoryStore], object]


@dataclass(frozen=True)
class Race:
    """How one race went.

    Attributes:
        place: the request just before which the rival wrote.
        error, rival_error: what was answered; None for an acknowledgement.
    """

    place: int
    error: AgentMemoryError | None
    rival_error: AgentMemoryError | None
    seen: Seen
    version: int | None


@dataclass
class _Answer:
    """A write that waits for its moment, and then what was answered to it."""

    write: Write
    memories: MemoryStore
    error: AgentMemoryError | None = None

    def get(self) -> None:
        self.error = answer_to(self.write, self.memories)


def answer_to(write: Write, memories: MemoryStore) -> AgentMemoryError | None:
    try:
        write(memories)
    except AgentMemoryError as error:
        return error
    return None


def version_of(world: World) -> int | None:
    try:
        return world.another_process().memories.get(NAMESPACE, ID).version
    except NotFoundError:
        return None


def races(scenario: Scenario, rival: Write) -> Iterator[Race]:
    """Run the rival just before each request in turn; what is seen afterwards always agrees."""
    for place in range(scenario.request_count() + _MORE_REQUESTS):
        world = scenario.world()
        rival_answer = _Answer(rival, world.another_process().memories)
        world.store.run_before(rival_answer.get, at=place)
        error = answer_to(scenario.write, world.memories)
        if not world.store.is_used_up:
            return
        seen = world.seen()
        assert seen.is_exact, f"request {place}: {seen}"
        yield Race(place, error, rival_answer.error, seen, version_of(world))


def rival_update(memories: MemoryStore) -> None:
    memories.update(NAMESPACE, ID, metadata={"rival": True}, content="rival")


def rival_forget(memories: MemoryStore) -> None:
    memories.forget(NAMESPACE, ID)


def rival_remember(memories: MemoryStore) -> None:
    memories.remember(NAMESPACE, "rival", id=ID)


def rival_resurrect(memories: MemoryStore) -> None:
    memories.remember(NAMESPACE, "rival", id=ID, resurrect=True)


def rival_remember_other_kind(memories: MemoryStore) -> None:
    memories.remember(NAMESPACE, "rival", id=ID, kind="episodic")


def rival_remember_and_forget(memories: MemoryStore) -> None:
    rival_remember(memories)
    rival_forget(memories)


def rival_resurrect_and_forget(memories: MemoryStore) -> None:
    rival_resurrect(memories)
    rival_forget(memories)


def rival_forget_and_resurrect(memories: MemoryStore) -> None:
    rival_forget(memories)
    rival_resurrect(memories)


# --- update -----------------------------------------------------------------------------------------------------------


def test_two_updates_are_both_applied() -> None:
    for race in races(UPDATE, rival_update):
        assert (race.error, race.rival_error, race.version) == (None, None, 3), race


def test_an_update_of_an_expected_version_loses_or_was_first() -> None:
    for race in races(UPDATE_EXPECTED, rival_update):
        assert race.rival_error is None, race
        assert race.seen.truth == ("rival",), race
        expected_version = 2 if isinstance(race.error, ConflictError) else 3
        assert race.version == expected_version, race


def test_a_forget_during_an_update_wins() -> None:
    for race in races(UPDATE, rival_forget):
        assert race.rival_error is None, race
        assert race.error is None or isinstance(race.error, NotFoundError), race
        assert race.seen.truth == (), race


def test_a_resurrection_during_an_update_is_not_undone() -> None:
    for race in races(UPDATE, rival_forget_and_resurrect):
        assert race.rival_error is None, race
        assert race.seen.truth in (("rival",), ("new",)), race


# --- forget -----------------------------------------------------------------------------------------------------------


def test_a_forget_outruns_an_update() -> None:
    for race in races(FORGET, rival_update):
        assert race.error is None, race
        assert race.seen.truth == (), race


def test_two_forgets_are_both_acknowledged() -> None:
    for race in races(FORGET, rival_forget):
        assert (race.error, race.rival_error, race.seen.truth) == (None, None, ()), race


def test_a_forget_does_not_undo_a_resurrection_that_came_after_its_last_effect() -> None:
    last = None
    for race in races(FORGET, rival_forget_and_resurrect):
        assert race.error is None, race
        last = race
    assert last is not None
    assert last.seen.truth == ("rival",), last


# --- a chosen id ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rival", [rival_remember, rival_remember_other_kind])
def test_an_id_goes_to_one_writer_only(rival: Write) -> None:
    for race in races(REMEMBER_AS, rival):
        winners = [name for name, error in (("new", race.error), ("rival", race.rival_error)) if error is None]
        losers = [error for error in (race.error, race.rival_error) if error is not None]
        assert race.seen.truth == tuple(winners), race
        assert [isinstance(error, ConflictError) for error in losers] == [True], race


def test_a_forget_during_a_remember_is_final() -> None:
    for race in races(REMEMBER_AS, rival_forget):
        was_there = race.rival_error is None
        assert race.seen.truth == (() if was_there else ("new",)), race


def test_an_id_that_was_used_and_forgotten_meanwhile_is_refused() -> None:
    for race in races(REMEMBER_AS, rival_remember_and_forget):
        if race.rival_error is None:
            assert (type(race.error), race.seen.truth) == (ForgottenError, ()), race
        else:
            assert (race.error, race.seen.truth) == (None, ("new",)), race


@pytest.mark.parametrize("scenario", [RESURRECT, RESURRECT_EXPIRED], ids=str)
def test_a_resurrection_goes_past_a_forget_that_came_meanwhile(scenario: Scenario) -> None:
    for race in races(scenario, rival_resurrect_and_forget):
        assert (race.error, race.seen.truth) == (None, ("new",)), race


@pytest.mark.parametrize("scenario", [RESURRECT, RESURRECT_EXPIRED], ids=str)
def test_two_resurrections_have_one_winner(scenario: Scenario) -> None:
    for race in races(scenario, rival_resurrect):
        winners = [name for name, error in (("new", race.error), ("rival", race.rival_error)) if error is None]
        assert race.seen.truth == tuple(winners), race
        assert len(winners) == 1, race


def test_a_forget_during_a_resurrection_leaves_one_state_for_everybody() -> None:
    for race in races(RESURRECT, rival_forget):
        assert race.error is None, race
        assert race.seen.truth in ((), ("new",)), race
