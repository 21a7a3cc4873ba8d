"""Vectors from the write to the fold: found at once, kept with the rows, never those of another text."""

import logging
import math

import pytest

from s3_agent_memory.domain.memory import Attribution
from s3_agent_memory.errors import AgentMemoryError
from s3_agent_memory.index.manifest import EmbeddingRef
from s3_agent_memory.service.results import Consistency
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.faulty_store import Fault
from tests.unit.service.vector_worlds import (
    MODEL,
    another_embedder,
    cosine,
    key_of,
    keys_in_use,
    open_world,
    remember_without_vectors,
    shards,
    vector_count,
    view_of,
)
from tests.unit.service.worlds import NAMESPACE, World


@pytest.fixture
def world() -> World:
    return open_world()


def embedder_of(world: World) -> FakeEmbedder:
    """Return the embedder of a new process under test, to look into or to break."""
    embedder = FakeEmbedder(MODEL)
    world.parts = world._open(world.store, embedder=embedder)
    return embedder


def test_a_memory_written_a_moment_ago_has_a_vector_for_every_reader(world: World) -> None:
    memory = world.memories.remember(NAMESPACE, "green tea")
    assert cosine(world, memory.id, "green tea") > 0.99
    assert not world.index_files("segments")


def test_the_vector_is_of_the_author_and_the_text(world: World) -> None:
    memory = world.memories.remember(NAMESPACE, "I like tea", attribution=Attribution(author="Ann", session_id="s"))
    assert cosine(world, memory.id, "Ann: I like tea") > 0.99


def test_vectors_cost_remember_and_update_no_put_of_their_own(world: World) -> None:
    memory = world.memories.remember(NAMESPACE, "green tea")
    world.store.forget_requests()
    world.memories.remember(NAMESPACE, "black tea")
    world.memories.update(NAMESPACE, memory.id, content="white tea", expected_version=1)
    assert [request.verb for request in world.store.requests].count("put") == 2 + 3


def test_an_update_brings_the_vector_of_the_new_text(world: World) -> None:
    memory = world.memories.remember(NAMESPACE, "green tea")
    world.memories.update(NAMESPACE, memory.id, content="black coffee")
    assert cosine(world, memory.id, "black coffee") > 0.99


def test_an_update_that_leaves_the_text_leaves_the_vector(world: World) -> None:
    memory = world.memories.remember(NAMESPACE, "green tea")
    world.fold()
    world.another_process().memories.update(NAMESPACE, memory.id, tags=["drink"])
    assert cosine(world, memory.id, "green tea") > 0.99


def test_a_write_whose_embedder_fails_succeeds_without_a_vector(world: World, caplog: pytest.LogCaptureFixture) -> None:
    embedder_of(world).failing = {"secret"}
    with caplog.at_level(logging.WARNING):
        memory = world.memories.remember(NAMESPACE, "secret tea")
    assert math.isnan(cosine(world, memory.id, "secret tea"))
    assert ("without a vector" in caplog.text, "secret" in caplog.text) == (True, False)
    assert world.memories.recall(NAMESPACE, "tea")[0].memory.id == memory.id


def test_forgetting_embeds_nothing(world: World) -> None:
    embedder = embedder_of(world)
    memory = world.memories.remember(NAMESPACE, "green tea")
    before = len(embedder.texts)
    world.memories.forget(NAMESPACE, memory.id)
    assert len(embedder.texts) == before


# --- the fold ---------------------------------------------------------------------------------------------------------


def test_a_fold_keeps_the_vectors_of_the_log_without_an_embedder(world: World) -> None:
    memory = world.memories.remember(NAMESPACE, "green tea")
    world.fold(parts=world.another_process())
    assert (vector_count(world, consistency=Consistency.EVENTUAL), len(shards(world))) == (1, 1)
    assert cosine(world, memory.id, "green tea") > 0.99


def test_rows_and_vectors_of_a_fold_appear_in_one_swap(world: World) -> None:
    world.memories.remember(NAMESPACE, "green tea")
    version = world.manifest.version
    world.fold()
    manifest = world.manifest
    assert (manifest.version, len(manifest.segments), len(manifest.vectors)) == (version + 1, 1, 1)


def test_the_first_vectors_decide_on_the_model(world: World) -> None:
    world.memories.remember(NAMESPACE, "green tea")
    world.fold()
    assert world.manifest.embedding == EmbeddingRef(MODEL, world.clock.now_us() // 1_000)


def test_an_outdated_vector_of_the_log_never_enters_a_shard(world: World) -> None:
    memory = world.memories.remember(NAMESPACE, "green tea")
    world.another_process().memories.update(NAMESPACE, memory.id, content="black coffee")
    world.fold()
    assert not shards(world)
    assert math.isnan(cosine(world, memory.id, "green tea"))


def test_the_vector_of_a_forgotten_memory_never_enters_a_shard(world: World) -> None:
    memory = world.memories.remember(NAMESPACE, "green tea")
    world.memories.forget(NAMESPACE, memory.id)
    world.fold()
    assert not shards(world)


def test_a_fold_of_what_events_name_alone_has_no_vectors(world: World) -> None:
    ids = remember_without_vectors(world, ["green tea"], fold=False)
    world.fold(*ids)
    assert not shards(world)


def test_vectors_of_another_model_than_the_namespaces_are_left_out(world: World) -> None:
    first = world.memories.remember(NAMESPACE, "green tea")
    world.fold()
    another_embedder(world, "other/1").memories.remember(NAMESPACE, "black coffee")
    world.fold()
    assert keys_in_use(world) == {key_of(first.id, "green tea")}


@pytest.mark.parametrize("fault", Fault)
def test_a_fold_with_a_fault_anywhere_loses_no_vector(fault: Fault) -> None:
    for place in range(30):
        world = open_world()
        world.memories.remember(NAMESPACE, "green tea")
        world.memories.remember(NAMESPACE, "black coffee")
        world.store.forget_requests()
        world.store.fail(fault, at=place)
        try:
            world.fold(parts=world.parts)
        except AgentMemoryError:
            world.fold()
        world.store.deliver_late()
        assert vector_count(world) == 2, f"{fault} at request {place}"
        if place >= len(world.store.requests):
            return


# --- readers ----------------------------------------------------------------------------------------------------------


def test_a_process_without_an_embedder_never_reads_a_shard(world: World) -> None:
    world.memories.remember(NAMESPACE, "green tea")
    world.fold()
    world.parts = world._open(world.store)
    world.store.forget_requests()
    assert len(world.memories.recall(NAMESPACE, "tea")) == 1
    assert not [request for request in world.store.requests if request.key.endswith(".vec")]


def test_a_warm_reader_reads_each_shard_once(world: World) -> None:
    world.memories.remember(NAMESPACE, "green tea")
    world.fold(parts=world.another_process())
    world.memories.recall(NAMESPACE, "tea")
    world.store.forget_requests()
    world.memories.recall(NAMESPACE, "tea")
    assert [request.verb for request in world.store.requests] == ["list", "get", "get"]


@pytest.mark.parametrize("damage", [None, b"no shard"])
def test_a_shard_that_cannot_be_read_degrades_the_answer_and_nothing_else(world: World, damage: bytes | None) -> None:
    memory = world.memories.remember(NAMESPACE, "green tea")
    world.fold()
    (key,) = world.store.keys_below(f"memory/{NAMESPACE}/_index/vectors/")
    if damage is None:
        world.store.inner.delete(key)
    else:
        world.store.inner.put(key, damage)
    view = view_of(world)
    assert (view.degraded, view.vectors is not None and view.vectors.vector_count) == (("vectors",), 0)
    assert another_embedder(world).memories.recall(NAMESPACE, "tea")[0].memory.id == memory.id


def test_figures_say_how_many_memories_have_a_vector_and_of_what_model(world: World) -> None:
    remember_without_vectors(world, ["black coffee"])
    world.memories.remember(NAMESPACE, "green tea")
    stats = world.another_process().memories.stats(NAMESPACE)
    assert (stats.memories, stats.vectors, stats.embedding_model) == (2, 1, MODEL)


def test_a_namespace_without_vectors_has_no_model(world: World) -> None:
    remember_without_vectors(world, ["black coffee"])
    stats = world.memories.stats(NAMESPACE)
    assert (stats.vectors, stats.embedding_model) == (0, "")
