"""Interleavings too rare for dice, played by hand; each goes wrong only with the mistake it is about."""

import pytest

from s3_agent_memory.bootstrap import Parts
from s3_agent_memory.service.grace import ORPHAN_AGE_MS, TRASH_GRACE_MS
from tests.simulation.callers import actor_of
from tests.simulation.mutations import applied
from tests.simulation.oracle import Op
from tests.simulation.simulation import Simulation
from tests.simulation.world import SECOND_US, ViolationError, folder_of

STEPS_MAX = 2_000


class Stage:
    """A simulation without dice: calls go on exactly as far as they are told to."""

    def __init__(self) -> None:
        self.simulation = Simulation(1)
        self.world = self.simulation.world
        self.world.has_faults = False
        self.simulation.callers.ttl_chance = 0.0

    def start(self, what: str, parts: Parts, **fixed: object) -> Op:
        return self.simulation.callers.start(what, parts, **fixed)

    def go(self, op: Op, verb: str = "", folder: str = "") -> Op:
        """Let a call run until its next request is ``verb`` on ``folder`` (not sent yet), or to its end."""
        actor = actor_of(op)
        for _ in range(STEPS_MAX):
            if actor not in self.world.actors:
                return op
            request = actor.request
            if request is not None and request.verb == verb and folder_of(request.key) == folder:
                return op
            self.world.now_us = max(self.world.now_us + SECOND_US // 100, actor.wake_us)
            self.world.step(actor)
        raise RuntimeError("the call does not end")

    def wait(self, milliseconds: int) -> None:
        self.world.now_us += milliseconds * 1_000


def a_fold_sleeps_while_its_upload_is_collected() -> None:
    """A laptop closes between reading the manifest and swapping it; a day later the collector comes by."""
    stage = Stage()
    here, elsewhere = stage.simulation._instance(), stage.simulation._instance()
    stage.go(stage.start("create", here))
    stage.go(stage.start("index", here))
    stage.go(stage.start("create", here))
    sleeper = stage.go(stage.start("index", here), "put", "HEAD")
    stage.wait(2 * ORPHAN_AGE_MS)
    stage.go(stage.start("collect", elsewhere))
    stage.go(sleeper)
    stage.go(stage.start("recall", elsewhere))


def a_swap_without_an_answer_is_repeated_much_later() -> None:
    """The swap happened, the answer was lost; the segment is merged away and collected before the writer looks."""
    stage = Stage()
    here, elsewhere = stage.simulation._instance(), stage.simulation._instance()
    stage.go(stage.start("create", here))
    sleeper = stage.go(stage.start("index", here), "put", "HEAD")
    stage.world.lose_next_answer = True
    stage.world.step(actor_of(sleeper))
    stage.go(stage.start("reindex", elsewhere))
    stage.wait(2 * TRASH_GRACE_MS)
    stage.go(stage.start("sweep", elsewhere))
    stage.wait(2 * TRASH_GRACE_MS)
    stage.go(stage.start("collect", elsewhere))
    stage.go(sleeper)
    stage.go(stage.start("recall", elsewhere))


STORIES = {
    "no_fence_before_orphans": a_fold_sleeps_while_its_upload_is_collected,
    "swaps_doubted_for_ever": a_swap_without_an_answer_is_repeated_much_later,
}


@pytest.mark.parametrize("name", STORIES)
def test_the_product_survives(name: str) -> None:
    STORIES[name]()


@pytest.mark.parametrize("name", STORIES)
def test_the_mistake_is_noticed(name: str) -> None:
    with applied(name), pytest.raises(ViolationError):
        STORIES[name]()
