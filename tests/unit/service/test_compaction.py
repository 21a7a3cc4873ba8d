"""Merging segments: nothing lost, abandoned when inputs are gone, deletions kept as long as they are needed."""

from collections.abc import Iterable

import pytest

from s3_agent_memory.errors import AgentMemoryError
from s3_agent_memory.index.merge_policy import FAN_OUT
from s3_agent_memory.service.grace import DELETION_AGE_MS, UPLOAD_AGE_MAX_MS
from tests.fakes.clock import MINUTE
from tests.fakes.faulty_store import Fault
from tests.unit.service.worlds import NAMESPACE, PLACE, World

DELETION_SECONDS = DELETION_AGE_MS / 1_000


def fold_one_by_one(world: World, memory_ids: Iterable[str]) -> None:
    """Make one segment for each id, with nothing left in the log."""
    for memory_id in memory_ids:
        world.memories.remember(NAMESPACE, f"text of {memory_id}", id=memory_id)
        world.fold()
    world.clean_up_log()


def eight_segments(world: World) -> World:
    fold_one_by_one(world, [f"id{number}" for number in range(FAN_OUT)])
    return world


def test_a_full_tier_becomes_one_segment_with_the_same_rows(world: World) -> None:
    eight_segments(world)
    digest, seen = world.snapshot.digest(), world.seen()
    assert world.compact() == FAN_OUT
    assert (world.snapshot.digest(), world.seen()) == (digest, seen)
    assert len(world.manifest.segments) == 1


def test_replaced_segments_go_to_the_trash(world: World) -> None:
    eight_segments(world)
    replaced = world.manifest.segment_ids
    world.compact()
    assert {item.file_id for item in world.manifest.trash} == replaced


def test_there_is_nothing_to_merge_below_a_full_tier(world: World) -> None:
    fold_one_by_one(world, ["id0", "id1"])
    assert world.compact() == 0


def test_segments_with_log_entries_are_not_merged(world: World) -> None:
    for number in range(FAN_OUT):
        world.memories.remember(NAMESPACE, f"text {number}")
        world.fold()
    assert world.compact() == 0


def test_a_merge_whose_inputs_were_replaced_is_abandoned(world: World) -> None:
    eight_segments(world)
    seen = world.seen()
    rival = world.another_process().memories
    world.store.run_before(lambda: rival.reindex(NAMESPACE), verb="put", key="/HEAD")
    assert world.compact(parts=world.parts) == 0
    assert world.seen() == seen
    assert len(world.manifest.segments) == 1


def test_of_two_merges_of_the_same_inputs_one_counts(world: World) -> None:
    eight_segments(world)
    seen = world.seen()
    rival = world.another_process()
    world.store.run_before(lambda: world.compact(parts=rival), verb="put", key="/_index/segments/")
    assert world.compact(parts=world.parts) == 0
    assert (world.seen(), len(world.manifest.segments)) == (seen, 1)


def test_a_fold_during_a_merge_is_kept(world: World) -> None:
    eight_segments(world)
    rival = world.another_process()

    def write_and_fold() -> None:
        rival.memories.update(NAMESPACE, "id3", content="changed")
        rival.memories.forget(NAMESPACE, "id4")
        world.fold(parts=rival)

    world.store.run_before(write_and_fold, verb="put", key="/HEAD")
    assert world.compact(parts=world.parts) == FAN_OUT
    seen = world.seen()
    assert seen.agrees
    assert ("changed" in seen.truth, "text of id4" in seen.truth) == (True, False)


def test_a_merge_abandons_an_upload_that_could_be_collected(world: World) -> None:
    eight_segments(world)
    world.store.run_before(lambda: world.clock.advance(UPLOAD_AGE_MAX_MS / 1_000 + 1), verb="get", key="/HEAD", skip=1)
    assert world.compact(parts=world.parts) == 0
    assert len(world.manifest.segments) == FAN_OUT


@pytest.mark.parametrize("fault", Fault)
def test_a_merge_with_a_fault_anywhere_loses_nothing(fault: Fault) -> None:
    for place in range(30):
        world = eight_segments(World())
        seen, digest = world.seen(), world.snapshot.digest()
        world.store.forget_requests()
        world.store.fail(fault, at=place)
        try:
            world.compact(parts=world.parts)
        except AgentMemoryError:
            world.compact()
        world.store.deliver_late()
        assert (world.seen(), world.snapshot.digest()) == (seen, digest), f"{fault} at request {place}"
        if place >= len(world.store.requests):
            return


# --- deletion rows ----------------------------------------------------------------------------------------------------


def segments_with_deletion(world: World) -> None:
    """Make eight segments; the last deletes the memory of the first."""
    fold_one_by_one(world, [f"id{number}" for number in range(FAN_OUT - 1)])
    world.memories.forget(NAMESPACE, "id0")
    world.clean_up_log()


def test_a_young_deletion_stays_in_the_index(world: World) -> None:
    segments_with_deletion(world)
    world.clock.advance(DELETION_SECONDS - MINUTE * 10)
    world.compact()
    assert (row := world.snapshot.find("id0")) is not None
    assert row.is_deleted


def test_an_old_deletion_leaves_the_index(world: World) -> None:
    segments_with_deletion(world)
    world.clock.advance(DELETION_SECONDS + 1)
    assert world.compact() == FAN_OUT
    assert world.snapshot.find("id0") is None


def test_an_old_deletion_stays_while_another_segment_knows_the_id(world: World) -> None:
    segments_with_deletion(world)
    world.clock.advance(DELETION_SECONDS + 1)
    world.memories.forget(NAMESPACE, "id0")  # Forgetting again logs again; this fold is not cleaned up.
    world.fold()
    assert world.compact() == FAN_OUT
    merged = next(item for item in world.manifest.segments if item.row_count > 1)
    (segment,) = world.another_process().services.index.segments(PLACE, [merged.id])
    assert segment.find("id0") is not None


def test_an_old_deletion_stays_while_the_log_knows_the_id(world: World) -> None:
    segments_with_deletion(world)
    world.clock.advance(DELETION_SECONDS + 1)
    world.memories.forget(NAMESPACE, "id0")
    assert world.compact() == FAN_OUT
    (merged,) = world.manifest.segments
    (segment,) = world.another_process().services.index.segments(PLACE, [merged.id])
    assert segment.find("id0") is not None


def test_a_forgotten_id_stays_forgotten_after_its_row_is_gone(world: World) -> None:
    segments_with_deletion(world)
    world.clock.advance(DELETION_SECONDS + 1)
    world.compact()
    report = world.another_process().memories.sweep(NAMESPACE)
    assert report.repaired == 0
    assert "text of id0" not in world.seen().listed
