"""One seeded run of consolidations, undoings and prunes against writes, updates, forgets and erasures, with faults.

Some facts are sacred: callers only ever tell them. From the moment one is acknowledged it must be told, after every
single request, by an object that nobody names. The other facts are changed and forgotten as chance has it.
"""

from __future__ import annotations

import json

from s3_agent_memory.bootstrap import Parts
from s3_agent_memory.domain.consolidation import ConsolidationRun, MergeState, RunState
from s3_agent_memory.domain.keys import parse_truth_key
from tests.simulation.namespace_simulation import NAMESPACE, NamespaceSimulation
from tests.simulation.world import SECOND_US, Chances, Result, SimObject, ViolationError

MEMORY_COUNT_MAX = 40
DAY_US = 86_400 * SECOND_US
# Few copies of each: a fact that is told often survives any mistake.
FACTS = ("Alice likes tea", "Bob paid Carol", "Carol paid Bob", *(f"Dave has {count} cats" for count in range(9)))
TOLD = (str, str.lower, str.upper, "{}!".format, "  {}".format)


def fact_of(content: str) -> str:
    return content.strip(" !").lower()


class ConsolidationSimulation(NamespaceSimulation):
    """One world with one namespace."""

    def __init__(self, seed: int, *, is_traced: bool = False) -> None:
        super().__init__(seed, is_traced=is_traced)
        rng = self.rng
        self.world.watcher = self._watch
        self.world.chances = Chances(
            fault=rng.choice([0.003, 0.01, 0.03]),
            stall=rng.choice([0.01, 0.04]),
            stall_seconds=(1, 10, 70, 300, 800, 90_000),
            crash=rng.choice([0.002, 0.01]),
            jump=rng.choice([0.0, 0.01, 0.03]),
            jump_seconds=(5, 70, 1_000, 90_000),
        )
        self.memories: dict[str, dict] = {}
        self.sacred: set[str] = set()
        self.undo_days = rng.choice([0.0, 0.001, 1.0, 7.0])
        self.turn_count = rng.choice([600, 1_500])
        self.weights = {
            "tell": 5.0,
            "change": rng.choice([0.0, 2.0]),
            "forget": rng.choice([0.0, 1.0]),
            "consolidate": rng.choice([1.0, 4.0]),
            "undo": rng.choice([0.0, 1.0, 3.0]),
            "prune": rng.choice([0.3, 2.0]),
            "sweep": 0.3,
            "read": 1.0,
            "erase": rng.choice([0.0, 0.0, 0.1]),
        }
        self.instances = [self.instance() for _ in range(rng.choice([1, 2, 3]))]

    # --- what is true -------------------------------------------------------------------------------------------------

    def _watch(self, verb: str, key: str, _old: SimObject | None, new: SimObject | None) -> None:
        truth = parse_truth_key(key)
        if truth is None or truth.kind is None:
            return
        gone = self.memories.pop(key, None)
        if new is not None:
            self.memories[key] = json.loads(new.body)
        self.world.counts["merges written"] += new is not None and "/merged-" in key
        self.world.counts["merges taken away"] += new is None and "/merged-" in key
        told = self.told()
        missing = self.sacred - told
        if missing:
            raise ViolationError(f"nobody tells {sorted(missing)} after {verb} of {key} ({gone and gone['content']})")

    def visible(self) -> list[dict]:
        """Return the memories that no other names."""
        named = {
            (item["id"], item["version"])
            for memory in self.memories.values()
            for item in memory.get("consolidated_from", ())
        }
        return [item for item in self.memories.values() if (item["id"], item["version"]) not in named]

    def told(self) -> set[str]:
        return {fact_of(memory["content"]) for memory in self.visible()}

    # --- callers ------------------------------------------------------------------------------------------------------

    def tell(self, parts: Parts) -> None:
        if len(self.memories) >= MEMORY_COUNT_MAX:
            return
        is_sacred = self.rng.random() < 0.6
        fact = self.rng.choice(FACTS) if is_sacred else f"Erin owns {self.rng.randrange(3)} boats"
        text = self.rng.choice(TOLD)(fact)

        def call() -> None:
            parts.memories.remember(NAMESPACE, text)
            if is_sacred:
                self.sacred.add(fact_of(text))

        self.start("tell", call)

    def _profane(self) -> str | None:
        ids = [item["id"] for item in self.memories.values() if fact_of(item["content"]).startswith("erin")]
        return self.rng.choice(sorted(ids)) if ids else None

    def change(self, parts: Parts) -> None:
        if memory_id := self._profane():
            text = f"Erin owns {self.rng.randrange(3)} boats"
            self.start("change", lambda: parts.memories.update(NAMESPACE, memory_id, content=text))

    def forget(self, parts: Parts) -> None:
        if memory_id := self._profane():
            self.start("forget", lambda: parts.memories.forget(NAMESPACE, memory_id))

    def consolidate(self, parts: Parts) -> None:
        steps = self.rng.choice([1, 2, 100])

        def has_time() -> bool:
            nonlocal steps
            steps -= 1
            return steps >= 0

        is_night = self.rng.random() < 0.5
        self.start(
            "consolidate",
            lambda: parts.memories.consolidate(
                NAMESPACE, undo_days=self.undo_days, only_changes=is_night, has_time=has_time
            ),
        )

    def undo(self, parts: Parts) -> None:
        def call() -> None:
            runs = [run for run in parts.memories.consolidations(NAMESPACE) if run.merges]
            if runs:
                parts.memories.undo_consolidation(NAMESPACE, self.rng.choice(runs).id)

        self.start("undo", call)

    def prune(self, parts: Parts) -> None:
        self.start("prune", lambda: parts.memories.prune_expired(NAMESPACE))

    def sweep(self, parts: Parts) -> None:
        self.start("sweep", lambda: parts.memories.sweep(NAMESPACE))

    def read(self, parts: Parts) -> None:
        """Every sacred fact that was acknowledged before a strong read began is in it."""

        def call() -> None:
            expected = set(self.sacred)
            found = {fact_of(item.content) for item in parts.memories.list(NAMESPACE, limit=100).memories}
            if missing := (expected & self.sacred) - found:
                raise ViolationError(f"a strong reader does not see {sorted(missing)}")

        self.start("read", call)

    def erase(self, parts: Parts) -> None:
        self.sacred.clear()

        def call() -> None:
            # What is told while this goes on may be erased as well.
            parts.memories.erase(NAMESPACE, confirm=NAMESPACE)
            self.sacred.clear()

        self.start("erase", call)
        self.weights["erase"] = 0.0
        # From now on nothing is sacred: an erasure that stalls may come at any time.
        self.weights["tell"] = 0.0

    # --- quiet --------------------------------------------------------------------------------------------------------

    def check_in_the_end(self) -> None:
        calm = self.instance()
        runs: list[ConsolidationRun] = []
        for wait_us in (0, DAY_US, 9 * DAY_US):
            self.world.now_us += wait_us
            self.alone("sweep", lambda: calm.memories.sweep(NAMESPACE))
            self.alone("consolidate", lambda: calm.memories.consolidate(NAMESPACE, undo_days=0))
            self.alone("prune", lambda: calm.memories.prune_expired(NAMESPACE))
        self.alone("sweep", lambda: calm.memories.sweep(NAMESPACE))
        self.alone("runs", lambda: runs.extend(calm.memories.consolidations(NAMESPACE)))
        self._check_runs(runs)
        self.alone("read", lambda: self._check_read(calm))

    def _check_read(self, calm: Parts) -> None:
        listed = sorted(memory.id for memory in calm.memories.list(NAMESPACE, limit=100).memories)
        if listed != sorted(memory["id"] for memory in self.visible()):
            raise ViolationError(f"a reader sees {listed}")

    def _check_runs(self, runs: list[ConsolidationRun]) -> None:
        present = {(memory["id"], memory["version"]): memory for memory in self.memories.values()}
        for run in runs:
            if run.state not in (RunState.UNDONE, RunState.SETTLED):
                raise ViolationError(f"run {run.id} is {run.state} in the end")
            for merge in run.merges:
                merged = present.get((merge.id, 1))
                is_ours = merged is not None and merged["source"] == run.source
                if is_ours and (run.state is RunState.UNDONE or merge.state is MergeState.WITHDRAWN):
                    raise ViolationError(f"{merge.id} is still there although its run is {run.state}")


def run_seed(seed: int, *, is_traced: bool = False) -> Result:
    """Run one seed."""
    return ConsolidationSimulation(seed, is_traced=is_traced).run()
