"""Garbage goes when nobody can need it any more, and not before."""

from s3_agent_memory.service.grace import ORPHAN_AGE_MS, TRASH_CROWDED_COUNT, TRASH_CROWDED_GRACE_MS, TRASH_GRACE_MS
from tests.fakes.clock import HOUR
from tests.unit.service.scenarios import die_at_request, try_to_die
from tests.unit.service.worlds import NAMESPACE, PLACE, World

TRASH_SECONDS = TRASH_GRACE_MS / 1_000
CROWDED_SECONDS = TRASH_CROWDED_GRACE_MS / 1_000
ORPHAN_SECONDS = ORPHAN_AGE_MS / 1_000


def trash_a_segment(world: World) -> str:
    """Replace the only segment and return its file name."""
    world.memories.remember(NAMESPACE, "text")
    world.clean_up_log()
    (replaced,) = world.index_files("segments")
    world.another_process().memories.reindex(NAMESPACE)
    assert world.empty_trash() == 0
    return replaced


def leave_an_orphan(world: World) -> str:
    """Let a fold die between its upload and its commit; return the file name."""
    world.memories.remember(NAMESPACE, "text")
    before = set(world.index_files("segments"))
    die_at_request(world, verb="put", key="/HEAD")
    try_to_die(lambda: world.fold(parts=world.parts))
    (orphan,) = set(world.index_files("segments")) - before
    return orphan


# --- trash ------------------------------------------------------------------------------------------------------------


def test_a_replaced_segment_stays_for_slow_readers(world: World) -> None:
    replaced = trash_a_segment(world)
    world.clock.advance(TRASH_SECONDS)
    assert world.empty_trash() == 0
    assert replaced in world.index_files("segments")


def test_a_replaced_segment_goes_after_its_grace(world: World) -> None:
    replaced = trash_a_segment(world)
    world.clock.advance(TRASH_SECONDS + 1)
    assert world.empty_trash() == 1
    assert replaced not in world.index_files("segments")
    assert world.manifest.trash == ()


def test_the_grace_begins_when_a_later_commit_sees_the_trash_however_late_the_swap_landed(world: World) -> None:
    trash_a_segment(world)
    (stamp,) = {item.stamped_ms for item in world.manifest.trash}
    world.clock.advance(1)
    world.another_process().memories.reindex(NAMESPACE)
    stamps = {item.stamped_ms for item in world.manifest.trash}
    assert stamps == {stamp, None}


def test_trash_that_names_log_entries_waits_for_their_clean_up(world: World) -> None:
    world.memories.remember(NAMESPACE, "text")
    world.fold()
    world.another_process().memories.reindex(NAMESPACE)
    assert world.empty_trash() == 0
    world.clock.advance(TRASH_SECONDS + 1)
    assert world.empty_trash() == 0
    world.clean_up_log()
    assert world.index_files("log") == []
    assert world.empty_trash() == 1


def test_much_trash_goes_sooner(world: World) -> None:
    world.memories.remember(NAMESPACE, "text")
    world.clean_up_log()
    memories = world.another_process().memories
    for _ in range(TRASH_CROWDED_COUNT + 1):
        memories.reindex(NAMESPACE)
    world.empty_trash()
    world.clock.advance(CROWDED_SECONDS + 1)
    assert world.empty_trash() == TRASH_CROWDED_COUNT + 1
    assert world.seen().agrees


def test_a_collection_that_died_is_finished_by_the_next(world: World) -> None:
    trash_a_segment(world)
    world.clock.advance(TRASH_SECONDS + 1)
    die_at_request(world, verb="put", key="/HEAD")
    try_to_die(lambda: world.parts.indexer._collector.empty_trash(PLACE))
    assert world.empty_trash() == 1
    assert world.manifest.trash == ()


# --- orphans ----------------------------------------------------------------------------------------------------------


def test_an_upload_nobody_committed_may_still_be_under_way(world: World) -> None:
    orphan = leave_an_orphan(world)
    world.clock.advance(ORPHAN_SECONDS)
    assert world.remove_orphans() == 0
    assert orphan in world.index_files("segments")


def test_an_upload_nobody_committed_goes_in_the_end(world: World) -> None:
    orphan = leave_an_orphan(world)
    world.clock.advance(ORPHAN_SECONDS + 1)
    assert world.remove_orphans() == 1
    assert orphan not in world.index_files("segments")
    assert world.seen().listed == ("text",)


def test_a_segment_in_use_is_no_orphan_at_any_age(world: World) -> None:
    world.memories.remember(NAMESPACE, "text")
    world.clean_up_log()
    world.clock.advance(10 * ORPHAN_SECONDS)
    assert world.remove_orphans() == 0
    assert world.seen().listed == ("text",)


def test_the_manifest_is_swapped_before_orphans_go(world: World) -> None:
    leave_an_orphan(world)
    version = world.manifest.version
    world.clock.advance(ORPHAN_SECONDS + 1)
    world.store.forget_requests()
    world.parts.indexer._collector.remove_orphans(PLACE)
    writes = [(request.verb, "HEAD" in request.key) for request in world.store.requests if request.is_write]
    assert writes[-2:] == [("put", True), ("delete", False)]
    assert world.manifest.version == version + 1


def test_a_committer_that_stalled_for_a_day_finds_the_fence(world: World) -> None:
    world.memories.remember(NAMESPACE, "first")
    world.clean_up_log()
    world.memories.remember(NAMESPACE, "second")

    def stall_while_others_sweep() -> None:
        world.clock.advance(ORPHAN_SECONDS + HOUR)
        world.another_process().memories.sweep(NAMESPACE)

    world.store.run_before(stall_while_others_sweep, verb="put", key="/HEAD")
    report = world.fold(parts=world.parts)
    assert report.entries_folded == 0
    assert world.seen().listed == ("first", "second")
    in_use = {f"{segment_id}.seg" for segment_id in world.manifest.segment_ids}
    assert in_use <= set(world.index_files("segments"))
