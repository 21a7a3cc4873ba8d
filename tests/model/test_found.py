"""What the rules have found, each as the shortest way there."""

import pytest

from s3_agent_memory.domain.keys import TruthKey, index_prefix
from s3_agent_memory.domain.kinds import Kind
from tests.fakes.clock import HOUR
from tests.unit.service.worlds import NAMESPACE, PLACE, World, contents


def lose_the_index(world: World) -> None:
    world.clock.advance(HOUR)
    world.store.inner.delete_many(world.store.keys_below(index_prefix(PLACE)))


def test_a_process_that_saw_an_empty_namespace_notices_that_its_index_is_lost() -> None:
    world = World()
    assert contents(world.memories, "") == []
    world.another_process().memories.remember(NAMESPACE, "text")
    lose_the_index(world)
    assert contents(world.memories, "") == ["text"]


@pytest.mark.parametrize("is_hinted", [True, False])
def test_a_fold_does_not_hide_that_the_index_is_lost(is_hinted: bool) -> None:
    world = World()
    world.memories.remember(NAMESPACE, "old text")
    world.fold()
    lose_the_index(world)
    stored = world.memories.remember(NAMESPACE, "new text")
    if is_hinted:
        world.another_process().indexer.run([TruthKey(PLACE, Kind.SEMANTIC, stored.id)])
    else:
        world.another_process().services.housekeeper.tidy(PLACE)
    assert sorted(contents(world.memories, "text")) == ["new text", "old text"]
