"""What an update leaves alone: untouched keys, creation, and the memory itself if the process dies."""

from datetime import datetime
from functools import partial
from typing import Any

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.errors import ConflictError, NotFoundError, ValidationError
from tests.fakes.clock import DAY
from tests.unit.service.scenarios import UPDATE, die_at_request, try_to_die
from tests.unit.service.worlds import NAMESPACE, World, contents

METADATA = {"source": {"app": "chat", "turn": {"n": 3, "lang": "en"}}, "reviewed": False}


def stored(store: MemoryStore) -> str:
    return store.remember(NAMESPACE, "Alice lives in Rome", metadata=METADATA, data={"city": "Rome"}, tags=["home"]).id


@pytest.mark.parametrize(
    ("change", "metadata"),
    [
        ({"content": "Alice lives in Bonn"}, METADATA),
        ({"metadata": {"reviewed": True}}, {**METADATA, "reviewed": True}),
        ({"metadata": {"reviewed": None}}, {"source": METADATA["source"]}),
        (
            {"metadata": {"source": {"turn": {"n": 4}}}},
            {"source": {"app": "chat", "turn": {"n": 4, "lang": "en"}}, "reviewed": False},
        ),
        ({"metadata": {"source": {"turn": None}}}, {"source": {"app": "chat"}, "reviewed": False}),
        ({"metadata": {}}, METADATA),
        ({"metadata": None}, {}),
    ],
)
def test_metadata_merges(store: MemoryStore, change: dict[str, Any], metadata: dict[str, Any]) -> None:
    memory_id = stored(store)
    assert store.update(NAMESPACE, memory_id, **change).metadata == metadata
    assert store.get(NAMESPACE, memory_id).metadata == metadata


def test_an_update_of_the_text_keeps_all_else(world: World) -> None:
    memory_id = stored(world.memories)
    before = world.memories.get(NAMESPACE, memory_id)
    world.clock.advance(DAY)
    after = world.memories.update(NAMESPACE, memory_id, content="Alice lives in Bonn")
    kept = ("created_at", "tags", "data", "metadata", "kind", "source", "importance", "expires_at")
    assert [getattr(after, name) for name in kept] == [getattr(before, name) for name in kept]
    assert (after.version, (after.updated_at - before.updated_at).total_seconds()) == (2, DAY)


def test_an_update_is_found_by_its_new_words_only(store: MemoryStore) -> None:
    memory_id = stored(store)
    store.update(NAMESPACE, memory_id, content="Alice lives in Bonn")
    assert (contents(store, "Rome"), contents(store, "Bonn")) == ([], ["Alice lives in Bonn"])


def test_updates_of_one_moment_still_rise(world: World) -> None:
    memory_id = stored(world.memories)
    moments: list[datetime] = [
        world.memories.update(NAMESPACE, memory_id, importance=number / 10).updated_at for number in range(5)
    ]
    assert moments == sorted(set(moments))


def test_an_update_of_nothing_is_refused(store: MemoryStore) -> None:
    memory_id = stored(store)
    with pytest.raises(ValidationError, match="nothing to update"):
        store.update(NAMESPACE, memory_id)


def test_a_refused_update_changes_nothing(store: MemoryStore) -> None:
    memory_id = stored(store)
    before = store.get(NAMESPACE, memory_id)
    for change in ({"importance": 7}, {"content": ""}, {"metadata": {"a": "x" * 5_000}}, {"tags": "home"}):
        with pytest.raises(ValidationError):
            store.update(NAMESPACE, memory_id, **change)
    assert store.get(NAMESPACE, memory_id) == before


@pytest.mark.parametrize("expected_version", [0, -1, True, "1", 1.0])
def test_an_expected_version_that_is_no_version_is_refused(store: MemoryStore, expected_version: Any) -> None:
    memory_id = stored(store)
    with pytest.raises(ValidationError, match="version must be"):
        store.update(NAMESPACE, memory_id, content="new", expected_version=expected_version)


def test_an_outdated_version_is_a_conflict_that_says_both(store: MemoryStore) -> None:
    memory_id = stored(store)
    store.update(NAMESPACE, memory_id, importance=0.9, expected_version=1)
    with pytest.raises(ConflictError, match="is at version 2, not 1"):
        store.update(NAMESPACE, memory_id, importance=0.1, expected_version=1)


def test_what_is_not_there_cannot_be_updated(store: MemoryStore) -> None:
    with pytest.raises(NotFoundError):
        store.update(NAMESPACE, "nobody", content="new")


def test_a_process_that_dies_in_an_update_leaves_exactly_one_memory() -> None:
    for place in range(UPDATE.request_count()):
        world = UPDATE.world()
        die_at_request(world, at=place)
        try_to_die(partial(UPDATE.write, world.memories))
        memories = world.another_process().memories
        found = [memories.get(NAMESPACE, "units").content, *contents(memories, ""), *world.seen().listed]
        assert found in (["old"] * 3, ["new"] * 3), f"request {place}: {found}"
