"""Writers of a store without functions look after the log now and then; readers never do."""

import logging

import pytest

from s3_agent_memory.service.upkeep.housekeeper import FOLD_AGE_MS, FOLD_ENTRY_COUNT, FOLD_INLINE_ENTRY_COUNT, Folding
from tests.fakes.clock import HOUR
from tests.fakes.faulty_store import Fault
from tests.unit.service.worlds import NAMESPACE, World, contents


def write(world: World, count: int) -> None:
    for number in range(count):
        world.memories.remember(NAMESPACE, f"text {number}")


@pytest.fixture
def lazy() -> World:
    """A world whose process folds lazily."""
    return World(folding=Folding.LAZY)


def test_a_process_folds_with_every_64th_write(lazy: World) -> None:
    write(lazy, FOLD_ENTRY_COUNT - 1)
    assert lazy.index_files("segments") == []
    write(lazy, 1)
    assert len(lazy.index_files("segments")) == 1


def test_a_write_after_a_reader_saw_an_old_log_folds(lazy: World) -> None:
    write(lazy, 2)
    lazy.clock.advance(FOLD_AGE_MS / 1_000 + 1)
    contents(lazy.memories, "text")
    assert lazy.index_files("segments") == []
    write(lazy, 1)
    assert len(lazy.index_files("segments")) == 1


def test_a_write_after_a_reader_saw_a_long_log_folds(lazy: World) -> None:
    other = lazy.another_process().memories
    for number in range(FOLD_ENTRY_COUNT):
        other.remember(NAMESPACE, f"text {number}")
    contents(lazy.memories, "text")
    write(lazy, 1)
    assert len(lazy.index_files("segments")) == 1


def test_reads_alone_never_fold(lazy: World) -> None:
    write(lazy, FOLD_ENTRY_COUNT - 1)
    lazy.clock.advance(HOUR)
    for _ in range(3):
        contents(lazy.memories, "text")
    assert lazy.index_files("segments") == []


def test_namespaces_are_counted_apart(lazy: World) -> None:
    for number in range(FOLD_ENTRY_COUNT):
        lazy.memories.remember(f"users/{number % 2}", "text")
    assert not [key for key in lazy.store.keys_below() if "/segments/" in key]


def test_beside_an_indexer_a_writer_folds_only_a_very_long_log() -> None:
    world = World(folding=Folding.INLINE)
    write(world, FOLD_INLINE_ENTRY_COUNT)
    assert world.index_files("segments") == []
    contents(world.memories, "text 1")
    write(world, 1)
    assert len(world.index_files("segments")) == 1


def test_a_fold_that_fails_does_not_fail_the_write(lazy: World, caplog: pytest.LogCaptureFixture) -> None:
    write(lazy, FOLD_ENTRY_COUNT - 1)
    lazy.store.fail(Fault.LOST_REQUEST, verb="get", key="/HEAD")
    with caplog.at_level(logging.WARNING):
        stored = lazy.memories.remember(NAMESPACE, "the last one")
    assert lazy.memories.get(NAMESPACE, stored.id).content == "the last one"
    assert caplog.messages == [f"folding {NAMESPACE} failed: backend"]


def test_many_lazy_writes_keep_the_index_small(lazy: World) -> None:
    for _ in range(20):
        write(lazy, FOLD_ENTRY_COUNT)
        lazy.clock.advance(2 * HOUR)
    assert len(lazy.manifest.segments) < 10
    assert len(lazy.index_files("log")) <= 2 * FOLD_ENTRY_COUNT
    assert len(lazy.index_files("segments")) <= 12
    assert lazy.memories.stats(NAMESPACE).memories == 20 * FOLD_ENTRY_COUNT
