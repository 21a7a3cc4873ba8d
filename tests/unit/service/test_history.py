"""Earlier versions: kept by every update, and gone with the memory whatever happens."""

import pytest

from s3_agent_memory.errors import NotFoundError
from s3_agent_memory.service.memories.history import VERSION_COUNT_MAX
from tests.fakes.clock import MINUTE
from tests.unit.service.scenarios import die_at_request, try_to_die
from tests.unit.service.worlds import NAMESPACE, World

ID = "home"


@pytest.fixture
def world() -> World:
    return World()


def kept(world: World) -> list[str]:
    """Return the keys of all earlier versions."""
    return world.store.keys_below(f"memory/{NAMESPACE}/_history/")


def remembered(world: World, *, version: int = 1) -> None:
    world.memories.remember(NAMESPACE, "text 1", id=ID)
    for number in range(2, version + 1):
        world.clock.advance(1)
        world.memories.update(NAMESPACE, ID, content=f"text {number}", source=f"chat:{number}")


def texts(world: World) -> list[str]:
    return [memory.content for memory in world.another_process().memories.history(NAMESPACE, ID).versions]


def test_a_memory_that_never_changed_has_one_version(world: World) -> None:
    remembered(world)
    assert texts(world) == ["text 1"]
    assert kept(world) == []


def test_every_version_is_kept_as_it_was_stored(world: World) -> None:
    remembered(world, version=3)
    versions = world.memories.history(NAMESPACE, ID).versions
    assert [(item.version, item.content, item.source) for item in versions] == [
        (1, "text 1", None),
        (2, "text 2", "chat:2"),
        (3, "text 3", "chat:3"),
    ]
    assert len({item.updated_at for item in versions}) == 3


def test_only_the_last_versions_are_kept(world: World) -> None:
    remembered(world, version=VERSION_COUNT_MAX + 5)
    assert len(kept(world)) == VERSION_COUNT_MAX
    assert texts(world) == [f"text {number}" for number in range(5, VERSION_COUNT_MAX + 6)]


def test_the_chain_goes_both_ways(world: World) -> None:
    first = world.memories.remember(NAMESPACE, "Oslo")
    world.clock.advance(1)
    second = world.memories.supersede(NAMESPACE, first.id, "Rome")
    world.clock.advance(1)
    third = world.memories.supersede(NAMESPACE, second.id, "Bonn")
    found = [world.memories.history(NAMESPACE, memory.id) for memory in (first, second, third)]
    assert [item.predecessors for item in found] == [(), (first,), (second, first)]
    assert [item.successors for item in found] == [(second, third), (third,), ()]


@pytest.mark.parametrize("version", [1, 2, 5])
def test_forgetting_leaves_no_version(world: World, version: int) -> None:
    remembered(world, version=version)
    world.memories.forget(NAMESPACE, ID)
    assert kept(world) == []
    with pytest.raises(NotFoundError):
        world.memories.history(NAMESPACE, ID)


def test_pruning_leaves_no_version(world: World) -> None:
    remembered(world, version=3)
    world.memories.update(NAMESPACE, ID, ttl=1)
    world.clock.advance(2)
    world.memories.prune_expired(NAMESPACE)
    assert kept(world) == []


@pytest.mark.parametrize("version", [1, 3])
def test_an_update_that_died_after_keeping_a_version_leaves_nothing_for_a_forget(world: World, version: int) -> None:
    remembered(world, version=version)
    die_at_request(world, verb="put", key="/semantic/")
    assert not try_to_die(lambda: world.memories.update(NAMESPACE, ID, content="never written"))
    assert texts(world)[-1] == f"text {version}"
    world.another_process().memories.forget(NAMESPACE, ID)
    assert kept(world) == []


@pytest.mark.parametrize("version", [1, 3])
def test_an_update_that_loses_against_a_forget_takes_back_what_it_kept(world: World, version: int) -> None:
    remembered(world, version=version)
    rival = world.another_process().memories
    world.store.run_before(lambda: rival.forget(NAMESPACE, ID), verb="put", key="/semantic/")
    with pytest.raises(NotFoundError):
        world.memories.update(NAMESPACE, ID, content="too late")
    assert kept(world) == []


@pytest.mark.parametrize("version", [1, 3])
def test_the_sweep_removes_what_an_update_that_died_after_a_forget_has_left(world: World, version: int) -> None:
    remembered(world, version=version)
    rival = world.another_process().memories
    world.store.run_before(lambda: rival.forget(NAMESPACE, ID), verb="put", key="/_history/")
    die_at_request(world, verb="put", key="/semantic/")
    assert not try_to_die(lambda: world.memories.update(NAMESPACE, ID, content="too late"))
    assert len(kept(world)) == 1
    world.clock.advance(MINUTE)
    rival.sweep(NAMESPACE)
    assert kept(world) == []


def test_the_sweep_leaves_the_versions_of_the_living_alone(world: World) -> None:
    remembered(world, version=3)
    world.another_process().memories.sweep(NAMESPACE)
    assert texts(world) == ["text 1", "text 2", "text 3"]


def test_a_resurrected_memory_has_no_version_from_before(world: World) -> None:
    remembered(world, version=3)
    world.memories.forget(NAMESPACE, ID)
    world.memories.remember(NAMESPACE, "again", id=ID, resurrect=True)
    world.memories.update(NAMESPACE, ID, content="and again")
    assert texts(world) == ["again", "and again"]


def test_nobody_takes_an_earlier_version_for_a_memory(world: World) -> None:
    remembered(world, version=3)
    world.another_process().memories.reindex(NAMESPACE)
    assert world.seen().is_exact
    assert world.seen().truth == ("text 3",)
    assert world.memories.namespaces() == [NAMESPACE]
