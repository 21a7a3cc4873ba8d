"""Reading and looking after the index never touch a memory; a read never writes at all."""

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from tests.fakes.clock import HOUR
from tests.unit.service.worlds import NAMESPACE, World


@pytest.fixture
def kept(world: World) -> World:
    for number in range(12):
        world.memories.remember(NAMESPACE, f"text {number}", id=f"id{number}")
        world.clock.advance(1)
        world.fold()
    world.memories.update(NAMESPACE, "id3", importance=0.9)
    world.memories.forget(NAMESPACE, "id4")
    world.clock.advance(2 * HOUR)
    return world


def bytes_of_memories(world: World) -> dict[str, bytes]:
    """Return every object of truth as it lies in the store."""
    keys = [key for key in world.store.keys_below("memory/") if "/_index/" not in key]
    bodies = {key: world.store.inner.get(key, size_max=2**20) for key in keys}
    return {key: found.body for key, found in bodies.items() if found is not None}


def read_everything(memories: MemoryStore) -> None:
    for query in ("text", "", "unheard"):
        memories.recall(NAMESPACE, query, limit=100, explain=True)
        memories.recall(NAMESPACE, query, consistency="eventual", filter={"importance": {"$gt": 0.1}})
    memories.list(NAMESPACE, limit=100)
    memories.get(NAMESPACE, "id1")
    memories.stats(NAMESPACE)
    memories.namespaces()
    list(memories.export(NAMESPACE, include_expired=True))


def test_a_read_never_writes(kept: World) -> None:
    kept.store.forget_requests()
    for _ in range(3):
        read_everything(kept.memories)
    assert [request for request in kept.store.requests if request.is_write] == []


def test_a_read_of_an_empty_store_never_writes(world: World) -> None:
    world.memories.recall(NAMESPACE, "text")
    world.memories.list(NAMESPACE)
    assert not any(request.is_write for request in world.store.requests)
    assert world.store.keys_below() == []


@pytest.mark.parametrize("action", ["reindex", "sweep", "prune_expired", "stats"])
def test_looking_after_the_index_changes_no_memory(kept: World, action: str) -> None:
    before = bytes_of_memories(kept)
    getattr(kept.memories, action)(NAMESPACE)
    kept.clock.advance(2 * HOUR)
    getattr(kept.memories, action)(NAMESPACE)
    assert bytes_of_memories(kept) == before


def test_a_recall_changes_no_ranking(kept: World) -> None:
    first = [(hit.memory.id, hit.score) for hit in kept.memories.recall(NAMESPACE, "text 3", limit=100)]
    for _ in range(5):
        kept.memories.recall(NAMESPACE, "text 7")
    again = [(hit.memory.id, hit.score) for hit in kept.memories.recall(NAMESPACE, "text 3", limit=100)]
    assert again == first
