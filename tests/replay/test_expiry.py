"""An expired memory is never returned again, whether or not anything pruned it; a read cannot revive it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.errors import ConflictError, ForgottenError, NotFoundError, ValidationError
from tests.fakes.clock import DAY, MINUTE
from tests.unit.service.worlds import NAMESPACE, World

ID = "short"


def get(memories: MemoryStore) -> list[str]:
    try:
        return [memories.get(NAMESPACE, ID).id]
    except NotFoundError:
        return []


READS: dict[str, Callable[[MemoryStore], list[str]]] = {
    "get": get,
    "recall": lambda memories: [hit.memory.id for hit in memories.recall(NAMESPACE, "text")],
    "recall all": lambda memories: [hit.memory.id for hit in memories.recall(NAMESPACE, "")],
    "list": lambda memories: [memory.id for memory in memories.list(NAMESPACE).memories],
    "export": lambda memories: [json.loads(line)["id"] for line in memories.export(NAMESPACE)],
}


def short_lived(*, is_folded: bool) -> World:
    world = World()
    world.memories.remember(NAMESPACE, "text", id=ID, ttl=1)
    if is_folded:
        world.fold()
    return world


@pytest.mark.parametrize("read", READS)
def test_a_memory_is_there_until_its_last_moment(read: str) -> None:
    world = short_lived(is_folded=False)
    world.clock.advance(0.999_999)
    assert READS[read](world.memories) == [ID]


@pytest.mark.parametrize("is_folded", [False, True])
@pytest.mark.parametrize("read", READS)
def test_a_memory_is_gone_at_its_expiry_without_a_pruner(read: str, is_folded: bool) -> None:
    world = short_lived(is_folded=is_folded)
    world.clock.advance(1)
    assert READS[read](world.memories) == []
    assert READS[read](world.another_process().memories) == []


def test_reading_does_not_postpone_expiry(world: World) -> None:
    world.memories.remember(NAMESPACE, "text", id=ID, ttl=10)
    for _ in range(10):
        assert all(read(world.memories) == [ID] for read in READS.values())
        world.clock.advance(1)
    assert all(read(world.memories) == [] for read in READS.values())


@pytest.mark.parametrize("change", [{"ttl": DAY}, {"ttl": None}, {"expires_at": None}, {"content": "new"}])
def test_an_update_does_not_revive_what_has_expired(world: World, change: dict[str, Any]) -> None:
    world.memories.remember(NAMESPACE, "text", id=ID, ttl=1)
    world.clock.advance(1)
    with pytest.raises(NotFoundError):
        world.memories.update(NAMESPACE, ID, **change)
    assert all(read(world.memories) == [] for read in READS.values())


def test_an_update_in_time_moves_expiry(world: World) -> None:
    world.memories.remember(NAMESPACE, "text", id=ID, ttl=1)
    world.memories.update(NAMESPACE, ID, ttl=10)
    world.clock.advance(5)
    assert all(read(world.memories) == [ID] for read in READS.values())
    world.clock.advance(5)
    assert all(read(world.memories) == [] for read in READS.values())


def test_an_eventual_answer_never_has_what_has_expired(world: World) -> None:
    world.memories.remember(NAMESPACE, "text", id=ID)
    world.fold()
    world.memories.update(NAMESPACE, ID, ttl=1)
    world.clock.advance(1)
    assert list(world.memories.recall(NAMESPACE, "text", consistency="eventual")) == []
    assert world.memories.list(NAMESPACE, consistency="eventual").memories == ()


def test_an_update_of_other_fields_keeps_expiry(world: World) -> None:
    before = world.memories.remember(NAMESPACE, "text", id=ID, ttl=10)
    assert world.memories.update(NAMESPACE, ID, content="new").expires_at == before.expires_at


def test_the_id_of_an_expired_memory_needs_resurrect(world: World) -> None:
    world.memories.remember(NAMESPACE, "text", id=ID, ttl=1)
    with pytest.raises(ConflictError):
        world.memories.remember(NAMESPACE, "new", id=ID, resurrect=True)
    world.clock.advance(1)
    with pytest.raises(ForgottenError):
        world.memories.remember(NAMESPACE, "new", id=ID)
    assert world.memories.remember(NAMESPACE, "new", id=ID, resurrect=True).version == 2


def test_pages_stay_full_where_many_have_expired(world: World) -> None:
    for number in range(120):
        world.memories.remember(NAMESPACE, f"text {number}", ttl=None if number % 4 == 0 else MINUTE)
        world.clock.advance(0.001)
    world.fold()
    world.clock.advance(MINUTE)
    page = world.memories.list(NAMESPACE, limit=20)
    hits = world.memories.recall(NAMESPACE, "text", limit=20)
    assert (len(page.memories), len(hits)) == (20, 20)


def test_expired_memories_are_counted_until_they_are_pruned(world: World) -> None:
    world.memories.remember(NAMESPACE, "short", ttl=1)
    world.memories.remember(NAMESPACE, "long")
    world.clock.advance(1)
    assert (world.memories.stats(NAMESPACE).memories, world.memories.stats(NAMESPACE).expired) == (2, 1)
    assert world.memories.prune_expired(NAMESPACE).forgotten == 1
    assert (world.memories.stats(NAMESPACE).memories, world.memories.stats(NAMESPACE).expired) == (1, 0)


def test_a_pruner_leaves_what_was_resurrected_meanwhile(world: World) -> None:
    world.memories.remember(NAMESPACE, "text", id=ID, ttl=1)
    world.clock.advance(1)
    other = world.another_process().memories
    world.store.run_before(
        lambda: other.remember(NAMESPACE, "again", id=ID, resurrect=True), verb="get", key="/semantic/"
    )
    assert world.memories.prune_expired(NAMESPACE).forgotten == 0
    assert world.memories.get(NAMESPACE, ID).content == "again"


@pytest.mark.parametrize("ttl", [0, -1, True, "60", float("nan"), float("inf"), 10**15])
def test_a_time_to_live_that_makes_no_sense_is_refused(world: World, ttl: Any) -> None:
    with pytest.raises(ValidationError, match="ttl must"):
        world.memories.remember(NAMESPACE, "text", ttl=ttl)


def test_ttl_and_expires_at_exclude_each_other(world: World) -> None:
    with pytest.raises(ValidationError, match="ttl or expires_at"):
        world.memories.remember(NAMESPACE, "text", ttl=1, expires_at="2099-01-01T00:00:00Z")
