"""What a summariser of a consolidation answers: what is taken, what is refused, and when it is asked."""

from collections.abc import Sequence
from typing import Any

import pytest

from s3_agent_memory.domain.consolidation import MergeState, RunState
from s3_agent_memory.errors import ThrottledError
from tests.unit.service.worlds import NAMESPACE, World

DARK = ("The user prefers dark mode", "the user prefers DARK mode!")


class Answering:
    """Always answers the same, whether it is text or not."""

    name = "answering"

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.asked_count = 0

    def summarise(self, texts: Sequence[str]) -> str:
        assert texts
        self.asked_count += 1
        return self._answer


class Unswappable:
    """Records of a process that dies before it writes one."""

    def swap(self, *_: object) -> None:
        raise ThrottledError("died")


@pytest.fixture
def world() -> World:
    return World()


def contents(world: World) -> list[str]:
    return sorted(memory.content for memory in world.another_process().memories.list(NAMESPACE).memories)


@pytest.mark.parametrize("answer", ["Ok!", "x", "the the", "user murder is fine", "Mode", "", None, b"dark mode"])
def test_an_answer_that_is_no_summary_merges_nothing(world: World, answer: Any) -> None:
    for text in DARK:
        world.memories.remember(NAMESPACE, text)
    run = world.memories.consolidate(NAMESPACE, summariser=Answering(answer))
    assert (run.state, [merge.state for merge in run.merges]) == (RunState.APPLIED, [MergeState.SKIPPED])
    assert len(contents(world)) == 2


@pytest.mark.parametrize(
    "answer",
    ["The user prefers dark mode and likes it", "Dark mode is preferred by the user", "User prefers dark mode."],
)
def test_an_answer_in_other_words_is_taken(world: World, answer: str) -> None:
    for text in DARK:
        world.memories.remember(NAMESPACE, text)
    world.memories.consolidate(NAMESPACE, summariser=Answering(answer))
    assert contents(world) == [answer]


def test_a_model_is_not_asked_for_what_a_process_that_died_has_written(world: World) -> None:
    for text in DARK:
        world.memories.remember(NAMESPACE, text)
    run = world.memories.consolidate(NAMESPACE, has_time=lambda: False)
    applier = world.parts.services.consolidations.consolidator._applier
    applier._runs = Unswappable()  # type: ignore[assignment]
    with pytest.raises(ThrottledError):
        world.memories.consolidate(NAMESPACE)
    model = Answering("asked")
    finished = world.another_process().memories.consolidate(NAMESPACE, summariser=model)
    assert (finished.id, [merge.state for merge in finished.merges]) == (run.id, [MergeState.MERGED])
    assert model.asked_count == 0
