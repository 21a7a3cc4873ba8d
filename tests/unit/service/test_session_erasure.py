"""Erasing: what goes, what stays, and that nothing comes back."""

import pytest

from s3_agent_memory.domain.memory import Attribution
from s3_agent_memory.domain.scopes import Contributor, Level, Scope
from s3_agent_memory.domain.session_keys import window_key
from s3_agent_memory.domain.tiers import FailureMode
from s3_agent_memory.errors import BackendError
from tests.fakes.faulty_store import Fault
from tests.unit.service.session_worlds import ALICE, BOB, PLACE, SESSION, SessionWorld

MINE = Scope(level=Level.USER, principal="alice")
WHOLE = Scope(level=Level.SESSION, session_id="s1")


@pytest.fixture
def world() -> SessionWorld:
    """A session of two users, of which a part is digested, a part is not, and a part is in the window."""
    made = SessionWorld()
    for number in range(20):
        made.write(f"mine{number}", by=ALICE)
        made.write(f"theirs{number}", by=BOB)
        if number == 9:
            made.digest()
    return made


def theirs() -> list[str]:
    return sorted(f"theirs{number}" for number in range(20))


def test_erasing_a_user_leaves_not_one_byte_of_its_text(world: SessionWorld) -> None:
    assert world.parts.service.forget(PLACE, MINE)
    assert (world.holds("mine"), world.holds("alice")) == ([], [])


def test_erasing_a_user_leaves_every_turn_of_others_once(world: SessionWorld) -> None:
    world.parts.service.forget(PLACE, MINE)
    world.sweep()
    assert sorted([*world.facts(), *world.said()]) == theirs()


def test_erasing_a_session_leaves_nothing_of_it_and_all_of_others(world: SessionWorld) -> None:
    world.write("elsewhere", session_id="s2")
    assert world.parts.service.forget(PLACE, WHOLE)
    assert (world.holds("mine"), world.holds("theirs"), world.said("s2")) == ([], [], ["elsewhere"])


def test_erasing_the_store_leaves_no_text_at_all(world: SessionWorld) -> None:
    world.write("unnamed", session_id=None)
    world.memory_parts.memories.remember("team", "plain fact")
    assert world.parts.service.forget(PLACE, Scope(level=Level.STORE))
    assert [world.holds(text) for text in ("mine", "theirs", "unnamed", "plain")] == [[], [], [], []]


def test_turns_outside_of_sessions_are_erased_with_their_user(world: SessionWorld) -> None:
    world.write("secret", session_id=None)
    assert world.parts.service.forget(PLACE, MINE)
    assert world.holds("secret") == []


def test_an_agent_for_a_user_is_erased_without_its_other_users(world: SessionWorld) -> None:
    world.parts.service.forget(PLACE, Scope(level=Level.AGENT, agent_client_id="chef", principal="alice"))
    world.sweep()
    assert (world.holds("mine"), sorted([*world.facts(), *world.said()])) == ([], theirs())


@pytest.mark.parametrize(
    "scope",
    [
        Scope(level=Level.USER, principal="carol"),
        Scope(level=Level.AGENT, agent_client_id="chef", principal="carol"),
        Scope(level=Level.SESSION, session_id="s2"),
        Scope(level=Level.SESSION, session_id="s1", principal="carol"),
    ],
)
def test_a_scope_without_anything_erases_nothing(world: SessionWorld, scope: Scope) -> None:
    before = (world.facts(), world.said(), world.summary())
    assert world.parts.service.forget(PLACE, scope)
    assert (world.facts(), world.said(), world.summary()) == before


def test_erasing_twice_is_the_same_as_once(world: SessionWorld) -> None:
    assert [world.parts.service.forget(PLACE, MINE) for _ in range(2)] == [True, True]


def test_a_session_goes_on_after_it_was_erased(world: SessionWorld) -> None:
    world.parts.service.forget(PLACE, WHOLE)
    world.fill(12)
    world.digest()
    assert sorted([*world.facts(), *world.said()]) == sorted(f"turn{number}" for number in range(12))


def test_a_memory_that_expired_is_erased_as_well(world: SessionWorld) -> None:
    world.memory_parts.memories.remember("team", "mineral", ttl=1, attribution=Attribution(user_id="alice"))
    world.clock.advance(60)
    world.parts.service.forget(PLACE, MINE)
    assert world.holds("mineral") == []


@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.LOST_REQUEST, Fault.REFUSED, Fault.THROTTLED])
@pytest.mark.parametrize("where", [("put", "_windows"), ("put", "_tombstones"), ("delete", "episodic"), ("put", "log")])
def test_an_erasure_that_meets_a_fault_is_complete(world: SessionWorld, fault: Fault, where: tuple[str, str]) -> None:
    world.store.fail(fault, verb=where[0], key=where[1])
    if not world.parts.service.forget(PLACE, MINE):
        assert world.parts.service.forget(PLACE, MINE)
    assert world.holds("mine") == []


class DiedError(Exception):
    """A process that ends in the middle."""


@pytest.mark.parametrize("skip", [0, 1, 5])
@pytest.mark.parametrize("where", [("put", "_windows"), ("put", "_tombstones"), ("delete", "_batches"), ("put", "log")])
def test_an_erasure_that_died_is_finished_by_the_sweep(world: SessionWorld, where: tuple[str, str], skip: int) -> None:
    def die() -> None:
        raise DiedError

    world.store.run_before(die, verb=where[0], key=where[1], skip=skip)
    has_died = False
    try:
        world.parts.service._eraser.erase(SESSION, MINE)
    except DiedError:
        has_died = True
    has_begun = world.window.epoch > 1
    world.sweep()
    assert has_died or world.holds("mine") == []
    assert (world.holds("mine") == []) == has_begun


def test_a_digester_in_the_middle_of_its_work_brings_nothing_back(world: SessionWorld) -> None:
    for skip in (0, 2):
        world.store.run_before(
            lambda: world.parts.service._eraser.erase(SESSION, MINE), verb="put", key="episodic", skip=skip
        )
    world.digest()
    world.parts.service.forget(PLACE, MINE)
    world.sweep()
    world.memory_parts.memories.sweep("team")
    assert (world.holds("mine"), sorted([*world.facts(), *world.said()])) == ([], theirs())


def test_a_failure_is_told_softly_or_strictly(world: SessionWorld) -> None:
    world.store.fail(Fault.LOST_REQUEST, verb="get", key="_windows", times=2)
    assert world.parts.service.forget(PLACE, WHOLE) is False
    with pytest.raises(BackendError):
        world.parts.service.forget(PLACE, WHOLE, failure_mode=FailureMode.STRICT)


def test_the_window_itself_stays_so_that_nothing_late_can_begin_anew(world: SessionWorld) -> None:
    world.parts.service.forget(PLACE, WHOLE)
    assert world.store.inner.get(window_key(SESSION), size_max=10**6) is not None
    assert (world.window.epoch, world.window.contributors, world.window.floor > "") == (2, (), True)


def test_who_was_erased_may_be_followed_by_others(world: SessionWorld) -> None:
    world.parts.service.forget(PLACE, WHOLE)
    carol = Contributor(principal="carol")
    assert world.write("hello", by=carol, joins_as="carol").accepted
    assert world.said(principal="carol") == ["hello"]


def test_an_erasure_without_time_says_so_and_goes_on_the_next_time(world: SessionWorld) -> None:
    world.store.run_before(lambda: world.clock.advance(60), verb="put", key="_tombstones")
    assert world.parts.service.forget(PLACE, MINE) is False
    assert world.parts.service.forget(PLACE, MINE) is True
    assert world.holds("mine") == []
