"""Paging to the end while others write: no duplicate, nothing unchanged missed, and nonsense is refused."""

import base64
import json
from random import Random
from typing import Any

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.errors import ValidationError
from tests.unit.service.worlds import NAMESPACE, World

COUNT = 1_137


@pytest.fixture
def large(world: World) -> World:
    """1,137 memories, some of one moment, most of them folded."""
    for number in range(COUNT):
        world.memories.remember(NAMESPACE, f"text {number}", id=f"id{number:04}", tags=[f"t{number % 2}"])
        if number % 3 == 0:
            world.clock.advance(0.001)
        if number == COUNT - 50:
            world.fold()
    return world


def pages_of(memories: MemoryStore, **options: Any) -> Any:
    cursor = None
    for _ in range(10_000):
        page = memories.list(NAMESPACE, cursor=cursor, **options)
        yield [memory.id for memory in page.memories]
        cursor = page.next_cursor
        if cursor is None:
            return


@pytest.mark.parametrize("limit", [1_00, 7, 50])
def test_pages_are_full_and_have_everything_once_and_in_order(large: World, limit: int) -> None:
    pages = list(pages_of(large.memories, limit=limit))
    ids = [memory_id for page in pages for memory_id in page]
    assert sorted(ids) == [f"id{number:04}" for number in range(COUNT)]
    assert {len(page) for page in pages[:-1]} == {limit}
    moments = [large.memories.get(NAMESPACE, memory_id, kind="semantic").updated_at for memory_id in ids]
    assert moments == sorted(moments, reverse=True)


def test_a_last_page_that_is_exactly_full_has_no_next(world: World) -> None:
    for number in range(10):
        world.memories.remember(NAMESPACE, f"text {number}")
    assert [len(page) for page in pages_of(world.memories, limit=5)] == [5, 5]


@pytest.mark.parametrize("seed", range(3))
def test_pages_miss_nothing_unchanged_while_others_write(large: World, seed: int) -> None:
    random = Random(seed)
    other = large.another_process().memories
    untouched = {f"id{number:04}" for number in range(COUNT)}
    met: list[str] = []
    for page in pages_of(large.memories, limit=40):
        met.extend(page)
        for _ in range(5):
            memory_id = f"id{random.randrange(COUNT):04}"
            if memory_id in untouched:
                untouched.discard(memory_id)
                if random.random() < 0.5:
                    other.forget(NAMESPACE, memory_id)
                else:
                    other.update(NAMESPACE, memory_id, importance=0.9)
            other.remember(NAMESPACE, "new")
        large.clock.advance(0.001)
        if random.random() < 0.2:
            large.fold()
    originals = [memory_id for memory_id in met if memory_id.startswith("id")]
    assert len(met) == len(set(met)), f"seed {seed}"
    assert untouched <= set(originals), f"seed {seed}"


def test_filtered_pages_are_full(large: World) -> None:
    pages = list(pages_of(large.memories, limit=50, tags=["t1"]))
    assert {len(page) for page in pages[:-1]} == {50}
    assert sum(len(page) for page in pages) == COUNT // 2


@pytest.mark.parametrize("limit", [0, -1, 101, 5_000, "abc", "10", 1.5, None, True, [10]])
@pytest.mark.parametrize("action", ["list", "recall"])
def test_a_limit_that_makes_no_sense_is_refused_with_the_cap(world: World, action: str, limit: Any) -> None:
    arguments = (NAMESPACE, "text") if action == "recall" else (NAMESPACE,)
    with pytest.raises(ValidationError, match="limit must be a whole number from 1 to 100"):
        getattr(world.memories, action)(*arguments, limit=limit)


@pytest.mark.parametrize(
    "cursor",
    [
        *["", "abc", "!!!", "ü", "W10", "e30", "AAAA" * 1_000, 7, b"abc", ["a"]],
        base64.urlsafe_b64encode(json.dumps([1, "id", "wrong scope"]).encode()).decode(),
        base64.urlsafe_b64encode(json.dumps([2**70, "id", "x"]).encode()).decode(),
    ],
)
def test_a_cursor_of_nobody_is_refused(world: World, cursor: Any) -> None:
    with pytest.raises(ValidationError, match="cursor must be"):
        world.memories.list(NAMESPACE, cursor=cursor)


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"namespace": "users/bob"},
        {"kind": "semantic"},
        {"tags": ["t0"]},
        {"filter": {"source": "chat"}},
    ],
)
def test_a_cursor_of_another_list_is_refused(world: World, elsewhere: dict[str, Any]) -> None:
    for number in range(3):
        world.memories.remember(NAMESPACE, f"text {number}")
    cursor = world.memories.list(NAMESPACE, limit=1).next_cursor
    assert cursor is not None
    with pytest.raises(ValidationError, match="cursor must be the next_cursor of a page of the same list"):
        world.memories.list(**{"namespace": NAMESPACE, "cursor": cursor, **elsewhere})


def test_a_cursor_outlives_its_process_and_the_memory_it_stands_at(world: World) -> None:
    for number in range(6):
        world.memories.remember(NAMESPACE, f"text {number}", id=f"id{number}")
        world.clock.advance(1)
    page = world.memories.list(NAMESPACE, limit=3)
    world.memories.forget(NAMESPACE, page.memories[-1].id)
    world.another_process().memories.reindex(NAMESPACE)
    rest = world.another_process().memories.list(NAMESPACE, limit=3, cursor=page.next_cursor)
    assert [memory.id for memory in rest.memories] == ["id2", "id1", "id0"]
