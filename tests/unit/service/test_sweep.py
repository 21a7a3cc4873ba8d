"""The sweep finds whatever was lost between object and index, and nothing the second time."""

import json
from collections.abc import Callable
from random import Random

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.errors import AgentMemoryError
from s3_agent_memory.service.grace import UPLOAD_AGE_MAX_MS
from s3_agent_memory.service.results import SweepReport
from tests.fakes.clock import DAY, HOUR, MINUTE
from tests.unit.service.scenarios import die_at_request, try_to_die
from tests.unit.service.worlds import NAMESPACE, World, contents

FOLDER = f"memory/{NAMESPACE}/semantic/"


def sweep(world: World) -> SweepReport:
    return world.another_process().memories.sweep(NAMESPACE)


def remember(world: World, *memory_ids: str) -> None:
    for memory_id in memory_ids:
        world.memories.remember(NAMESPACE, f"text of {memory_id}", id=memory_id)


def edit(world: World, memory_id: str, **values: object) -> None:
    """Change an object by hand, as with a text editor."""
    found = world.store.inner.get(f"{FOLDER}{memory_id}.json", size_max=2**20)
    assert found is not None
    world.store.inner.put(f"{FOLDER}{memory_id}.json", json.dumps({**json.loads(found.body), **values}).encode())


def lose_the_log(world: World) -> None:
    world.store.inner.delete_many(world.store.keys_below(f"memory/{NAMESPACE}/_index/log/"))


# --- what is lost, and how many ids that is ---------------------------------------------------------------------------


def nothing(_: World) -> None:
    """Lose nothing."""


def a_log_entry(world: World) -> None:
    remember(world, "c")
    lose_the_log(world)


def the_log_of_a_forget(world: World) -> None:
    world.memories.forget(NAMESPACE, "a")
    lose_the_log(world)


def the_writer_before_its_log_entry(world: World) -> None:
    die_at_request(world, verb="put", key="/log/")
    try_to_die(lambda: remember(world, "c"))


def the_forgetter_before_its_delete(world: World) -> None:
    die_at_request(world, verb="delete", key="/semantic/")
    try_to_die(lambda: world.memories.forget(NAMESPACE, "a"))


def a_hand_edited_text(world: World) -> None:
    edit(world, "a", content="edited by hand")


def a_hand_edited_version(world: World) -> None:
    edit(world, "a", content="edited by hand", version=9)


def a_hand_made_object(world: World) -> None:
    edit(world, "a")
    found = world.store.inner.get(f"{FOLDER}a.json", size_max=2**20)
    assert found is not None
    document = {**json.loads(found.body), "id": "by-hand"}
    world.store.inner.put(f"{FOLDER}by-hand.json", json.dumps(document).encode())


def a_hand_deleted_object(world: World) -> None:
    world.store.inner.delete(f"{FOLDER}a.json")


LOSSES: tuple[tuple[Callable[[World], None], int], ...] = (
    (nothing, 0),
    (a_log_entry, 1),
    (the_log_of_a_forget, 1),
    (the_writer_before_its_log_entry, 1),
    (the_forgetter_before_its_delete, 1),
    (a_hand_edited_text, 1),
    (a_hand_edited_version, 1),
    (a_hand_made_object, 2),
    (a_hand_deleted_object, 0),
)


def damaged(lose: Callable[[World], None], *, is_folded: bool) -> World:
    world = World()
    remember(world, "a", "b")
    if is_folded:
        world.clean_up_log()
    lose(world)
    world.clock.advance(2 * MINUTE)
    return world


@pytest.mark.parametrize(("lose", "repaired"), LOSSES)
def test_a_sweep_repairs_what_was_lost(lose: Callable[[World], None], repaired: int) -> None:
    world = damaged(lose, is_folded=True)
    assert sweep(world).repaired == repaired
    assert world.seen().is_exact


@pytest.mark.parametrize("is_folded", [True, False])
@pytest.mark.parametrize(("lose", "repaired"), LOSSES)
def test_a_second_sweep_finds_nothing(lose: Callable[[World], None], repaired: int, is_folded: bool) -> None:
    world = damaged(lose, is_folded=is_folded)
    sweep(world)
    digest, version = world.snapshot.digest(), world.manifest.version
    assert sweep(world).repaired == 0
    assert world.snapshot.digest() == digest
    assert world.manifest.version <= version + 1  # The stamp of the first sweep's fold.


def test_a_swept_hand_edit_is_found_by_its_new_words(world: World) -> None:
    remember(world, "a", "b")
    world.clean_up_log()
    edit(world, "a", content="a giraffe")
    sweep(world)
    assert contents(world.memories, "giraffes") == ["a giraffe"]


def test_a_sweep_deletes_an_object_that_outlived_its_forget(world: World) -> None:
    remember(world, "a", "b")
    the_forgetter_before_its_delete(world)
    sweep(world)
    assert world.store.keys_below(FOLDER) == [f"{FOLDER}b.json"]


def test_a_hand_deleted_object_is_not_found_and_leaves_the_index_with_the_next_sweep(world: World) -> None:
    remember(world, "a", "b")
    world.clean_up_log()
    a_hand_deleted_object(world)
    assert world.seen().listed == ("text of b",)
    assert sweep(world).vanished == 1
    assert world.snapshot.live_count == 1


def test_a_sweep_counts_the_objects_it_compared(world: World) -> None:
    remember(world, "a", "b", "c")
    assert sweep(world).checked == 3


def test_a_sweep_reports_corrupt_objects_and_repairs_the_others(world: World) -> None:
    remember(world, "a", "b")
    world.store.inner.put(f"{FOLDER}a.json", b"{")
    lose_the_log(world)
    assert sweep(world) == SweepReport(checked=2, repaired=1, corrupt_keys=(f"{FOLDER}a.json",))
    assert world.seen().listed == ("text of b",)


@pytest.mark.parametrize("name", ["notes.txt", ".json", "a b.json", "deeper/a.json", "ü.json", "a.json.bak", "x" * 300])
def test_a_sweep_passes_over_foreign_files(world: World, name: str) -> None:
    remember(world, "a")
    world.store.inner.put(FOLDER + name, b"not ours")
    world.clock.advance(HOUR)
    assert sweep(world).repaired == 0
    assert world.seen().listed == ("text of a",)


def test_an_empty_namespace_can_be_swept(world: World) -> None:
    assert sweep(world) == SweepReport(checked=0, repaired=0)


# --- the rebuild ------------------------------------------------------------------------------------------------------


def write_at_random(memories: MemoryStore, random: Random, count: int) -> None:
    """Do many different writes to few ids; some are refused."""
    ids = [f"id{number}" for number in range(12)]
    for number in range(count):
        memory_id = random.choice(ids)
        try:
            match random.randrange(5):
                case 0:
                    memories.remember(NAMESPACE, f"word{number} text", id=memory_id, resurrect=True)
                case 1:
                    memories.update(NAMESPACE, memory_id, content=f"word{number} changed")
                case 2:
                    memories.update(NAMESPACE, memory_id, metadata={"n": number}, importance=random.random())
                case 3:
                    memories.forget(NAMESPACE, memory_id)
                case _:
                    memories.remember(NAMESPACE, f"word{number} more", ttl=random.choice([None, MINUTE, DAY]))
        except AgentMemoryError:
            continue


@pytest.mark.parametrize("seed", range(6))
def test_a_rebuilt_index_equals_the_grown_one(seed: int) -> None:
    random = Random(seed)
    world = World(seed=seed)
    for _ in range(6):
        write_at_random(world.memories, random, 20)
        world.fold()
        world.compact()
        world.clock.advance(random.choice([1, HOUR, 2 * DAY]))
    report = world.another_process().memories.reindex(NAMESPACE)
    assert report.digest_before == report.digest_after, f"seed {seed}"
    assert sweep(world).repaired == 0, f"seed {seed}"


def test_a_rebuild_ranks_as_before(world: World) -> None:
    write_at_random(world.memories, Random(1), 200)
    before = [(hit.memory.id, round(hit.score, 9)) for hit in world.memories.recall(NAMESPACE, "changed word7 text")]
    memories = world.another_process().memories
    memories.reindex(NAMESPACE)
    after = [(hit.memory.id, round(hit.score, 9)) for hit in memories.recall(NAMESPACE, "changed word7 text")]
    assert after == before


def test_writes_during_a_rebuild_are_kept(world: World) -> None:
    remember(world, "a", "b", "c")
    world.clean_up_log()
    rival = world.another_process().memories

    def write() -> None:
        rival.remember(NAMESPACE, "text of d", id="d")
        rival.update(NAMESPACE, "a", content="changed")
        rival.forget(NAMESPACE, "b")
        world.fold()

    world.store.run_before(write, verb="put", key="/HEAD")
    world.memories.reindex(NAMESPACE)
    assert world.seen().listed == ("changed", "text of c", "text of d")


def test_a_rebuild_starts_again_where_its_segments_were_merged(world: World) -> None:
    remember(world, "a", "b")
    world.clean_up_log()
    rival = world.another_process().memories
    world.store.run_before(lambda: rival.reindex(NAMESPACE), verb="put", key="/HEAD")
    report = world.memories.reindex(NAMESPACE)
    assert report.memories == 2
    assert world.seen().listed == ("text of a", "text of b")


def test_a_rebuild_starts_again_where_its_upload_could_be_collected(world: World) -> None:
    remember(world, "a", "b")
    world.clean_up_log()
    before = set(world.index_files("segments"))
    world.store.run_before(lambda: world.clock.advance(UPLOAD_AGE_MAX_MS / 1_000 + 1), verb="get", key="/HEAD", skip=2)
    world.memories.reindex(NAMESPACE)
    uploaded = sorted(set(world.index_files("segments")) - before)
    assert len(uploaded) == 2
    assert [f"{segment.id}.seg" for segment in world.manifest.segments] == uploaded[1:]


def test_an_old_tombstone_needs_no_row_in_a_rebuild(world: World) -> None:
    remember(world, "a", "b")
    world.memories.forget(NAMESPACE, "a")
    world.clean_up_log()
    world.clock.advance(8 * DAY)
    world.another_process().memories.reindex(NAMESPACE)
    assert world.snapshot.find("a") is None
    assert sweep(world).repaired == 0
