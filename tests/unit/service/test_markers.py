"""Every namespace that has an index has the marker by which scheduled rounds find it."""

import pytest

from s3_agent_memory.domain.keys import head_key, marker_key
from s3_agent_memory.errors import ThrottledError
from tests.fakes.faulty_store import Fault
from tests.unit.service.worlds import NAMESPACE, PLACE, World


def is_marked(world: World) -> bool:
    return world.store.inner.get(marker_key(PLACE), size_max=1) is not None


def folded_world() -> World:
    world = World()
    world.memories.remember(NAMESPACE, "text")
    world.fold()
    return world


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("times", [1, 3])
def test_a_namespace_has_its_marker_before_its_manifest_whatever_happens(fault: Fault, times: int) -> None:
    world = World()
    world.memories.remember(NAMESPACE, "text")
    world.store.fail(fault, verb="put", key="/_namespaces/", times=times)
    seen: list[bool] = []
    world.store.run_before(lambda: seen.append(is_marked(world)), verb="put", key=head_key(PLACE))
    world.fold(parts=world.parts)
    assert (seen, world.store.is_used_up) == ([True], True)


def test_without_a_marker_there_is_no_manifest() -> None:
    world = World()
    world.memories.remember(NAMESPACE, "text")
    world.store.fail(Fault.LOST_REQUEST, verb="put", key="/_namespaces/", times=1_000)
    with pytest.raises(ThrottledError):
        world.fold(parts=world.parts)
    assert world.store.inner.get(head_key(PLACE), size_max=1) is None


@pytest.mark.parametrize("action", ["sweep", "reindex"])
def test_a_lost_marker_comes_back(action: str) -> None:
    world = folded_world()
    world.store.inner.delete(marker_key(PLACE))
    getattr(world.another_process().memories, action)(NAMESPACE)
    assert is_marked(world)


def test_a_sweep_makes_no_marker_of_a_namespace_that_is_not_there() -> None:
    world = World()
    world.memories.sweep(NAMESPACE)
    assert not is_marked(world)


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.LOST_REQUEST])
def test_an_erasure_makes_sure_of_the_marker(fault: Fault) -> None:
    world = World()
    world.store.fail(fault, verb="put", key="/_namespaces/")
    world.memories.erase(NAMESPACE, confirm=NAMESPACE, seconds_max=0)
    assert is_marked(world)
