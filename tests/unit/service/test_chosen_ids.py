"""An id belongs to one kind for ever, whoever made it; each attempt to write it has bytes of its own."""

from datetime import timedelta

import pytest

from s3_agent_memory.errors import ConflictError, ForgottenError
from tests.fakes.faulty_store import Fault
from tests.unit.service.scenarios import die_at_request, try_to_die
from tests.unit.service.worlds import NAMESPACE, World


def test_a_chosen_id_that_was_generated_under_another_kind_is_a_conflict(world: World) -> None:
    generated = world.memories.remember(NAMESPACE, "old")
    with pytest.raises(ConflictError, match="belongs to the kind semantic"):
        world.memories.remember(NAMESPACE, "new", id=generated.id, kind="episodic")
    assert world.seen().truth == ("old",)


def test_an_id_keeps_its_kind_after_it_was_forgotten(world: World) -> None:
    world.memories.remember(NAMESPACE, "old", id="a")
    world.memories.forget(NAMESPACE, "a")
    with pytest.raises(ConflictError, match="belongs to the kind semantic"):
        world.memories.remember(NAMESPACE, "new", id="a", kind="episodic", resurrect=True)


def test_a_generated_id_keeps_its_kind_after_it_was_forgotten(world: World) -> None:
    generated = world.memories.remember(NAMESPACE, "old")
    world.memories.forget(NAMESPACE, generated.id)
    with pytest.raises(ConflictError, match="belongs to the kind semantic"):
        world.memories.remember(NAMESPACE, "new", id=generated.id, kind="episodic", resurrect=True)


def test_a_forgotten_id_is_refused_unless_it_is_to_be_resurrected(world: World) -> None:
    world.memories.remember(NAMESPACE, "old", id="a")
    world.memories.forget(NAMESPACE, "a")
    with pytest.raises(ForgottenError):
        world.memories.remember(NAMESPACE, "new", id="a")
    assert world.memories.remember(NAMESPACE, "new", id="a", resurrect=True).version == 2


def test_a_refused_id_is_not_claimed(world: World) -> None:
    generated = world.memories.remember(NAMESPACE, "old")
    with pytest.raises(ConflictError):
        world.memories.remember(NAMESPACE, "new", id=generated.id, kind="episodic")
    world.memories.forget(NAMESPACE, generated.id)
    assert world.memories.remember(NAMESPACE, "again", id=generated.id, resurrect=True).kind == "semantic"


def test_a_writer_that_died_after_its_claim_blocks_nobody(world: World) -> None:
    die_at_request(world, verb="put", key="/semantic/")
    try_to_die(lambda: world.memories.remember(NAMESPACE, "old", id="a"))
    assert world.another_process().memories.remember(NAMESPACE, "new", id="a").version == 1


@pytest.mark.parametrize("memory_id", [None, "a"])
@pytest.mark.parametrize("fault", [Fault.LOST_REQUEST, Fault.REFUSED, Fault.THROTTLED])
def test_every_attempt_is_later_than_the_one_before(world: World, memory_id: str | None, fault: Fault) -> None:
    world.store.fail(fault, verb="put", key="/semantic/", times=3)
    memory = world.memories.remember(NAMESPACE, "text", id=memory_id)
    assert memory.updated_at - memory.created_at == timedelta(microseconds=3)


def test_a_forgotten_generated_id_cannot_come_back_by_a_late_write(world: World) -> None:
    world.store.late_request_count = 10
    world.store.fail(Fault.LATE_EFFECT, verb="put", key="/semantic/")
    memory = world.memories.remember(NAMESPACE, "text")
    world.memories.forget(NAMESPACE, memory.id)
    world.store.deliver_late()
    assert world.memories.list(NAMESPACE).memories == ()
    assert list(world.memories.export(NAMESPACE)) == []


@pytest.mark.parametrize("late_request_count", [1, 2, 3, 4])
@pytest.mark.parametrize("memory_id", [None, "a"])
@pytest.mark.parametrize("fault", Fault)
def test_what_is_returned_is_what_was_stored(fault: Fault, memory_id: str | None, late_request_count: int) -> None:
    world = World()
    world.store.late_request_count = late_request_count
    world.store.fail(fault, verb="put", key="/semantic/")
    memory = world.memories.remember(NAMESPACE, "text", id=memory_id)
    assert world.memories.get(NAMESPACE, memory.id) == memory
