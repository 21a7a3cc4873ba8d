"""The digester: batches in order and once, whatever events and digesters do."""

import json

import pytest

from s3_agent_memory.domain.scopes import Level, Scope
from s3_agent_memory.domain.session_codec import Fact
from s3_agent_memory.domain.session_keys import derived_id, unnamed_session_of
from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.domain.turns import ExtractedMemory
from s3_agent_memory.service.conversations.digest_worker import RESERVE_MS
from s3_agent_memory.service.sessions.derived_memories import BatchOrigin
from tests.fakes.faulty_store import Fault
from tests.unit.service.session_worlds import ALICE, BOB, PLACE, SESSION, SessionWorld, plenty


class DiedError(Exception):
    """A process that ends in the middle."""


@pytest.fixture
def world() -> SessionWorld:
    made = SessionWorld()
    made.fill(20)
    return made


def test_every_turn_that_left_becomes_one_memory(world: SessionWorld) -> None:
    world.digest()
    assert sorted([*world.facts(), *world.said()]) == sorted(f"turn{number}" for number in range(20))


def test_repeated_events_change_nothing(world: SessionWorld) -> None:
    first = world.digest()
    before = world.facts()
    again = world.digest()
    assert (first.batches > 0, again.batches, again.memories, world.facts()) == (True, 0, 0, before)


def test_a_digest_goes_on_from_the_one_before(world: SessionWorld) -> None:
    world.digest()
    assert [f"user: turn{number}" in world.summary() for number in range(6)] == [True] * 6


def test_what_is_done_leaves_no_batch_and_the_latest_digests_alone(world: SessionWorld) -> None:
    world.digest()
    assert (world.keys(".turns.json"), world.keys(".facts.json")) == ([], [])
    assert len(world.keys(".digest.json")) == world.settings.digest_retention


def test_a_memory_tells_where_it_comes_from(world: SessionWorld) -> None:
    world.digest()
    found = world.parts.service.list(PLACE, Scope(level=Level.STORE)).facts or ()
    memory = next(fact.memory for fact in found if fact.memory.content == "turn0")
    attribution = memory.attribution
    assert (attribution.user_id, attribution.agent_id, attribution.session_id, attribution.author) == (
        "alice",
        "chef",
        "s1",
        "user",
    )
    assert (memory.source, memory.metadata, memory.kind) == ("conversation", {"epoch": 1, "batch": 1}, "episodic")
    assert memory.created_at == world.parts.worker._memories._truth.live(PLACE, memory.id).created_at  # type: ignore[union-attr]


def test_without_a_rolling_summary_turns_only_leave_the_window() -> None:
    world = SessionWorld(TierSettings(token_budget=40, compaction_target=15, rolling_summary=False))
    world.fill(20)
    world.digest()
    assert (world.summary(), len(world.facts())) == ("", 20 - len(world.said()))


def test_turns_that_are_not_to_be_inferred_reach_the_digest_alone() -> None:
    world = SessionWorld()
    world.fill(20, infer=False)
    world.digest()
    assert (world.facts(), "turn0" in world.summary()) == ([], True)


def test_a_turn_that_nobody_digested_yet_is_in_the_summary_already(world: SessionWorld) -> None:
    assert "user: turn0" in world.summary()


def test_the_turns_of_two_users_become_memories_of_each(world: SessionWorld) -> None:
    world.fill(10, by=BOB, start=100)
    world.digest()
    mine = world.parts.service.list(PLACE, Scope(level=Level.USER, principal="bob")).facts or ()
    assert {fact.memory.content[:5] for fact in mine} == {"turn1"}
    assert {fact.memory.attribution.user_id for fact in mine} == {"bob"}


@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.LOST_REQUEST, Fault.REFUSED, Fault.THROTTLED])
@pytest.mark.parametrize("key", [".digest.json", ".facts.json", "_windows", "episodic/", "_ids/", "_index/log"])
def test_a_digester_that_meets_a_fault_loses_and_doubles_nothing(world: SessionWorld, fault: Fault, key: str) -> None:
    world.store.fail(fault, verb="put", key=key)
    world.digest()
    world.digest()
    assert sorted([*world.facts(), *world.said()]) == sorted(f"turn{number}" for number in range(20))


@pytest.mark.parametrize("key", [".digest.json", ".facts.json", "_windows", "episodic/"])
def test_a_digester_that_dies_is_finished_by_another(world: SessionWorld, key: str) -> None:
    def die() -> None:
        raise DiedError

    world.store.run_before(die, verb="put", key=key, skip=1)
    with pytest.raises(DiedError):
        world.digest()
    world.digest()
    assert sorted([*world.facts(), *world.said()]) == sorted(f"turn{number}" for number in range(20))


def test_a_second_digester_in_the_middle_changes_nothing(world: SessionWorld) -> None:
    for key in (".digest.json", ".facts.json", "_windows", "_index/log"):
        world.store.run_before(world.digest, verb="put", key=key)
    world.digest()
    assert sorted([*world.facts(), *world.said()]) == sorted(f"turn{number}" for number in range(20))


def test_a_memory_that_was_forgotten_does_not_come_back(world: SessionWorld) -> None:
    world.digest()
    world.memory_parts.memories.forget("team", derived_id(SESSION, 1, 1, 0))
    late = BatchOrigin(session=SESSION, session_id="s1", epoch=1, number=1)
    fact = Fact(memory=ExtractedMemory(content="turn0"), contributor=ALICE)
    assert (world.parts.worker._memories.make(late, [fact]), "turn0" in world.facts()) == (0, False)


def test_a_run_without_time_leaves_the_session_to_the_next(world: SessionWorld) -> None:
    outcome = world.parts.worker.run([SESSION], lambda: RESERVE_MS - 1)
    assert (outcome.batches, outcome.failed) == (0, (SESSION,))


def test_a_session_that_fails_keeps_no_other_from_being_digested(world: SessionWorld) -> None:
    broken = unnamed_session_of(PLACE, ALICE)
    world.store.inner.put(f"sessions/team/_windows/{broken.name}.json", b"broken")
    outcome = world.parts.worker.run([broken, SESSION], plenty)
    assert (outcome.failed, outcome.batches > 0) == ((broken,), True)


def test_the_sweep_digests_what_no_event_named(world: SessionWorld) -> None:
    world.sweep()
    assert sorted([*world.facts(), *world.said()]) == sorted(f"turn{number}" for number in range(20))


def test_the_sweep_removes_what_came_back_from_the_dead(world: SessionWorld) -> None:
    world.digest()
    prefix = f"sessions/team/_batches/{SESSION.name}/"
    for name in (f"{1:020d}/{1:020d}.turns.json", f"{1:020d}/{1:020d}.facts.json", f"{1:020d}/{1:020d}.digest.json"):
        world.store.inner.put(prefix + name, b"late")
    world.sweep()
    assert len(world.keys("_batches")) == world.settings.digest_retention


def test_the_index_of_who_wrote_where_is_a_cache(world: SessionWorld) -> None:
    world.sweep()
    key = "sessions/team/_attribution/index.json"
    stored = world.store.inner.get(key, size_max=10**6)
    assert stored is not None
    assert list(json.loads(stored.body)["sessions"]) == [SESSION.name]
    world.store.inner.put(key, b"nonsense")
    assert world.parts.service.forget(PLACE, Scope(level=Level.USER, principal="alice"))
    assert world.holds("turn1") == []
