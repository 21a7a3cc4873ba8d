"""The index is a cache: whatever happens to its files, reads stay right; a broken memory object is reported alone."""

from collections.abc import Callable

import pytest

from s3_agent_memory.domain.keys import TruthKey, parse_namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import CorruptError
from tests.fakes.clock import HOUR, MINUTE
from tests.unit.service.worlds import NAMESPACE, World, contents

INDEX = f"memory/{NAMESPACE}/_index/"
FOLDER = f"memory/{NAMESPACE}/semantic/"
TEXTS = ("one folded", "three in the log", "two folded")


def indexed_world() -> World:
    """Return a world with two folded memories, one of them deleted and one in the log; all long ago."""
    world = World()
    for memory_id in ("one", "two", "gone"):
        world.memories.remember(NAMESPACE, f"{memory_id} folded", id=memory_id)
    world.memories.forget(NAMESPACE, "gone")
    world.clean_up_log()
    world.memories.remember(NAMESPACE, "three in the log", id="three")
    world.clock.advance(HOUR)
    return world


def overwrite(world: World, folder: str, body: bytes) -> None:
    for key in world.store.keys_below(INDEX + folder):
        world.store.inner.put(key, body)


def truncate(world: World, folder: str) -> None:
    for key in world.store.keys_below(INDEX + folder):
        found = world.store.inner.get(key, size_max=2**26)
        assert found is not None
        world.store.inner.put(key, found.body[: len(found.body) // 2])


def delete(world: World, *folders: str) -> None:
    for folder in folders:
        world.store.inner.delete_many(world.store.keys_below(INDEX + folder))


DAMAGES: dict[str, Callable[[World], None]] = {
    "HEAD is missing": lambda world: delete(world, "HEAD"),
    "HEAD is empty": lambda world: overwrite(world, "HEAD", b""),
    "HEAD is foreign": lambda world: overwrite(world, "HEAD", b"<html>"),
    "HEAD is of another schema": lambda world: overwrite(world, "HEAD", b'{"schema":2}'),
    "HEAD is truncated": lambda world: truncate(world, "HEAD"),
    "HEAD is too large": lambda world: overwrite(world, "HEAD", b"x" * 300_000),
    "the segment is missing": lambda world: delete(world, "segments/"),
    "the segment is empty": lambda world: overwrite(world, "segments/", b""),
    "the segment is foreign": lambda world: overwrite(world, "segments/", b"\0" * 500),
    "the segment is truncated": lambda world: truncate(world, "segments/"),
    "HEAD and the log are missing": lambda world: delete(world, "HEAD", "log/"),
    "the whole index is missing": lambda world: delete(world, ""),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_new_process_reads_right(damage: str) -> None:
    world = indexed_world()
    DAMAGES[damage](world)
    seen = world.seen()
    assert (seen.truth, seen.agrees) == (TEXTS, True)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_process_with_warm_caches_reads_right(damage: str) -> None:
    world = indexed_world()
    contents(world.memories, "folded")
    DAMAGES[damage](world)
    assert sorted(contents(world.memories, "")) == list(TEXTS)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("action", ["stats", "sweep", "prune_expired", "reindex"])
def test_whatever_comes_first_heals_the_index(damage: str, action: str) -> None:
    world = indexed_world()
    DAMAGES[damage](world)
    getattr(world.memories, action)(NAMESPACE)
    assert sorted(contents(world.memories, "", consistency="eventual" if action == "sweep" else "strong")) == list(
        TEXTS
    )


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_indexer_that_comes_first_fails_nothing_and_hides_nothing(damage: str) -> None:
    world = indexed_world()
    DAMAGES[damage](world)
    changes = [TruthKey(parse_namespace(NAMESPACE), Kind.SEMANTIC, "one")]
    outcome = world.another_process().indexer.run(changes)
    assert (outcome.namespaces, outcome.failed) == (1, ())
    assert world.seen().listed == TEXTS


def test_a_healed_index_answers_without_another_rebuild() -> None:
    world = indexed_world()
    delete(world, "")
    contents(world.memories, "folded")
    world.store.forget_requests()
    contents(world.memories, "folded")
    assert not any(request.is_write for request in world.store.requests)


@pytest.mark.parametrize("body", [b"", b"{}", b"foreign", b'{"schema":1'])
def test_an_unreadable_log_entry_makes_the_answer_say_that_it_is_degraded(body: bytes) -> None:
    world = indexed_world()
    overwrite(world, "log/", body)
    result = world.another_process().memories.recall(NAMESPACE, "")
    assert result.degraded == ("log",)
    assert sorted(hit.memory.content for hit in result) == ["one folded", "two folded"]


def test_an_intact_index_is_not_degraded() -> None:
    assert indexed_world().memories.recall(NAMESPACE, "").degraded == ()


def test_the_sweep_heals_what_an_unreadable_log_entry_stood_for() -> None:
    world = indexed_world()
    overwrite(world, "log/", b"foreign")
    world.another_process().memories.sweep(NAMESPACE)
    assert world.seen().listed == TEXTS


def test_two_sweeps_remove_an_unreadable_log_entry() -> None:
    world = indexed_world()
    overwrite(world, "log/", b"foreign")
    for _ in range(2):
        world.another_process().memories.sweep(NAMESPACE)
        world.clock.advance(2 * MINUTE)
    assert world.index_files("log") == []


def test_a_young_namespace_without_a_manifest_is_not_rebuilt(world: World) -> None:
    world.memories.remember(NAMESPACE, "text")
    world.clock.advance(HOUR)
    contents(world.memories, "text")
    assert world.index_files("segments") == []


# --- text analysis ----------------------------------------------------------------------------------------------------


def test_an_index_keeps_its_language_whatever_a_process_is_set_to() -> None:
    world = World(language="english")
    world.memories.remember(NAMESPACE, "running dogs")
    world.fold()
    german = world.another_process(language="german").memories
    assert contents(german, "dog runs") == ["running dogs"]
    assert german.stats(NAMESPACE).analyzer == world.memories.stats(NAMESPACE).analyzer


def test_a_write_of_a_process_with_another_language_is_found_before_and_after_the_fold() -> None:
    world = World(language="english")
    world.memories.remember(NAMESPACE, "running dogs")
    world.fold()
    world.another_process(language="german").memories.remember(NAMESPACE, "jumping cats")
    before = contents(world.memories, "jumps")
    world.fold(parts=world.another_process(language="german"))
    assert (before, contents(world.memories, "jumps")) == (["jumping cats"], ["jumping cats"])


def test_a_rebuild_takes_the_language_of_its_process() -> None:
    world = World(language="english")
    world.memories.remember(NAMESPACE, "Häuser und Hunde")
    world.fold()
    german = world.another_process(language="german").memories
    german.reindex(NAMESPACE)
    assert contents(german, "Hund") == ["Häuser und Hunde"]
    assert german.stats(NAMESPACE).analyzer.startswith("german/")


def test_an_index_of_an_unknown_analysis_is_rebuilt() -> None:
    world = indexed_world()
    found = world.store.inner.get(f"{INDEX}HEAD", size_max=2**20)
    assert found is not None
    world.store.inner.put(f"{INDEX}HEAD", found.body.replace(b"english/2", b"klingon/7"))
    assert world.seen().listed == TEXTS


# --- broken memory objects --------------------------------------------------------------------------------------------

BROKEN = {
    "empty": b"",
    "truncated": b'{"schema":1,"id":"one","namesp',
    "foreign": b"<html>not ours</html>",
    "of another namespace": b'{"schema":1,"id":"one","namespace":["users","bob"],"kind":"semantic",'
    b'"content":"bob\'s secret","created_at":"2026-10-23T23:37:41Z"}',
    "too large": b"x" * (2**20 + 1),
}
KEY = f"{FOLDER}one.json"


def broken_world(name: str) -> World:
    world = indexed_world()
    world.store.inner.put(KEY, BROKEN[name])
    return world


@pytest.mark.parametrize("name", BROKEN)
def test_recall_returns_the_others_and_names_the_broken_one(name: str) -> None:
    result = broken_world(name).memories.recall(NAMESPACE, "")
    assert sorted(hit.memory.content for hit in result) == ["three in the log", "two folded"]
    assert result.corrupt_keys == (KEY,)


@pytest.mark.parametrize("name", BROKEN)
def test_list_returns_the_others_and_names_the_broken_one(name: str) -> None:
    page = broken_world(name).memories.list(NAMESPACE)
    assert sorted(memory.content for memory in page.memories) == ["three in the log", "two folded"]
    assert page.corrupt_keys == (KEY,)


@pytest.mark.parametrize("name", BROKEN)
def test_export_yields_the_others_and_names_the_broken_one(name: str) -> None:
    corrupt_keys: list[str] = []
    lines = list(broken_world(name).memories.export(NAMESPACE, on_corrupt=corrupt_keys.append))
    assert (len(lines), corrupt_keys) == (2, [KEY])


@pytest.mark.parametrize("name", BROKEN)
def test_reindex_and_sweep_name_the_broken_one(name: str) -> None:
    memories = broken_world(name).memories
    assert memories.reindex(NAMESPACE).corrupt_keys == (KEY,)
    assert memories.sweep(NAMESPACE).corrupt_keys == (KEY,)


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("action", ["get", "forget"])
def test_the_broken_one_itself_is_an_error_with_its_key(name: str, action: str) -> None:
    with pytest.raises(CorruptError) as caught:
        getattr(broken_world(name).memories, action)(NAMESPACE, "one")
    assert caught.value.key == KEY


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_object_is_not_overwritten_by_an_update(name: str) -> None:
    world = broken_world(name)
    with pytest.raises(CorruptError):
        world.memories.update(NAMESPACE, "one", content="new")
    found = world.store.inner.get(KEY, size_max=2**21)
    assert found is not None
    assert found.body == BROKEN[name]


def test_a_broken_tombstone_is_an_error_with_its_key() -> None:
    world = indexed_world()
    key = f"memory/{NAMESPACE}/_tombstones/one.json"
    world.store.inner.put(key, b"{")
    with pytest.raises(CorruptError) as caught:
        world.memories.get(NAMESPACE, "one")
    assert caught.value.key == key


def test_a_broken_claim_is_an_error_with_its_key() -> None:
    world = indexed_world()
    key = f"memory/{NAMESPACE}/_ids/fresh"
    world.store.inner.put(key, b"{")
    with pytest.raises(CorruptError) as caught:
        world.memories.remember(NAMESPACE, "text", id="fresh")
    assert caught.value.key == key
