"""Embedding what came without a vector: all of it, once, whatever happens in between."""

import json
import threading

import pytest

from s3_agent_memory.domain.codec import encode_memory
from s3_agent_memory.errors import AgentMemoryError, EmbeddingError
from s3_agent_memory.index.manifest import Manifest
from s3_agent_memory.service.grace import MODEL_GRACE_MS, UPLOAD_AGE_MAX_MS
from s3_agent_memory.service.transfer import indexing as transfer_indexing
from s3_agent_memory.service.upkeep import embedding
from s3_agent_memory.service.upkeep.embedding import BATCH_SIZE, EmbeddingService
from s3_agent_memory.service.upkeep.embedding_worker import RESERVE_MS
from s3_agent_memory.service.upkeep.housekeeper import Folding
from s3_agent_memory.service.upkeep.vector_keeper import TIDY_SECONDS
from tests.fakes.clock import HOUR
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.faulty_store import Fault
from tests.unit.service.scenarios import die_at_request, try_to_die
from tests.unit.service.vector_worlds import (
    MODEL,
    another_embedder,
    cosine,
    embed,
    open_world,
    remember_without_vectors,
    shards,
    vector_count,
    view_of,
)
from tests.unit.service.worlds import NAMESPACE, PLACE, World

OTHER = "other/1"
EVERYTHING = ""
GRACE_SECONDS = MODEL_GRACE_MS / 1_000


@pytest.fixture
def world() -> World:
    return open_world()


def service_of(world: World) -> EmbeddingService:
    service = world.parts.services.vectors._embedding
    assert service is not None
    return service


def texts(count: int) -> list[str]:
    return [f"text {number}" for number in range(count)]


def test_every_row_gets_the_vector_of_its_text(world: World) -> None:
    ids = remember_without_vectors(world, texts(5))
    report = embed(world)
    assert (report.embedded, report.missing, report.failed, report.model) == (5, 0, 0, MODEL)
    assert all(cosine(world, memory_id, text) > 0.99 for memory_id, text in zip(ids, texts(5), strict=True))


def test_rows_that_have_one_are_not_embedded_again(world: World) -> None:
    remember_without_vectors(world, ["black coffee"])
    world.memories.remember(NAMESPACE, "green tea")
    world.fold()
    assert (embed(world).embedded, embed(world).embedded) == (1, 0)


def test_what_is_not_folded_is_left_to_the_fold(world: World) -> None:
    remember_without_vectors(world, ["green tea"], fold=False)
    assert embed(world).embedded == 0


def test_deletions_need_no_vector(world: World) -> None:
    (memory_id,) = remember_without_vectors(world, ["green tea"])
    world.memories.forget(NAMESPACE, memory_id)
    world.fold()
    assert (embed(world).embedded, embed(world).missing) == (0, 0)


def test_a_large_namespace_becomes_several_shards(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "SHARD_ROWS_MAX", 2 * BATCH_SIZE)
    remember_without_vectors(world, texts(4 * BATCH_SIZE + 1))
    assert service_of(world).embed_missing(PLACE).embedded == 4 * BATCH_SIZE + 1
    # Some texts have two windows, so shards fill before that many rows.
    assert (len(world.manifest.vectors) >= 2, vector_count(world)) == (True, 4 * BATCH_SIZE + 1)


def test_progress_goes_up_to_what_there_is_to_embed(world: World) -> None:
    remember_without_vectors(world, texts(2 * BATCH_SIZE))
    seen: list[tuple[int, int | None]] = []
    service_of(world).embed_missing(PLACE, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(BATCH_SIZE, 2 * BATCH_SIZE), (2 * BATCH_SIZE, 2 * BATCH_SIZE)]


def test_when_the_time_is_up_what_is_done_is_kept_and_the_next_call_goes_on(world: World) -> None:
    remember_without_vectors(world, texts(3 * BATCH_SIZE))
    answers = iter([True])
    first = service_of(world).embed_missing(PLACE, has_time=lambda: next(answers, False))
    assert (first.embedded, first.missing, vector_count(world)) == (BATCH_SIZE, 2 * BATCH_SIZE, BATCH_SIZE)
    second = embed(world)
    assert (second.embedded, second.missing) == (2 * BATCH_SIZE, 0)


def test_rows_folded_meanwhile_are_embedded_too(world: World) -> None:
    remember_without_vectors(world, ["green tea"])
    world.store.run_before(lambda: remember_without_vectors(world, ["black coffee"]), verb="put", key=".vec")
    assert (embed(world).embedded, vector_count(world)) == (2, 2)


def test_an_object_that_changed_since_its_row_is_left_to_the_fold(world: World) -> None:
    (memory_id,) = remember_without_vectors(world, ["green tea"])
    world.another_process().memories.update(NAMESPACE, memory_id, content="black coffee")
    report = embed(world)
    assert (report.embedded, report.missing, len(shards(world))) == (0, 1, 0)
    world.fold()
    embed(world)
    assert cosine(world, memory_id, "black coffee") > 0.99


def test_an_object_that_cannot_be_read_keeps_no_other_from_its_vector(world: World) -> None:
    broken, _ = remember_without_vectors(world, ["green tea", "black coffee"])
    world.store.inner.put(f"memory/{NAMESPACE}/semantic/{broken}.json", b"{")
    report = embed(world)
    assert (report.embedded, report.missing) == (1, 1)


def test_a_text_that_the_model_cannot_take_keeps_no_other_from_its_vector(world: World) -> None:
    embedder = FakeEmbedder(MODEL)
    embedder.failing = {"poison"}
    world.parts = world._open(world.store, embedder=embedder)
    remember_without_vectors(world, ["green tea", "poison", "black coffee"])
    report = embed(world)
    assert (report.embedded, report.missing) == (2, 1)
    assert report.failed >= 1


def test_a_model_that_fails_on_everything_is_an_error(world: World) -> None:
    embedder = FakeEmbedder(MODEL)
    embedder.failing = {EVERYTHING}
    world.parts = world._open(world.store, embedder=embedder)
    remember_without_vectors(world, texts(3))
    with pytest.raises(EmbeddingError):
        embed(world)


def test_what_was_embedded_before_a_model_broke_is_kept(world: World) -> None:
    embedder = FakeEmbedder(MODEL)
    world.parts = world._open(world.store, embedder=embedder)
    remember_without_vectors(world, texts(2 * BATCH_SIZE))

    def break_down(done: int, _total: int | None) -> None:
        embedder.failing = {EVERYTHING}

    with pytest.raises(EmbeddingError):
        service_of(world).embed_missing(PLACE, progress=break_down)
    assert vector_count(world) == BATCH_SIZE


def test_a_namespace_is_embedded_by_one_thread_at_a_time(world: World) -> None:
    remember_without_vectors(world, texts(3))
    second: list[int | None] = []

    def embed_in_another_thread() -> None:
        thread = threading.Thread(target=lambda: second.append(service_of(world).embed_missing(PLACE).missing))
        thread.start()
        thread.join()

    world.store.run_before(embed_in_another_thread, verb="put", key=".vec")
    assert (embed(world).embedded, second) == (3, [None])


def test_two_embedders_at_once_do_no_harm(world: World) -> None:
    ids = remember_without_vectors(world, texts(3))
    rival = another_embedder(world)
    world.store.run_before(lambda: embed(world, rival), verb="put", key=".vec")
    embed(world)
    # What one of them did in vain is cleared away at once.
    assert (len(world.manifest.vectors), vector_count(world)) == (1, 3)
    assert all(cosine(world, memory_id, text) > 0.99 for memory_id, text in zip(ids, texts(3), strict=True))


@pytest.mark.parametrize("fault", Fault)
def test_an_embedder_with_a_fault_anywhere_ends_up_with_all_vectors(fault: Fault) -> None:
    for place in range(30):
        world = open_world()
        remember_without_vectors(world, texts(2))
        world.store.forget_requests()
        world.store.fail(fault, at=place)
        try:
            embed(world)
        except AgentMemoryError:
            embed(world, another_embedder(world))
        world.store.deliver_late()
        assert vector_count(world) == 2, f"{fault} at request {place}"
        if place >= len(world.store.requests):
            return


def test_an_embedder_that_is_killed_anywhere_costs_no_more_than_its_work() -> None:
    for place in range(30):
        world = open_world()
        remember_without_vectors(world, texts(2))
        world.store.forget_requests()
        die_at_request(world, at=place)
        survived = try_to_die(lambda world=world: embed(world))  # type: ignore[misc]
        assert len(another_embedder(world).memories.recall(NAMESPACE, "text")) == 2
        embed(world, another_embedder(world))
        assert vector_count(world) == 2, f"killed at request {place}"
        if survived:
            return


def test_an_upload_that_could_be_collected_is_not_committed(world: World) -> None:
    remember_without_vectors(world, texts(1))
    late_seconds = UPLOAD_AGE_MAX_MS / 1_000 + 1
    world.store.run_before(lambda: world.clock.advance(late_seconds), verb="put", key=".vec")
    service_of(world).embed_missing(PLACE, has_time=iter([True, False]).__next__)
    assert (world.manifest.vectors, len(shards(world))) == ((), 1)


def test_a_manifest_that_was_lost_meanwhile_does_not_come_back_with_vectors_alone(world: World) -> None:
    remember_without_vectors(world, texts(1))
    head = f"memory/{NAMESPACE}/_index/HEAD"
    world.store.run_before(lambda: world.store.inner.delete(head), verb="put", key=".vec")
    embed(world)
    assert world.manifest == Manifest()


# --- shards that are lost ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", [None, b"no shard", b""])
def test_a_shard_that_is_lost_is_given_up_and_its_rows_embedded_again(world: World, damage: bytes | None) -> None:
    remember_without_vectors(world, texts(3))
    embed(world)
    (key,) = world.store.keys_below(f"memory/{NAMESPACE}/_index/vectors/")
    if damage is None:
        world.store.inner.delete(key)
    else:
        world.store.inner.put(key, damage)
    assert embed(world, another_embedder(world)).embedded == 3
    assert (view_of(world).degraded, vector_count(world), len(world.manifest.vectors)) == ((), 3, 1)


def test_a_name_of_a_model_used_anew_with_another_dimension_is_embedded_anew(world: World) -> None:
    remember_without_vectors(world, texts(2))
    embed(world)
    world.parts = world._open(world.store, embedder=FakeEmbedder(MODEL, dimension=8))
    remember_without_vectors(world, ["more"])
    embed(world)
    embed(world)
    held = shards(world)
    assert ({held[ref.id].dimension for ref in world.manifest.vectors}, vector_count(world)) == ({8}, 3)


# --- a change of the model --------------------------------------------------------------------------------------------


def embedded_by_one_model(world: World) -> World:
    remember_without_vectors(world, texts(3))
    embed(world)
    return world


def test_a_process_with_another_model_leaves_the_namespace_alone(world: World) -> None:
    embedded_by_one_model(world)
    report = embed(world, another_embedder(world, OTHER))
    assert (report.embedded, report.missing) == (0, None)
    assert {shard.model for shard in world.manifest.vectors} == {MODEL}


def test_an_embedder_takes_over_and_the_old_vectors_serve_meanwhile(world: World) -> None:
    embedded_by_one_model(world)
    embed(world, another_embedder(world, OTHER), takes_over=True)
    assert (vector_count(world, MODEL), vector_count(world, OTHER), world.manifest.model) == (3, 3, OTHER)


def test_the_old_vectors_go_after_their_grace(world: World) -> None:
    embedded_by_one_model(world)
    other = another_embedder(world, OTHER)
    embed(world, other, takes_over=True)
    world.clock.advance(GRACE_SECONDS + 1)
    embed(world, other)
    assert {shard.model for shard in world.manifest.vectors} == {OTHER}
    assert len(world.manifest.vector_trash) == 1


def test_the_old_vectors_stay_as_long_as_the_new_ones_are_incomplete(world: World) -> None:
    embedded_by_one_model(world)
    broken = FakeEmbedder(OTHER)
    broken.failing = {"text 1"}
    other = world.another_process(embedder=broken)
    embed(world, other, takes_over=True)
    world.clock.advance(GRACE_SECONDS + 1)
    embed(world, other)
    assert (vector_count(world, MODEL), vector_count(world, OTHER)) == (3, 2)


def test_two_models_take_turns_but_never_embed_anew(world: World) -> None:
    embedded_by_one_model(world)
    one, other = another_embedder(world), another_embedder(world, OTHER)
    embed(world, other, takes_over=True)
    embedded = 0
    for _ in range(10):
        world.clock.advance(GRACE_SECONDS / 2)
        embedded += embed(world, one, takes_over=True).embedded
        embedded += embed(world, other, takes_over=True).embedded
    assert (embedded, vector_count(world, MODEL), vector_count(world, OTHER)) == (0, 3, 3)


def test_a_rebuild_takes_over(world: World) -> None:
    embedded_by_one_model(world)
    report = another_embedder(world, OTHER).memories.reindex(NAMESPACE)
    assert (report.memories, report.embedded, world.manifest.model) == (3, 3, OTHER)


def test_a_rebuild_keeps_vectors_of_the_same_model_and_text(world: World) -> None:
    embedded_by_one_model(world)
    assert world.memories.reindex(NAMESPACE).embedded == 0
    assert vector_count(world) == 3


def test_deleting_all_vectors_brings_them_back_with_a_rebuild(world: World) -> None:
    embedded_by_one_model(world)
    for key in list(world.store.keys_below(f"memory/{NAMESPACE}/_index/vectors/")):
        world.store.inner.delete(key)
    report = another_embedder(world).memories.reindex(NAMESPACE)
    assert (report.embedded, vector_count(world), view_of(world).degraded) == (3, 3, ())


def test_a_lost_index_comes_back_with_its_vectors(world: World) -> None:
    embedded_by_one_model(world)
    for key in list(world.store.keys_below(f"memory/{NAMESPACE}/_index/")):
        world.store.inner.delete(key)
    world.clock.advance(HOUR)
    process = another_embedder(world)
    assert len(process.memories.recall(NAMESPACE, "text")) == 3
    process.memories.sweep(NAMESPACE)
    assert vector_count(world) == 3


# --- who embeds, and for how long -------------------------------------------------------------------------------------


def test_a_sweep_embeds_what_is_missing(world: World) -> None:
    remember_without_vectors(world, texts(3))
    report = world.memories.sweep(NAMESPACE)
    assert (report.embedded, vector_count(world)) == (3, 3)


def test_a_sweep_goes_on_where_the_model_fails(world: World) -> None:
    embedder = FakeEmbedder(MODEL)
    embedder.failing = {EVERYTHING}
    world.parts = world._open(world.store, embedder=embedder)
    remember_without_vectors(world, texts(2))
    report = world.memories.sweep(NAMESPACE)
    assert (report.checked, report.embedded) == (2, 0)


def test_the_embedder_embeds_every_namespace_and_takes_over(world: World) -> None:
    remember_without_vectors(world, texts(2))
    outcome = world.parts.embedder.run([PLACE, PLACE], lambda: RESERVE_MS * 2)
    assert (outcome.embedded, outcome.failed, world.manifest.model) == (2, (), MODEL)


def test_the_embedder_asks_for_what_it_has_no_time_for_again(world: World) -> None:
    remember_without_vectors(world, texts(2))
    assert world.parts.embedder.run([PLACE], lambda: RESERVE_MS).failed == (PLACE,)
    assert world.parts.embedder.run([PLACE], lambda: RESERVE_MS * 2).failed == ()


def test_the_embedder_asks_for_what_fails_again(world: World) -> None:
    embedder = FakeEmbedder(MODEL)
    embedder.failing = {EVERYTHING}
    world.parts = world._open(world.store, embedder=embedder)
    remember_without_vectors(world, texts(2))
    assert world.parts.embedder.run([PLACE], lambda: RESERVE_MS * 2).failed == (PLACE,)


def test_an_embedder_without_a_model_has_nothing_to_do(world: World) -> None:
    remember_without_vectors(world, texts(2))
    outcome = world.another_process().embedder.run([PLACE], lambda: RESERVE_MS * 2)
    assert (outcome.embedded, outcome.failed) == (0, ())


def test_a_library_embeds_what_its_folds_take_in() -> None:
    world = open_world(folding=Folding.LAZY)
    remember_without_vectors(world, texts(3), fold=False)
    world.parts.services.housekeeper.tidy(PLACE)
    assert (vector_count(world), len(world.manifest.vectors)) == (3, 1)


def test_a_library_does_so_only_for_a_moment(world: World) -> None:
    slow = FakeEmbedder(MODEL)
    original = slow.embed

    def embed_slowly(batch: list[str]) -> object:
        world.clock.advance(TIDY_SECONDS)
        return original(batch)

    slow.embed = embed_slowly  # type: ignore[method-assign, assignment]
    parts = world.another_process(embedder=slow, folding=Folding.LAZY)
    remember_without_vectors(world, texts(3 * BATCH_SIZE), fold=False)
    parts.services.housekeeper.tidy(PLACE)
    assert vector_count(world) == BATCH_SIZE


def test_a_failing_embedder_keeps_no_library_from_folding() -> None:
    broken = FakeEmbedder(MODEL)
    broken.failing = {EVERYTHING}
    world = World(embedder=broken, folding=Folding.LAZY)
    remember_without_vectors(world, texts(3), fold=False)
    world.parts.services.housekeeper.tidy(PLACE)
    assert (len(world.manifest.segments), len(world.manifest.vectors)) == (1, 0)


@pytest.mark.parametrize("folding", Folding)
def test_an_import_embeds_what_it_brought(folding: Folding) -> None:
    embedder = FakeEmbedder(MODEL)
    world = World(embedder=embedder, folding=folding)
    lines = [b'{"id": "a", "content": "green tea"}', b'{"id": "b", "content": "black coffee"}']
    seen: list[tuple[int, int | None]] = []
    world.memories.import_(NAMESPACE, lines, progress=lambda done, total: seen.append((done, total)))
    assert vector_count(world) == 2
    assert (seen[-1], len(embedder.texts) <= 4) == ((4, 4), True)


def test_an_import_of_what_is_there_embeds_nothing() -> None:
    embedder = FakeEmbedder(MODEL)
    world = World(embedder=embedder)
    line = [b'{"id": "a", "content": "green tea"}']
    world.memories.import_(NAMESPACE, line)
    before = len(embedder.texts)
    world.memories.import_(NAMESPACE, line)
    assert len(embedder.texts) == before


def test_an_import_beside_an_embedder_embeds_only_for_so_long() -> None:
    world = open_world(embedding_seconds_max=0.0)
    world.memories.import_(NAMESPACE, [b'{"content": "green tea"}'])
    assert (world.memories.stats(NAMESPACE).memories, vector_count(world)) == (1, 0)


def test_a_memory_put_there_by_hand_gets_a_vector_with_the_sweep(world: World) -> None:
    memory = open_world().memories.remember(NAMESPACE, "green tea", id="by-hand")
    world.store.inner.put(memory.key, encode_memory(memory))
    world.memories.sweep(NAMESPACE)
    assert cosine(world, "by-hand", "green tea") > 0.99


@pytest.mark.parametrize("line_count", [127, 128, 300])
def test_beside_an_indexer_an_import_of_any_size_is_embedded(monkeypatch, line_count):
    monkeypatch.setattr(transfer_indexing, "_FIRST_ROW_COUNT", 128)
    world = open_world(folding=Folding.INLINE)
    world.memories.import_(NAMESPACE, [json.dumps({"content": f"note {number}"}) for number in range(line_count)])
    assert world.memories.stats(NAMESPACE).vectors == line_count
