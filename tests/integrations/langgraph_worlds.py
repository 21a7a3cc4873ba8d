"""A LangGraph store in memory with a settable clock, beside the memory store that keeps its items."""

from dataclasses import dataclass, field
from typing import Any

from s3_agent_memory.langgraph_store import S3Store
from tests.fakes.entropy import SeededEntropy
from tests.unit.service.worlds import World

ALICE = ("users", "alice")


@dataclass(slots=True)
class StoreWorld:
    """One world and LangGraph stores over it."""

    world: World = field(default_factory=World)

    def store(self, **options: Any) -> S3Store:
        """Return a LangGraph store of the process under test."""
        return S3Store(self.world.memories, clock=self.world.clock, entropy=SeededEntropy(7), **options)

    def advance_minutes(self, minutes: float) -> None:
        """Let time pass."""
        self.world.clock.advance(minutes * 60)
