"""The fold: level-triggered, repeatable, committed once, and careful with the log behind it."""

import pytest

from s3_agent_memory.domain.keys import Namespace, TruthKey
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import AgentMemoryError, UnknownOutcomeError
from s3_agent_memory.index.manifest import FoldRef
from s3_agent_memory.service.grace import LOG_GRACE_MS, UPLOAD_AGE_MAX_MS
from s3_agent_memory.service.upkeep.indexer import RESERVE_MS
from tests.fakes.clock import HOUR
from tests.fakes.faulty_store import Fault
from tests.unit.service.scenarios import die_at_request, try_to_die
from tests.unit.service.worlds import NAMESPACE, PLACE, World, contents

GRACE_SECONDS = LOG_GRACE_MS / 1_000


def remember(world: World, *texts: str) -> None:
    for text in texts:
        world.memories.remember(NAMESPACE, text, id=text.replace(" ", "-"))


# --- hints ------------------------------------------------------------------------------------------------------------


def test_a_fold_takes_in_every_log_entry(world: World) -> None:
    remember(world, "one", "two", "three")
    report = world.fold()
    assert (report.rows, report.entries_folded) == (3, 3)
    assert sorted(contents(world.memories, "", consistency="eventual")) == ["one", "three", "two"]


def test_a_second_fold_finds_nothing(world: World) -> None:
    remember(world, "one")
    world.fold()
    assert world.fold().entries_folded == 0


def test_a_fold_of_nothing_leaves_the_store_alone(world: World) -> None:
    world.fold(parts=world.parts)
    assert not any(request.is_write for request in world.store.requests)


def test_several_entries_of_one_memory_become_one_row(world: World) -> None:
    remember(world, "one")
    for number in range(5):
        world.memories.update(NAMESPACE, "one", content=f"one {number}")
    report = world.fold()
    assert (report.rows, report.entries_folded) == (1, 6)


def test_repeated_events_change_nothing(world: World) -> None:
    remember(world, "one", "two")
    world.memories.forget(NAMESPACE, "two")
    world.fold()
    digest = world.snapshot.digest()
    for _ in range(3):
        world.fold("one", "two")
    assert world.snapshot.digest() == digest
    assert world.seen().truth == ("one",)


def test_a_late_event_finds_the_present_state(world: World) -> None:
    remember(world, "one")
    world.memories.update(NAMESPACE, "one", content="later")
    world.fold("one")
    row = world.snapshot.find("one")
    assert row is not None
    assert row.version == 2


def test_an_event_of_what_never_was_is_no_row(world: World) -> None:
    assert world.fold("never").rows == 0


def test_an_event_before_its_log_entry_is_enough(world: World) -> None:
    die_at_request(world, verb="put", key="/_index/log/")
    try_to_die(lambda: remember(world, "one"))
    world.fold("one")
    assert world.seen().listed == ("one",)


def test_a_fold_deletes_the_dead_object_it_meets(world: World) -> None:
    remember(world, "one")
    die_at_request(world, verb="delete", key="/semantic/")
    try_to_die(lambda: world.memories.forget(NAMESPACE, "one"))
    world.fold("one")
    assert world.store.keys_below(f"memory/{NAMESPACE}/semantic/") == []


def test_a_corrupt_object_is_reported_and_the_others_are_folded(world: World) -> None:
    remember(world, "one", "two")
    key = f"memory/{NAMESPACE}/semantic/one.json"
    world.store.inner.put(key, b"{")
    report = world.fold()
    assert (report.rows, report.corrupt_keys, report.unreadable_ids) == (1, (key,), ("one",))


def test_the_indexer_reports_what_it_could_not_read(world: World) -> None:
    remember(world, "one", "two")
    world.store.inner.put(f"memory/{NAMESPACE}/semantic/one.json", b"{")
    changes = [TruthKey(PLACE, Kind.SEMANTIC, memory_id) for memory_id in ("one", "two")]
    outcome = world.another_process().indexer.run(changes)
    assert (outcome.indexed, outcome.failed) == (1, (changes[0],))


def test_the_indexer_tells_how_far_the_index_is_behind(world: World) -> None:
    remember(world, "one")
    world.clock.advance(90)
    remember(world, "two")
    outcome = world.another_process().indexer.run([TruthKey(PLACE, Kind.SEMANTIC, "two")])
    assert (outcome.log_length, outcome.lag_ms) == (2, 90_000)


def test_an_index_without_a_log_is_not_behind(world: World) -> None:
    remember(world, "one")
    world.fold()
    world.clock.advance(90)
    outcome = world.another_process().indexer.run([TruthKey(PLACE, Kind.SEMANTIC, "one")])
    assert (outcome.log_length, outcome.lag_ms) == (0, 0)


def test_the_indexer_goes_on_where_one_namespace_fails(world: World) -> None:
    remember(world, "one")
    world.memories.remember("users/bob", "bob's", id="bobs")
    world.store.fail(Fault.LOST_REQUEST, verb="get", key="users/alice/_index/HEAD")
    alice, bob = (
        TruthKey(PLACE, Kind.SEMANTIC, "one"),
        TruthKey(Namespace(("users", "bob")), Kind.SEMANTIC, "bobs"),
    )
    outcome = world.parts.indexer.run([alice, bob])
    assert (outcome.indexed, outcome.failed) == (1, (alice,))


def test_what_the_indexer_has_no_time_for_comes_again(world: World) -> None:
    remember(world, "one")
    change = TruthKey(PLACE, Kind.SEMANTIC, "one")
    assert world.parts.indexer.run([change], lambda: RESERVE_MS - 1).failed == (change,)
    assert world.parts.indexer.run([change], lambda: RESERVE_MS).failed == ()


# --- the log behind it ------------------------------------------------------------------------------------------------


def test_a_fold_does_not_stamp_itself(world: World) -> None:
    remember(world, "one")
    world.fold()
    assert [fold.stamped_ms for fold in world.manifest.folds] == [None]


def test_a_later_commit_stamps_the_fold_it_sees(world: World) -> None:
    remember(world, "one")
    world.fold()
    world.clock.advance(HOUR)
    world.fold()
    assert [fold.stamped_ms for fold in world.manifest.folds] == [world.clock.now_us() // 1_000]


def test_a_fold_that_lost_its_swap_stamps_only_what_was_there(world: World) -> None:
    remember(world, "one")
    rival = world.another_process()
    world.store.run_before(lambda: world.fold(parts=rival), verb="put", key="/HEAD")
    world.fold(parts=world.parts)
    stamps = {fold.segment_id: fold.stamped_ms for fold in world.manifest.folds}
    assert sorted(stamps.values(), key=str) == [world.clock.now_us() // 1_000, None]
    assert world.manifest.folds[-1] == FoldRef(world.manifest.segments[-1].id, None)


@pytest.mark.parametrize(("waited_seconds", "is_deleted"), [(GRACE_SECONDS, False), (GRACE_SECONDS + 0.001, True)])
def test_log_entries_outlive_their_grace_after_the_stamp(world: World, waited_seconds: float, is_deleted: bool) -> None:
    remember(world, "one")
    world.fold()
    world.clock.advance(HOUR)
    world.fold()
    world.clock.advance(waited_seconds)
    world.fold()
    assert (world.index_files("log") == []) is is_deleted
    assert (world.manifest.folds == ()) is is_deleted


def test_without_a_later_commit_the_log_stays(world: World) -> None:
    remember(world, "one")
    world.fold()
    world.clock.advance(10 * HOUR)
    assert len(world.index_files("log")) == 1


def test_a_clean_up_that_died_is_finished_by_the_next(world: World) -> None:
    remember(world, "one", "two")
    world.fold()
    world.fold()
    world.clock.advance(GRACE_SECONDS + 1)
    die_at_request(world, verb="put", key="/HEAD")
    try_to_die(lambda: world.fold(parts=world.parts))
    assert world.index_files("log") == []
    world.fold()
    assert world.manifest.folds == ()
    assert world.seen().listed == ("one", "two")


# --- the commit -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_fold_with_a_fault_anywhere_loses_nothing_and_commits_once(fault: Fault, is_first: bool) -> None:
    for place in range(30):
        world = World()
        remember(world, "one")
        if not is_first:
            world.fold()
            remember(world, "two")
        world.store.forget_requests()
        world.store.fail(fault, at=place)
        try:
            world.fold(parts=world.parts)
        except AgentMemoryError:
            world.fold()
        world.store.deliver_late()
        seen = world.seen()
        assert seen.agrees, f"{fault} at request {place}: {seen}"
        assert len(world.manifest.segments) <= 1 + (not is_first), f"{fault} at request {place}"
        if place >= len(world.store.requests):
            return


def test_two_folds_of_the_same_entries_are_harmless(world: World) -> None:
    remember(world, "one", "two")
    rival = world.another_process()
    world.store.run_before(lambda: world.fold(parts=rival), verb="put", key="/_index/segments/")
    world.fold(parts=world.parts)
    assert len(world.manifest.segments) == 2
    assert world.seen().listed == ("one", "two")


def test_folds_that_cross_lose_nothing(world: World) -> None:
    remember(world, "one")
    rival = world.another_process()

    def rival_writes_and_folds() -> None:
        rival.memories.remember(NAMESPACE, "two")
        rival.memories.update(NAMESPACE, "one", content="one again")
        world.fold(parts=rival)

    world.store.run_before(rival_writes_and_folds, verb="put", key="/HEAD")
    world.fold(parts=world.parts)
    assert world.seen().listed == ("one again", "two")
    world.clean_up_log()
    assert world.seen().listed == ("one again", "two")


def test_a_fold_abandons_an_upload_that_could_be_collected(world: World) -> None:
    remember(world, "one")
    world.store.run_before(lambda: world.clock.advance(UPLOAD_AGE_MAX_MS / 1_000 + 1), verb="get", key="/HEAD", skip=1)
    assert world.fold(parts=world.parts).entries_folded == 0
    assert world.manifest.segments == ()
    assert world.seen().listed == ("one",)


def test_a_swap_that_was_in_doubt_for_too_long_is_not_tried_again(world: World) -> None:
    # It may have landed, been replaced and been collected since: to commit its segment again would name a lost file.
    remember(world, "one")
    world.store.fail(Fault.LOST_REQUEST, verb="put", key="/HEAD")
    world.store.run_before(lambda: world.clock.advance(HOUR), verb="get", key="/HEAD", skip=3)
    with pytest.raises(UnknownOutcomeError):
        world.fold(parts=world.parts)
    assert world.seen().listed == ("one",)


def test_a_namespace_is_marked_before_its_first_manifest(world: World) -> None:
    remember(world, "one")
    world.fold(parts=world.parts)
    puts = [request.key for request in world.store.requests if request.verb == "put"]
    assert puts.index("memory/_namespaces/users~alice") < puts.index(f"memory/{NAMESPACE}/_index/HEAD")


def test_a_marker_is_written_once(world: World) -> None:
    for number in range(3):
        remember(world, f"text {number}")
        world.fold(parts=world.parts)
    puts = [request.key for request in world.store.requests if request.verb == "put"]
    assert puts.count("memory/_namespaces/users~alice") == 1
