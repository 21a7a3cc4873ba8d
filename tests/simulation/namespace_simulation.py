"""What simulations of one namespace have in common: instances that live through a world with faults, then quiet."""

import random
from collections.abc import Callable

from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.errors import AgentMemoryError, CorruptError
from s3_agent_memory.service.upkeep.housekeeper import Folding
from s3_agent_memory.storage.retry import RetryPolicy
from tests.simulation.ports import SimulatedClock, SimulatedEntropy, SimulatedObjectStore
from tests.simulation.world import SECOND_US, Actor, Result, ViolationError, World

NAMESPACE = "sim/ns"
ACTOR_COUNT_MAX = 8
ALONE_STEPS_MAX = 60_000
LIFE_S = 900


class NamespaceSimulation:
    """One world with one namespace; a subclass says who acts in it, how often, and what must hold in the end.

    Attributes:
        turn_count: turns before it becomes quiet.
        weights: how likely each call is, by the name of the method that starts it.
        instances: processes that share the bucket.
    """

    turn_count: int
    weights: dict[str, float]
    instances: list[Parts]

    def __init__(self, seed: int, *, is_traced: bool = False) -> None:
        self.world = World(seed, is_traced=is_traced)
        self.rng: random.Random = self.world.rng

    def instance(self) -> Parts:
        """Return a process with a clock and caches of its own."""
        return Parts(
            Settings(url="memory://"),
            store=SimulatedObjectStore(self.world),
            clock=SimulatedClock(self.world, self.rng.uniform(-2, 2)),
            entropy=SimulatedEntropy(self.rng),
            retry_policy=RetryPolicy(attempt_count_max=self.rng.choice([8, 40])),
            folding=self.rng.choice([Folding.LAZY, Folding.INLINE]),
        )

    def run(self) -> Result:
        violation: str | None = None
        try:
            self._live()
            self.world.hush()
            self.check_in_the_end()
        except ViolationError as error:
            violation = str(error)
        finally:
            for actor in list(self.world.actors):
                actor.on_crash = lambda: None
                self.world.crash(actor)
        return Result(self.world.seed, violation, self.world.counts, self.world.trace)

    def check_in_the_end(self) -> None:
        """Bring everything to rest and check what must hold then."""
        raise NotImplementedError

    def _live(self) -> None:
        for _ in range(self.turn_count):
            if len(self.world.actors) < ACTOR_COUNT_MAX and self.rng.random() < 0.3:
                what = self.rng.choices(list(self.weights), list(self.weights.values()))[0]
                getattr(self, what)(self.rng.choice(self.instances))
            if self.rng.random() < 0.003:
                self.instances[self.rng.randrange(len(self.instances))] = self.instance()
            self.world.turn()

    def start(self, name: str, call: Callable[[], object], *, life_s: float = LIFE_S) -> Actor:
        """Let a caller begin something, and count how it ends."""

        def run() -> None:
            try:
                call()
            except CorruptError as error:
                raise ViolationError(f"{name}: {error}") from error
            except AgentMemoryError as error:
                self.world.counts[f"{name} answered {error.code}"] += 1
            else:
                self.world.counts[name] += 1

        return self.world.spawn(Actor(name, run, self.world.now_us + life_s * SECOND_US))

    def alone(self, name: str, call: Callable[[], object]) -> None:
        """Do something while nobody else does anything; it has to succeed."""
        before = self.world.counts[name]
        self.start(name, call, life_s=float("inf"))
        for _ in range(ALONE_STEPS_MAX):
            if not self.world.actors:
                break
            actor = self.world.actors[0]
            self.world.now_us = max(self.world.now_us + SECOND_US // 100, actor.wake_us)
            self.world.step(actor)
        if self.world.counts[name] == before:
            raise ViolationError(f"{name} does not succeed, alone and without faults")
