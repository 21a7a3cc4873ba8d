"""One seeded run of facts that change: supersede, update, forget, prune and sweep, on several instances, with faults.

Every fact belongs to a line: the first one is told, each further one supersedes one before it. What a caller was told
of is kept, and after every read and every forget it is compared with what the product shows:

- an acknowledged fact is shown until somebody sets out to end it;
- what is superseded is never shown again once that was acknowledged, whatever becomes of what took its place, unless
  somebody changed it afterwards;
- a forgotten fact is not shown, and no earlier version of it is left.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from datetime import datetime, timedelta

from s3_agent_memory.bootstrap import Parts
from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.codec import memory_from_json
from s3_agent_memory.domain.keys import TruthKey, parse_namespace, parse_truth_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.errors import NotFoundError
from s3_agent_memory.service.memories.history import VERSION_COUNT_MAX
from tests.simulation.namespace_simulation import NAMESPACE, NamespaceSimulation
from tests.simulation.world import SECOND_US, Chances, Result, SimObject, ViolationError
from tests.temporal.truth import begin_of, true_ids

# Events only mean "look": this one makes an indexer fold whatever there is.
LOOK = TruthKey(parse_namespace(NAMESPACE), Kind.SEMANTIC, "absent")
HISTORY = f"memory/{NAMESPACE}/_history/"
MEMORY_COUNT_MAX = 30


class SuccessionSimulation(NamespaceSimulation):
    """One world with one namespace.

    Attributes:
        present: memory objects by id, as they lie in the bucket.
        landed: every version of every id that ever lay there.
        acknowledged: ids whose writing was acknowledged.
        ended, ended_versions: ids that somebody was told are superseded, and exactly which versions.
        threatened: ids that somebody has set out to supersede or to forget, or that will expire.
        superseded: how often somebody has set out to supersede an id; of several the last one stands.
        changed: ids that somebody has set out to change: they may count again.
        forgotten: ids that somebody was told are forgotten.
        updates: updates under way, or killed on their way, by id.
    """

    def __init__(self, seed: int, *, is_traced: bool = False) -> None:
        super().__init__(seed, is_traced=is_traced)
        rng = self.rng
        self.world.watcher = self._watch
        self.world.chances = Chances(
            fault=rng.choice([0.003, 0.01, 0.03]),
            stall=rng.choice([0.005, 0.02]),
            stall_seconds=(1, 10, 70, 300, 800, 90_000),
            crash=rng.choice([0.002, 0.01]),
            jump=rng.choice([0.0, 0.003, 0.01]),
            jump_seconds=(5, 70, 1_000, 90_000),
        )
        self.present: dict[str, Memory] = {}
        self.landed: dict[str, set[int]] = defaultdict(set)
        self.acknowledged: set[str] = set()
        self.ended: set[str] = set()
        self.ended_versions: set[tuple[str, int]] = set()
        self.threatened: set[str] = set()
        self.changed: set[str] = set()
        self.forgotten: set[str] = set()
        self.updates: Counter[str] = Counter()
        self.superseded: Counter[str] = Counter()
        self.turn_count = rng.choice([800, 2_000])
        self.ttl_chance = rng.choice([0.0, 0.2])
        self.weights = {
            "tell": 3.0,
            "supersede": rng.choice([2.0, 5.0]),
            "update": rng.choice([0.0, 2.0]),
            "forget": rng.choice([0.5, 2.0]),
            "read": 4.0,
            "look_back": 1.0,
            "prune": rng.choice([0.2, 1.0]),
            "sweep": 0.4,
            "fold": rng.choice([0.3, 3.0]),
            "reindex": rng.choice([0.0, 0.2]),
        }
        self.instances = [self.instance() for _ in range(rng.choice([1, 2, 3]))]

    # --- what is true -------------------------------------------------------------------------------------------------

    def _watch(self, _verb: str, key: str, _old: SimObject | None, new: SimObject | None) -> None:
        truth = parse_truth_key(key)
        if truth is None or truth.kind is None:
            return
        before = self.present.pop(truth.memory_id, None)
        if new is not None:
            memory = memory_from_json(json.loads(new.body))
            self.present[truth.memory_id] = memory
            self.landed[truth.memory_id].add(memory.version)
            if before is not None and memory.content != before.content:
                raise ViolationError(f"the content of {truth.memory_id} changes from {before.content}")

    def versions_kept(self, memory_id: str) -> list[str]:
        return [key for key in self.world.keys if key.startswith(f"{HISTORY}{memory_id}/")]

    def _any_id(self) -> str | None:
        return self.rng.choice(sorted(self.landed)) if self.landed else None

    # --- callers ------------------------------------------------------------------------------------------------------

    def tell(self, parts: Parts) -> None:
        if len(self.landed) >= MEMORY_COUNT_MAX:
            return
        ttl = self.rng.choice([30.0, 5_000.0]) if self.rng.random() < self.ttl_chance else None

        def call() -> None:
            memory = parts.memories.remember(NAMESPACE, f"fact {self.rng.random()}", ttl=ttl)
            self._acknowledge(memory)

        self.start("tell", call)

    def _acknowledge(self, memory: Memory) -> None:
        self.acknowledged.add(memory.id)
        if memory.expires_at is not None or memory.valid_to is not None or memory.valid_from is not None:
            self.threatened.add(memory.id)

    def supersede(self, parts: Parts) -> None:
        old = self._any_id()
        if old is None or len(self.landed) >= MEMORY_COUNT_MAX:
            return
        # A moment that the caller names is compared with the clock of each reader, which may be behind.
        offset_s = self.rng.choice([None, None, -100, -10, -10])
        now = to_datetime(self.world.now_us)
        begin: datetime | None = None if offset_s is None else now + timedelta(seconds=offset_s)
        self.threatened.add(old)
        self.superseded[old] += 1

        def call() -> None:
            new = parts.memories.supersede(NAMESPACE, old, f"fact {self.rng.random()}", valid_from=begin)
            self._acknowledge(new)
            # Another version may have come meanwhile, by a change or by the forgetting of another rival.
            self.ended.add(old)
            self.ended_versions |= {(named.id, named.version) for named in new.supersedes}

        self.start("supersede", call)

    def update(self, parts: Parts) -> None:
        memory_id = self._any_id()
        if memory_id is None:
            return
        self.changed.add(memory_id)
        self.updates[memory_id] += 1

        def call() -> None:
            try:
                parts.memories.update(NAMESPACE, memory_id, importance=round(self.rng.random(), 3))
            except NotFoundError:
                # It has taken back what it kept.
                self.updates[memory_id] -= 1
                raise
            self.updates[memory_id] -= 1

        self.start("update", call)

    def forget(self, parts: Parts) -> None:
        memory_id = self._any_id()
        if memory_id is None:
            return
        self.threatened.add(memory_id)
        memory = self.present.get(memory_id)
        # Those that it ends are updated on the way; nobody but such an update may be late with an earlier version.
        named = [item.id for item in memory.supersedes] if memory else []
        rivals = [item.id for item in self.present.values() if memory and set(item.supersedes) & set(memory.supersedes)]
        for touched in (*named, *rivals):
            self.updates[touched] += 1

        def call() -> None:
            parts.memories.forget(NAMESPACE, memory_id)
            for touched in (*named, *rivals):
                self.updates[touched] -= 1
            self.forgotten.add(memory_id)
            if self.versions_kept(memory_id) and not self.updates[memory_id] and not self.world.late:
                raise ViolationError(f"a forget of {memory_id} is acknowledged and leaves earlier versions")

        self.start("forget", call)

    def prune(self, parts: Parts) -> None:
        for memory in self.present.values():
            for named in memory.supersedes:
                self.updates[named.id] += 1
            if memory.supersedes:
                self.updates[memory.id] += 1
        self.start("prune", lambda: parts.memories.prune_expired(NAMESPACE))

    def sweep(self, parts: Parts) -> None:
        self.start("sweep", lambda: parts.memories.sweep(NAMESPACE))

    def fold(self, parts: Parts) -> None:
        self.start("fold", lambda: parts.indexer.run([LOOK]))

    def reindex(self, parts: Parts) -> None:
        self.start("reindex", lambda: parts.memories.reindex(NAMESPACE))

    # --- readers ------------------------------------------------------------------------------------------------------

    def read(self, parts: Parts) -> None:
        is_recall = self.rng.random() < 0.5

        def call() -> None:
            ended, versions, forgotten = set(self.ended), set(self.ended_versions), set(self.forgotten)
            expected = self.acknowledged - self.threatened
            alone = {name for name in expected if not self._has_rival(name)}
            if is_recall:
                memories = [hit.memory for hit in parts.memories.recall(NAMESPACE, "fact", limit=100)]
            else:
                memories = list(parts.memories.list(NAMESPACE, limit=100).memories)
            found = {memory.id for memory in memories}
            if named := {(memory.id, memory.version) for memory in memories} & versions:
                raise ViolationError(f"superseded versions are shown: {sorted(named)}")
            if back := found & ended - self.changed:
                raise ViolationError(f"superseded memories are shown: {sorted(back)}")
            if back := found & forgotten:
                raise ViolationError(f"forgotten memories are shown: {sorted(back)}")
            if missing := {name for name in alone - self.threatened - found if not self._has_rival(name)}:
                raise ViolationError(f"a strong reader does not see {sorted(missing)}")

        self.start("read", call)

    def _has_rival(self, memory_id: str) -> bool:
        memory = self.present.get(memory_id)
        return memory is None or any(self.superseded[named.id] > 1 for named in memory.supersedes)

    def look_back(self, parts: Parts) -> None:
        memory_id = self._any_id()
        if memory_id is None:
            return

        def call() -> None:
            was_forgotten = memory_id in self.forgotten
            found = parts.memories.history(NAMESPACE, memory_id)
            numbers = [memory.version for memory in found.versions]
            if was_forgotten:
                raise ViolationError(f"{memory_id} has a history after its forget was acknowledged")
            if numbers != sorted(set(numbers)) or not set(numbers) <= self.landed[memory_id]:
                raise ViolationError(f"the history of {memory_id} has the versions {numbers}")
            if any(memory.id != memory_id for memory in found.versions):
                raise ViolationError(f"the history of {memory_id} shows another memory")

        self.start("look_back", call)

    # --- quiet --------------------------------------------------------------------------------------------------------

    def check_in_the_end(self) -> None:
        # Every clock agrees that all of it was in the past.
        self.world.now_us += 100 * SECOND_US
        calm = self.instance()
        self.alone("sweep", lambda: calm.memories.sweep(NAMESPACE))
        self.alone("prune", lambda: calm.memories.prune_expired(NAMESPACE))
        self.alone("sweep", lambda: calm.memories.sweep(NAMESPACE))
        self._check_history(calm)
        self._check_truth(calm)

    def _check_history(self, calm: Parts) -> None:
        orphans = [key for key in self.world.keys if key.startswith(HISTORY) and key.split("/")[-2] not in self.present]
        if orphans:
            raise ViolationError(f"earlier versions of what is gone are left: {orphans}")
        for memory_id, memory in list(self.present.items()):
            first = max(1, memory.version - VERSION_COUNT_MAX)
            wanted = sorted(number for number in self.landed[memory_id] if first <= number)

            def check(memory_id: str = memory_id, wanted: list[int] = wanted) -> None:
                found = calm.memories.history(NAMESPACE, memory_id).versions
                if [item.version for item in found] != wanted:
                    raise ViolationError(f"the history of {memory_id} lacks versions of {wanted}")

            self.alone("history", check)

    def _check_truth(self, calm: Parts) -> None:
        living = list(self.present.values())
        now = to_datetime(self.world.now_us)
        edges = {begin_of(memory) for memory in living} | {memory.valid_to for memory in living if memory.valid_to}

        def check() -> None:
            shown = {memory.id for memory in calm.memories.list(NAMESPACE, limit=100).memories}
            if shown != true_ids(living, now, now=True):
                raise ViolationError(f"shown is {sorted(shown)}")
            if back := shown & self.ended - self.changed:
                raise ViolationError(f"superseded memories are shown in the end: {sorted(back)}")
            for edge in sorted(edges):
                page = calm.memories.list(NAMESPACE, limit=100, as_of=edge)
                if {memory.id for memory in page.memories} != true_ids(living, edge, now=False):
                    raise ViolationError(f"as of {edge} shown is {[memory.id for memory in page.memories]}")

        self.alone("truth", check)


def run_seed(seed: int, *, is_traced: bool = False) -> Result:
    """Run one seed."""
    return SuccessionSimulation(seed, is_traced=is_traced).run()
