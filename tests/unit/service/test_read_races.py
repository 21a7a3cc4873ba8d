"""Readers while others write: old or new, never neither, never an error.

The rival does its whole work just before each request of the read in turn.
"""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.errors import NotFoundError
from tests.fakes.clock import DAY, HOUR, MINUTE
from tests.unit.service.worlds import NAMESPACE, World, contents

ID = "units"


OTHER = "other units"


def recall(memories: MemoryStore) -> list[str]:
    return contents(memories, "units")


def recall_eventually(memories: MemoryStore) -> list[str]:
    return contents(memories, "units", consistency="eventual")


def list_all(memories: MemoryStore) -> list[str]:
    return [memory.content for memory in memories.list(NAMESPACE).memories]


def get(memories: MemoryStore) -> list[str]:
    try:
        return [memories.get(NAMESPACE, ID).content]
    except NotFoundError:
        return []


Read = Callable[[MemoryStore], list[str]]
READS = (recall, list_all, get)


def remembered_world(*, is_warm: bool) -> World:
    world = World()
    world.memories.remember(NAMESPACE, "old units", id=ID)
    world.fold()
    world.memories.remember(NAMESPACE, OTHER)
    if is_warm:
        recall(world.memories)
    world.store.forget_requests()
    return world


def answers(
    read: Read, rival: Callable[[World], object], *, is_warm: bool = True, reads_backwards: bool = False
) -> Iterator[list[str]]:
    """Yield what the read finds of one memory when the rival acts just before each of its requests.

    The other memory, which is in the log and which nobody touches, is always found.
    """
    for place in range(100):
        world = remembered_world(is_warm=is_warm)
        world.store.reads_backwards = reads_backwards
        world.store.run_before(partial(rival, world), at=place)
        answer = read(world.memories)
        if not world.store.is_used_up:
            return
        assert OTHER in answer or read in {get, recall_eventually}, f"request {place}: {answer}"
        yield [content for content in answer if content != OTHER]


def update(world: World) -> None:
    world.another_process().memories.update(NAMESPACE, ID, content="new units")


def forget(world: World) -> None:
    world.another_process().memories.forget(NAMESPACE, ID)


def forget_and_resurrect(world: World) -> None:
    memories = world.another_process().memories
    memories.forget(NAMESPACE, ID)
    memories.remember(NAMESPACE, "new units", id=ID, resurrect=True)


def fold_and_clean_up(world: World) -> None:
    """Do what an indexer does in a minute and more: fold, stamp, and delete the log entries."""
    memories = world.another_process().memories
    memories.update(NAMESPACE, ID, content="new units")
    for _ in range(3):
        world.fold()
        world.clock.advance(MINUTE + 1)


def rebuild_and_collect(world: World) -> None:
    """Replace every index file and delete the replaced ones."""
    memories = world.another_process().memories
    memories.reindex(NAMESPACE)
    world.clock.advance(HOUR + 1)
    memories.sweep(NAMESPACE)


def stall_a_day(world: World) -> None:
    world.clock.advance(DAY)


@pytest.mark.parametrize("reads_backwards", [True, False])
@pytest.mark.parametrize("is_warm", [True, False])
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("rival", [update, fold_and_clean_up])
def test_a_reader_finds_the_old_or_the_new_content(
    read: Read, rival: Callable[[World], object], is_warm: bool, reads_backwards: bool
) -> None:
    for place, found in enumerate(answers(read, rival, is_warm=is_warm, reads_backwards=reads_backwards)):
        assert found in (["old units"], ["new units"]), f"request {place}: {found}"


@pytest.mark.parametrize("is_warm", [True, False])
@pytest.mark.parametrize("read", [*READS, recall_eventually])
@pytest.mark.parametrize("rival", [rebuild_and_collect, stall_a_day])
def test_a_reader_survives_that_its_files_are_replaced(
    read: Read, rival: Callable[[World], object], is_warm: bool
) -> None:
    for place, found in enumerate(answers(read, rival, is_warm=is_warm)):
        assert found == ["old units"], f"request {place}: {found}"


@pytest.mark.parametrize("is_warm", [True, False])
@pytest.mark.parametrize("read", [*READS, recall_eventually])
def test_a_reader_during_a_forget_finds_it_or_not(read: Read, is_warm: bool) -> None:
    for place, found in enumerate(answers(read, forget, is_warm=is_warm)):
        assert found in (["old units"], []), f"request {place}: {found}"


@pytest.mark.parametrize("read", READS)
def test_a_reader_during_a_resurrection_never_errs(read: Read) -> None:
    for place, found in enumerate(answers(read, forget_and_resurrect)):
        assert found in (["old units"], ["new units"], []), f"request {place}: {found}"


def test_get_reads_the_tombstone_after_the_object() -> None:
    world = remembered_world(is_warm=False)
    world.memories.get(NAMESPACE, ID, kind="semantic")
    folders = [request.key.removeprefix("memory/users/alice/").partition("/")[0] for request in world.store.requests]
    assert folders == ["semantic", "_tombstones"]


def test_get_of_an_object_that_a_later_version_replaced_reads_it_again() -> None:
    world = remembered_world(is_warm=False)
    # The tombstone covers what was read, but the resurrection has gone past it meanwhile.
    world.store.run_before(partial(forget_and_resurrect, world), verb="get", key="/_tombstones/")
    assert get(world.memories) == ["new units"]


def test_recall_drops_a_row_whose_object_is_older() -> None:
    world = remembered_world(is_warm=False)
    key = f"memory/{NAMESPACE}/semantic/{ID}.json"
    old = world.store.inner.get(key, size_max=2**20)
    assert old is not None
    update(world)
    world.store.inner.put(key, old.body)
    assert recall(world.memories) == [OTHER]


def test_recall_takes_the_newer_content_of_an_object_ahead_of_its_row() -> None:
    world = remembered_world(is_warm=False)
    update(world)
    assert recall_eventually(world.memories) == ["new units"]


def test_recall_fills_up_with_the_next_candidates_where_rows_are_stale() -> None:
    world = World()
    for number in range(30):
        world.memories.remember(NAMESPACE, f"units {number}", id=f"id{number}", importance=1 - number / 100)
    world.fold()
    for number in range(20):
        world.store.inner.delete(f"memory/{NAMESPACE}/semantic/id{number}.json")
    assert contents(world.memories, "units", limit=5) == [f"units {number}" for number in range(20, 25)]
