"""Writing to and reading sessions: requests, races, lost replies."""

import pytest

from s3_agent_memory.domain.scopes import Contributor, Level, Scope
from s3_agent_memory.domain.session_codec import Digest, encode_digest
from s3_agent_memory.domain.session_keys import digest_key, window_key
from s3_agent_memory.domain.tiers import FailureMode, TierSettings
from s3_agent_memory.domain.turns import newest_within
from s3_agent_memory.errors import AccessDeniedError, BackendError, UnknownOutcomeError, ValidationError
from tests.fakes.faulty_store import Fault
from tests.unit.service.session_worlds import BOB, PLACE, SESSION, SMALL, SessionWorld

STRICT = FailureMode.STRICT
WHOLE = Scope(level=Level.SESSION, session_id="s1")
EVERYTHING = Scope(level=Level.STORE)
WRITE_ID = "1792798700000-00000000000000aa"


@pytest.fixture
def world() -> SessionWorld:
    return SessionWorld()


def verbs(world: SessionWorld) -> list[str]:
    return [request.verb for request in world.store.requests]


def test_a_write_that_evicts_nothing_costs_one_get_and_one_put_the_first_one_too(world: SessionWorld) -> None:
    for _ in range(2):
        world.store.forget_requests()
        assert world.write("hello").scheduled is False
        assert verbs(world) == ["get", "put"]


def test_a_write_that_evicts_costs_two_puts_more(world: SessionWorld) -> None:
    world.fill(5)
    world.store.forget_requests()
    assert world.write("turn5").scheduled
    assert verbs(world) == ["get", "put", "put", "put"]


def test_a_window_alone_is_one_request_and_the_digest_one_more_and_one_for_each_batch(world: SessionWorld) -> None:
    world.fill(7)
    world.digest()
    world.fill(7, start=7)
    world.store.forget_requests()
    world.parts.service._reader.read(SESSION, with_digest=lambda _: False)
    assert verbs(world) == ["get"]
    world.store.forget_requests()
    world.parts.service._reader.read(SESSION, with_digest=lambda _: True)
    assert len(world.store.requests) == 2 + (world.window.next_batch - 1 - world.window.done)


def test_the_window_keeps_its_marks_and_every_turn_has_one_place(world: SessionWorld) -> None:
    world.fill(20)
    view = world.parts.service._reader.read(SESSION, with_digest=lambda _: True)
    everything = [turn.content for turn in (*view.undigested, *view.window.turns)]
    assert everything == [f"turn{number}" for number in range(20)]
    assert sum(turn.token_count for turn in view.window.turns) <= SMALL.marks.high_tokens


def test_a_read_can_ask_for_fewer_tokens_and_gets_the_newest_turns(world: SessionWorld) -> None:
    world.fill(4)
    cost = world.window.turns[0].token_count
    found = world.parts.service._reader.read(SESSION, with_digest=lambda _: False)
    assert [turn.content for turn in found.window.turns] == world.said() == ["turn0", "turn1", "turn2", "turn3"]
    assert [turn.content for turn in newest_within(found.window.turns, 2 * cost)] == ["turn2", "turn3"]
    assert newest_within(found.window.turns, cost - 1) == ()


@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.LOST_REQUEST, Fault.REFUSED, Fault.THROTTLED])
def test_a_write_whose_swap_goes_wrong_is_there_once(world: SessionWorld, fault: Fault) -> None:
    world.write("before")
    world.store.fail(fault, verb="put", key="_windows")
    assert world.write("hello", failure_mode=STRICT).accepted
    assert world.said() == ["before", "hello"]


def test_a_swap_that_lands_late_is_recognised(world: SessionWorld) -> None:
    world.write("before")
    world.store.fail(Fault.LATE_EFFECT, verb="put", key="_windows")
    world.write("hello", failure_mode=STRICT)
    world.store.deliver_late()
    assert world.said() == ["before", "hello"]


def test_a_rival_between_read_and_swap_loses_nothing(world: SessionWorld) -> None:
    world.store.run_before(lambda: world.write("rival"), verb="put", key="_windows")
    world.write("hello")
    assert world.said() == ["rival", "hello"]


@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.LOST_REQUEST, Fault.REFUSED])
def test_a_batch_that_goes_wrong_is_written_all_the_same(world: SessionWorld, fault: Fault) -> None:
    world.fill(5)
    world.store.fail(fault, verb="put", key=".turns.json")
    assert world.write("turn5").scheduled
    assert len(world.keys(".turns.json")) == 1


def test_a_writer_that_died_before_its_batch_is_helped_by_the_next(world: SessionWorld) -> None:
    world.fill(5)
    world.store.fail(Fault.LOST_REQUEST, verb="put", key=".turns.json", times=1_000)
    receipt = world.write("turn5")
    assert (receipt.accepted, receipt.scheduled, world.window.pending is None) == (True, False, False)
    world.store._rules.clear()
    world.write("turn7")
    assert (world.window.pending, len(world.keys(".turns.json"))) == (None, 1)


def test_a_write_comes_again_under_its_id_and_is_not_made_twice(world: SessionWorld) -> None:
    for _ in range(2):
        assert world.write("hello", write_id=WRITE_ID).accepted
    assert world.said() == ["hello"]


def test_a_write_below_the_floor_is_not_made_because_nobody_knows(world: SessionWorld) -> None:
    world.write("hello", write_id="1792798900000-" + "0" * 16)
    world.parts.service._eraser.erase(SESSION, EVERYTHING)
    with pytest.raises(UnknownOutcomeError, match="nobody remembers"):
        world.write("hello", write_id=WRITE_ID, failure_mode=STRICT)
    assert world.write("again").accepted


def test_a_write_without_time_changes_nothing(world: SessionWorld) -> None:
    world.store.run_before(lambda: world.clock.advance(60), verb="get", key="_windows")
    receipt = world.write("hello")
    assert (receipt.accepted, receipt.degraded, world.said()) == (False, True, [])


def test_a_storage_that_fails_is_told_softly_or_strictly(world: SessionWorld) -> None:
    world.store.fail(Fault.LOST_REQUEST, verb="get", key="_windows", times=2)
    receipt = world.write("hello")
    assert (receipt.accepted, receipt.scheduled, receipt.degraded) == (False, False, True)
    with pytest.raises(BackendError):
        world.write("hello", failure_mode=STRICT)


def test_who_may_join_no_session_of_others_is_refused(world: SessionWorld) -> None:
    world.write("hello")
    with pytest.raises(AccessDeniedError, match="another principal"):
        world.write("let me in", by=BOB, joins_as="bob")
    assert world.write("me again", joins_as="alice").accepted


def test_a_session_without_users_is_not_joined_either(world: SessionWorld) -> None:
    world.write("hello", by=Contributor(agent_client_id="chef"))
    with pytest.raises(AccessDeniedError):
        world.write("let me in", by=BOB, joins_as="bob")


def test_a_reader_who_names_a_principal_sees_only_sessions_of_it(world: SessionWorld) -> None:
    world.write("hello")
    assert (world.said(principal="alice"), world.said(principal="bob")) == (["hello"], [])


def test_turns_without_a_session_go_to_long_term_memory_at_once(world: SessionWorld) -> None:
    assert world.write("Alice likes tea", session_id=None).scheduled
    assert world.write("as it is", session_id=None, infer=False).scheduled
    world.sweep()
    assert world.facts() == ["Alice likes tea", "as it is"]


def test_turns_that_would_be_kept_nowhere_are_refused() -> None:
    world = SessionWorld(TierSettings(long_term_enabled=False))
    with pytest.raises(ValidationError, match="kept nowhere"):
        world.write("hello", session_id=None)


def test_a_write_has_turns(world: SessionWorld) -> None:
    with pytest.raises(ValidationError, match="1 to 2000 turns"):
        world.write()


def test_a_window_that_cannot_be_read_is_told(world: SessionWorld) -> None:
    world.write("hello")
    world.store.inner.put(window_key(SESSION), b"{}")
    found = world.parts.service.recall(PLACE, WHOLE, "tea")
    assert (found.window, found.summary, found.facts, found.degraded) == ((), "", (), True)


def test_without_the_digest_the_window_is_served_and_the_answer_says_so(world: SessionWorld) -> None:
    world.fill(7)
    world.digest()
    world.store.fail(Fault.LOST_REQUEST, verb="get", key=".digest.json", times=100)
    found = world.parts.service.recall(PLACE, WHOLE, "tea")
    assert (found.summary, found.degraded, len(found.window or ()) > 0) == ("", True, True)


def test_a_digest_that_lost_is_never_served(world: SessionWorld) -> None:
    world.fill(7)
    world.digest()
    key = digest_key(SESSION, 1, world.window.done)
    loser = Digest(number=world.window.done, nonce="loser", previous=None, text="nonsense")
    world.store.inner.put(key, encode_digest(loser))
    found = world.parts.service.recall(PLACE, WHOLE, "tea")
    assert (found.summary, found.degraded) == ("", True)


def test_a_write_that_meets_an_erasure_is_certainly_not_made(world: SessionWorld) -> None:
    world.write("before")
    world.store.run_before(lambda: world.parts.service._eraser.erase(SESSION, EVERYTHING), verb="put", key="_windows")
    receipt = world.write("meanwhile")
    assert (receipt.accepted, world.said()) == (False, [])


def test_a_write_that_may_be_erased_already_is_not_made_again(world: SessionWorld) -> None:
    world.write("before")
    world.store.fail(Fault.LOST_REPLY, verb="put", key="_windows")
    world.store.run_before(
        lambda: world.parts.service._eraser.erase(SESSION, EVERYTHING), verb="get", key="_windows", skip=1
    )
    with pytest.raises(UnknownOutcomeError):
        world.write("meanwhile", failure_mode=STRICT)
    assert world.said() == []


def test_an_id_of_the_future_is_refused_because_it_would_shut_out_all_others(world: SessionWorld) -> None:
    with pytest.raises(ValidationError, match="write_id"):
        world.write("hello", write_id="9" * 13 + "-" + "0" * 16)
