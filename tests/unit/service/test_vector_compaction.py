"""Merging and clearing vector shards: no vector lost that a memory needs, none left of what was forgotten."""

import pytest

from s3_agent_memory.errors import AgentMemoryError
from s3_agent_memory.index.merge_policy import FAN_OUT
from s3_agent_memory.service.grace import ORPHAN_AGE_MS, TRASH_GRACE_MS, UPLOAD_AGE_MAX_MS
from s3_agent_memory.service.stored_index.index_cache import IndexCache
from s3_agent_memory.service.stored_index.vector_files import VectorFiles
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.faulty_store import Fault
from tests.unit.service.vector_worlds import (
    MODEL,
    another_embedder,
    cosine,
    embed,
    key_of,
    keys_in_use,
    open_world,
    remember_without_vectors,
    shards,
    vector_count,
)
from tests.unit.service.worlds import NAMESPACE, PLACE, World

TRASH_GRACE_SECONDS = TRASH_GRACE_MS / 1_000
ORPHAN_AGE_SECONDS = ORPHAN_AGE_MS / 1_000


@pytest.fixture
def world() -> World:
    return open_world()


def compact(world: World, *, is_rival: bool = False) -> int:
    parts = world.another_process() if is_rival else world.parts
    return parts.vector_compactor.compact(PLACE)


def purge(world: World, *, dead_share_max: float = 0.0) -> int:
    return world.parts.vector_compactor.purge(PLACE, dead_share_max=dead_share_max)


def one_shard_each(world: World, count: int) -> list[str]:
    """Store memories, each with a shard of its own; return the ids."""
    ids = []
    for number in range(count):
        ids.append(world.memories.remember(NAMESPACE, f"text {number}").id)
        world.fold()
    return ids


def forget(world: World, *memory_ids: str) -> None:
    for memory_id in memory_ids:
        world.memories.forget(NAMESPACE, memory_id)
    world.fold()


def test_a_full_tier_becomes_one_shard_with_the_same_vectors(world: World) -> None:
    ids = one_shard_each(world, FAN_OUT)
    assert compact(world) == FAN_OUT
    assert (len(world.manifest.vectors), vector_count(world)) == (1, FAN_OUT)
    assert all(cosine(world, memory_id, f"text {number}") > 0.99 for number, memory_id in enumerate(ids))


def test_there_is_nothing_to_merge_below_a_full_tier(world: World) -> None:
    one_shard_each(world, FAN_OUT - 1)
    assert compact(world) == 0


def test_a_merge_leaves_out_what_was_forgotten_or_changed(world: World) -> None:
    ids = one_shard_each(world, FAN_OUT)
    world.another_process().memories.update(NAMESPACE, ids[0], content="changed")
    forget(world, ids[1])
    compact(world)
    assert keys_in_use(world) == {key_of(ids[number], f"text {number}") for number in range(2, FAN_OUT)}


def test_a_merge_of_nothing_but_the_dead_leaves_no_shard(world: World) -> None:
    forget(world, *one_shard_each(world, FAN_OUT))
    compact(world)
    assert world.manifest.vectors == ()


def test_shards_of_two_models_are_never_merged(world: World) -> None:
    one_shard_each(world, FAN_OUT - 1)
    embed(world, another_embedder(world, "other/1"), takes_over=True)
    assert compact(world) == 0


def test_a_process_without_an_embedder_merges_as_well(world: World) -> None:
    one_shard_each(world, FAN_OUT)
    assert compact(world, is_rival=True) == FAN_OUT
    assert vector_count(world) == FAN_OUT


def test_of_two_merges_of_the_same_shards_one_counts(world: World) -> None:
    one_shard_each(world, FAN_OUT)
    world.store.run_before(lambda: compact(world, is_rival=True), verb="put", key=".vec")
    assert compact(world) == 0
    assert (len(world.manifest.vectors), vector_count(world)) == (1, FAN_OUT)


def test_a_fold_during_a_merge_keeps_its_vectors(world: World) -> None:
    one_shard_each(world, FAN_OUT)
    rival = another_embedder(world)

    def write_and_fold() -> None:
        rival.memories.remember(NAMESPACE, "new", id="new")
        world.fold(parts=rival)

    world.store.run_before(write_and_fold, verb="put", key=".vec")
    assert compact(world) == FAN_OUT
    assert (vector_count(world), cosine(world, "new", "new") > 0.99) == (FAN_OUT + 1, True)


def test_a_merge_abandons_an_upload_that_could_be_collected(world: World) -> None:
    one_shard_each(world, FAN_OUT)
    world.store.run_before(lambda: world.clock.advance(UPLOAD_AGE_MAX_MS / 1_000 + 1), verb="put", key=".vec")
    assert compact(world) == 0
    assert len(world.manifest.vectors) == FAN_OUT


def test_a_merge_passes_over_what_cannot_be_read(world: World) -> None:
    one_shard_each(world, FAN_OUT)
    world.parts = another_embedder(world)
    world.store.inner.delete(world.store.keys_below(f"memory/{NAMESPACE}/_index/vectors/")[0])
    assert compact(world) == 0
    embed(world)
    assert vector_count(world) == FAN_OUT


@pytest.mark.parametrize("fault", Fault)
def test_a_merge_with_a_fault_anywhere_loses_nothing(fault: Fault) -> None:
    for place in range(30):
        world = open_world()
        one_shard_each(world, FAN_OUT)
        world.parts = another_embedder(world)
        world.store.forget_requests()
        world.store.fail(fault, at=place)
        try:
            compact(world)
        except AgentMemoryError:
            compact(world, is_rival=True)
        world.store.deliver_late()
        assert vector_count(world) == FAN_OUT, f"{fault} at request {place}"
        if place >= len(world.store.requests):
            return


# --- what no memory needs ---------------------------------------------------------------------------------------------


def test_a_purge_leaves_clean_shards_alone(world: World) -> None:
    one_shard_each(world, 3)
    before = world.manifest
    assert (purge(world), world.manifest) == (0, before)


def test_a_purge_rewrites_a_shard_with_a_dead_row(world: World) -> None:
    kept, gone = remember_without_vectors(world, ["kept", "gone"])
    embed(world)
    forget(world, gone)
    assert purge(world) == 1
    assert (keys_in_use(world), vector_count(world)) == ({key_of(kept, "kept")}, 1)


def test_a_purge_drops_a_shard_that_is_dead_as_a_whole(world: World) -> None:
    forget(world, *one_shard_each(world, 1))
    assert purge(world) == 1
    assert (world.manifest.vectors, len(world.manifest.vector_trash)) == ((), 1)


def test_a_purge_keeps_one_copy_of_a_vector_that_is_there_twice(world: World) -> None:
    (memory_id,) = one_shard_each(world, 1)
    world.memories.update(NAMESPACE, memory_id, tags=["same text"])
    world.fold()
    assert (len(world.manifest.vectors), purge(world)) == (2, 1)
    assert (len(world.manifest.vectors), vector_count(world)) == (1, 1)


def test_a_second_purge_finds_nothing(world: World) -> None:
    ids = one_shard_each(world, 3)
    world.memories.update(NAMESPACE, ids[0], tags=["same text"])
    forget(world, ids[1])
    purge(world)
    assert purge(world) == 0


def test_few_dead_rows_are_left_to_the_sweep(world: World) -> None:
    _, gone, *_ = remember_without_vectors(world, [f"text {number}" for number in range(8)])
    embed(world)
    forget(world, gone)
    assert (purge(world, dead_share_max=0.5), purge(world)) == (0, 1)


def test_a_purge_is_void_where_the_shard_that_holds_the_other_copy_went(world: World) -> None:
    (memory_id,) = one_shard_each(world, 1)
    world.memories.update(NAMESPACE, memory_id, tags=["same text"])
    world.fold()
    newer = world.manifest.vectors[1].id

    def lose_the_other_copy() -> None:
        world.store.inner.delete(f"memory/{NAMESPACE}/_index/vectors/{newer}.vec")
        embed(world, another_embedder(world))

    world.store.run_before(lose_the_other_copy, verb="put", key="/HEAD")
    purge(world)
    assert vector_count(world) == 1


def test_nothing_of_a_forgotten_memory_is_in_any_file_after_a_sweep_and_its_grace(world: World) -> None:
    ids = one_shard_each(world, FAN_OUT)
    other = another_embedder(world, "other/1")
    embed(world, other, takes_over=True)
    world.memories.forget(NAMESPACE, ids[0])
    world.another_process().memories.sweep(NAMESPACE)
    key = key_of(ids[0], "text 0")
    assert key not in keys_in_use(world)
    world.clock.advance(TRASH_GRACE_SECONDS + 1)
    world.another_process().memories.sweep(NAMESPACE)
    assert [shard_id for shard_id, shard in shards(world).items() if key in shard.text_keys.tolist()] == []


# --- garbage ----------------------------------------------------------------------------------------------------------


def test_replaced_shards_stay_for_slow_readers_and_then_go(world: World) -> None:
    one_shard_each(world, FAN_OUT)
    compact(world)
    assert world.empty_trash() == 0
    world.clock.advance(TRASH_GRACE_SECONDS - 1)
    assert (world.empty_trash(), len(shards(world))) == (0, FAN_OUT + 1)
    world.clock.advance(2)
    assert (world.empty_trash(), len(shards(world)), world.manifest.vector_trash) == (FAN_OUT, 1, ())


def test_an_upload_that_nobody_committed_goes_when_it_is_old(world: World) -> None:
    one_shard_each(world, 1)
    (shard,) = shards(world).values()
    VectorFiles(world.parts.runtime, IndexCache()).upload(PLACE, list(shard.keyed()), model=MODEL)
    assert (world.remove_orphans(), len(shards(world))) == (0, 2)
    world.clock.advance(ORPHAN_AGE_SECONDS + 1)
    assert (world.remove_orphans(), len(shards(world))) == (1, 1)
    assert vector_count(world) == 1


def test_a_sweep_leaves_vectors_complete_shards_few_and_no_garbage(world: World) -> None:
    ids = one_shard_each(world, 2 * FAN_OUT)
    remember_without_vectors(world, ["one", "two"])
    forget(world, ids[0])
    for _ in range(3):
        world.memories.sweep(NAMESPACE)
        world.clock.advance(ORPHAN_AGE_SECONDS + 1)
    assert vector_count(world) == 2 * FAN_OUT + 1
    assert len(shards(world)) == len(world.manifest.vectors) < FAN_OUT


def test_a_sweep_without_an_embedder_clears_what_was_forgotten(world: World) -> None:
    ids = one_shard_each(world, 2)
    forget(world, ids[0])
    world.another_process(embedder=None).memories.sweep(NAMESPACE)
    assert keys_in_use(world) == {key_of(ids[1], "text 1")}


def test_a_process_with_another_model_clears_the_shards_of_both(world: World) -> None:
    ids = one_shard_each(world, 2)
    embed(world, another_embedder(world, "other/1"), takes_over=True)
    forget(world, ids[0])
    world.another_process(embedder=FakeEmbedder("third/1")).memories.sweep(NAMESPACE)
    assert keys_in_use(world) == {key_of(ids[1], "text 1")}
