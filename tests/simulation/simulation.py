"""One seeded run: clients and functions on several instances, faults everywhere, then quiet and a full comparison."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from s3_agent_memory import errors
from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.domain.keys import TruthKey, parse_namespace, parse_truth_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.index import merge_policy
from s3_agent_memory.service.grace import LOG_GRACE_MS, ORPHAN_AGE_MS, TRASH_GRACE_MS
from s3_agent_memory.service.housekeeper import Folding
from s3_agent_memory.storage.retry import RetryPolicy
from tests.simulation.oracle import ROOT, Op, Oracle
from tests.simulation.ports import SimulatedClock, SimulatedEntropy, SimulatedObjectStore
from tests.simulation.world import SECOND_US, Actor, Chances, SimObject, Violation, World

NAMESPACE = "sim/ns"
FUNCTION_LIFE_S = 900
STEP_COUNTS = (250, 400, 700)
ALONE_STEPS_MAX = 60_000
SLOW_POINTS = (
    *(("put", folder) for folder in ("semantic", "episodic", "_tombstones", "_ids", "log", "segments", "HEAD")),
    *(("get", folder) for folder in ("semantic", "episodic", "_tombstones", "log", "segments", "HEAD")),
    *(("delete", folder) for folder in ("semantic", "episodic", "log", "segments")),
    ("list", "_index"),
)
JUNK = {
    ROOT + "semantic/junk.txt": b"not a memory",
    ROOT + "semantic/junk.json": b'{"schema": 99}',
    ROOT + "_index/log/junk": b"\x00\xff",
    ROOT + "_index/segments/junk.seg": b"junk",
    ROOT + "_index/segments/README": b"hello",
    ROOT + "_tombstones/.keep": b"",
}


@dataclass
class Result:
    """What one seed led to."""

    seed: int
    violation: str | None
    counts: Counter[str]
    trace: list[str] = field(default_factory=list)


class Simulation:
    """One world with its instances (processes with caches of their own) and what their callers do."""

    def __init__(self, seed: int, *, is_traced: bool = False) -> None:
        self.world = World(seed, is_traced=is_traced)
        self.rng: random.Random = self.world.rng
        self.oracle = Oracle(self.world)
        self.world.watcher = self._watch
        self.world.chances = self._draw_chances()
        self.events: list[str] = []
        self.instances = [self._instance() for _ in range(self.rng.choice([1, 2, 3]))]
        self.chosen = ["x", "y", "z"][: self.rng.choice([1, 1, 2, 3])]
        self.created: list[tuple[str, Kind]] = []
        self.weights = self._draw_weights()
        self.actor_count_max = self.rng.choice([4, 7, 10])
        self.resurrect_chance = self.rng.choice([0.3, 0.7, 0.95])
        self.other_kind_chance = self.rng.choice([0.0, 0.1, 0.4])
        self.ttl_chance = self.rng.choice([0.0, 0.0, 0.2])
        self.fan_out = self.rng.choice([2, 3, 8])

    def _draw_chances(self) -> Chances:
        rng = self.rng
        return Chances(
            fault=rng.choice([0.003, 0.01, 0.02]),
            stall=rng.choice([0.01, 0.03, 0.06]),
            crash=rng.choice([0.002, 0.006, 0.012]),
            jump=rng.choice([0.01, 0.03]),
            slow_verbs=frozenset(rng.sample(SLOW_POINTS, rng.choice([0, 1, 2, 3]))),
            slow=rng.choice([0.2, 0.5]),
        )

    def _draw_weights(self) -> dict[str, float]:
        rng = self.rng
        return {
            "remember": rng.choice([2, 4, 6]),
            "create": 0.6,
            "update": rng.choice([1, 3]),
            "forget": rng.choice([0.7, 2, 4]),
            "import": 0.4,
            "get": 2,
            "recall": 2,
            "eventual": 0.6,
            "list": 0.8,
            "index": rng.choice([0, 2, 4, 8]),
            "compact": rng.choice([0.3, 1.5]),
            "collect": 0.4,
            "sweep": 0.4,
            "prune": 0.3,
            "reindex": rng.choice([0, 0.1]),
        }

    def _instance(self) -> Parts:
        rng = self.rng
        return Parts(
            Settings(url="memory://"),
            store=SimulatedObjectStore(self.world),
            clock=SimulatedClock(self.world, rng.uniform(-2, 2)),
            entropy=SimulatedEntropy(rng),
            retry_policy=RetryPolicy(attempt_count_max=rng.choice([6, 40])),
            folding=rng.choice([Folding.LAZY, Folding.INLINE]),
            folding_phase=rng.choice([0, 60, 62]),
        )

    # --- the run ------------------------------------------------------------------------------------------------------

    def run(self) -> Result:
        before = merge_policy.FAN_OUT
        merge_policy.FAN_OUT = self.fan_out  # type: ignore[misc]  # Small merges happen often, which is the point.
        violation: str | None = None
        try:
            self._scatter_junk()
            for _ in range(self.rng.choice(STEP_COUNTS)):
                self._maybe_spawn()
                if self.rng.random() < 0.002:
                    self.instances[self.rng.randrange(len(self.instances))] = self._instance()
                    self.world.counts["instance restarts"] += 1
                self.world.turn()
            self._quiesce()
        except Violation as error:
            violation = str(error)
        finally:
            merge_policy.FAN_OUT = before  # type: ignore[misc]
            for actor in list(self.world.actors):
                actor.on_crash = lambda: None
                self.world.crash(actor)
        return Result(self.world.seed, violation, self.world.counts + self.oracle.counts, self.world.trace)

    def _scatter_junk(self) -> None:
        for key in self.rng.sample(sorted(JUNK), self.rng.choice([0, 0, 1, 3])):
            self.world.objects[key] = SimObject(JUNK[key], "junk", self.world.now_us // 1_000)
            self.world.keys.append(key)
        self.world.keys.sort()

    def _watch(self, verb: str, key: str, old: SimObject | None, new: SimObject | None) -> None:
        self.oracle.watch(verb, key, old, new)
        if parse_truth_key(key) is not None:
            self.events.append(key)

    def _maybe_spawn(self) -> None:
        if len(self.world.actors) < self.actor_count_max and self.rng.random() < 0.35:
            what = self.rng.choices(list(self.weights), list(self.weights.values()))[0]
            self.spawn(what)

    def spawn(self, what: str, **fixed: object) -> Op:
        parts = self.rng.choice(self.instances)
        return getattr(self, f"_spawn_{what}")(parts, **fixed)

    def _start(self, op: Op, call: Callable[[], None], *, life_s: float = float("inf")) -> Op:
        def run() -> None:
            try:
                call()
            except errors.AgentMemoryError as error:
                self._failed(op, error)

        deadline_us = self.world.now_us + life_s * SECOND_US
        actor = Actor(f"{op.what}:{op.memory_id or ''}:{op.mark}", run, deadline_us)
        self.oracle.attach(op, actor)
        self.world.spawn(actor)
        return op

    def _failed(self, op: Op, error: errors.AgentMemoryError) -> None:
        if isinstance(error, errors.CorruptError):
            raise Violation(f"{op.what} of {op.memory_id}: {error}") from error
        self.world.counts[f"{op.what} answered {error.code}"] += 1
        if op.what in ("remember", "create", "update", "forget"):
            # An id may belong to another kind without being alive.
            is_other_kind = error.code == "conflict" and "belongs to the kind" in str(error)
            self.oracle.refuse(op, "other_kind" if is_other_kind else error.code)
        else:
            self.oracle.end(op, error.code)

    # --- writers ------------------------------------------------------------------------------------------------------

    def _any_id(self) -> str:
        return self.rng.choice([*self.chosen, *(memory_id for memory_id, _ in self.created)])

    def _kind_for(self, memory_id: str) -> Kind:
        natural = dict(self.created).get(memory_id, Kind.SEMANTIC)
        other = Kind.EPISODIC if natural is Kind.SEMANTIC else Kind.SEMANTIC
        return other if self.rng.random() < self.other_kind_chance else natural

    def _ttl(self) -> float | None:
        return self.rng.choice([30.0, 300.0, 5_000.0]) if self.rng.random() < self.ttl_chance else None

    def _spawn_create(self, parts: Parts) -> Op:
        if len(self.created) >= 2:
            return self._spawn_recall(parts)
        op = self.oracle.begin("create", None)
        kind, ttl = self.rng.choice([Kind.SEMANTIC, Kind.EPISODIC]), self._ttl()

        def call() -> None:
            memory = parts.memories.remember(NAMESPACE, f"common {op.mark}", kind=kind, ttl=ttl)
            self.oracle.acknowledge(op, memory)

        def claim_id(_: object) -> None:
            # The id is the product's own; it is learned from the first effect on the bucket.
            if op.memory_id is None:
                self._learn_id(op, kind)

        self._start(op, call)
        assert op.actor is not None
        on_effect = op.actor.on_effect
        op.actor.on_effect = lambda request: (claim_id(request), on_effect(request))[1]
        return op

    def _learn_id(self, op: Op, kind: Kind) -> None:
        for key, item in self.world.objects.items():
            truth = parse_truth_key(key)
            if truth and truth.kind and op.mark in item.body.decode(errors="replace").split('"content":"common ')[-1][:20]:
                op.memory_id = truth.memory_id
                self.oracle.writes[truth.memory_id].append(op)
                self.created.append((truth.memory_id, kind))

    def _spawn_remember(
        self, parts: Parts, memory_id: str | None = None, kind: Kind | None = None, resurrect: bool | None = None
    ) -> Op:
        chosen = memory_id or self._any_id()
        place = kind or self._kind_for(chosen)
        may_resurrect = self.rng.random() < self.resurrect_chance if resurrect is None else resurrect
        op, ttl = self.oracle.begin("remember", chosen), self._ttl()

        def call() -> None:
            memory = parts.memories.remember(
                NAMESPACE, f"common {op.mark}", id=chosen, kind=place, resurrect=may_resurrect, ttl=ttl
            )
            self.oracle.acknowledge(op, memory)

        return self._start(op, call)

    def _spawn_update(self, parts: Parts, memory_id: str | None = None) -> Op:
        chosen = memory_id or self._any_id()
        op = self.oracle.begin("update", chosen)
        expected = self.rng.choice([None, None, 1, 2])

        def call() -> None:
            memory = parts.memories.update(
                NAMESPACE,
                chosen,
                content=f"common {op.mark}",
                metadata={op.mark: 1},
                expected_version=None if memory_id else expected,
            )
            self.oracle.acknowledge(op, memory)

        return self._start(op, call)

    def _spawn_forget(self, parts: Parts, memory_id: str | None = None) -> Op:
        chosen = memory_id or self._any_id()
        op = self.oracle.begin("forget", chosen)

        def call() -> None:
            parts.memories.forget(NAMESPACE, chosen, reason="test")
            self.oracle.end(op, "ack")

        return self._start(op, call)

    def _spawn_import(self, parts: Parts) -> Op:
        chosen = self._any_id()
        op = self.oracle.begin("import", chosen)
        line = {
            "id": chosen,
            "kind": self._kind_for(chosen).value,
            "content": f"common {op.mark}",
            "created_at": "2023-01-01T00:00:00Z",
            "version": self.rng.choice([1, 1, 3]),
        }

        def call() -> None:
            parts.memories.import_(
                NAMESPACE, [json.dumps(line)], overwrite=self.rng.random() < 0.5, resurrect=self.rng.random() < 0.5
            )
            self.oracle.end(op, "crash")

        return self._start(op, call)

    # --- readers ------------------------------------------------------------------------------------------------------

    def _ids(self) -> list[str]:
        return [*self.chosen, *(memory_id for memory_id, _ in self.created)]

    def _spawn_get(self, parts: Parts, memory_id: str | None = None) -> Op:
        chosen = memory_id or self._any_id()
        op = self.oracle.begin("get", chosen)

        def call() -> None:
            found: list[Memory] = []
            try:
                found.append(parts.memories.get(NAMESPACE, chosen))
            except errors.NotFoundError:
                pass
            self.oracle.check_read(op, found, [chosen])

        return self._start(op, call)

    def _spawn_recall(self, parts: Parts) -> Op:
        op = self.oracle.begin("recall", None)
        query = self.rng.choice(["common", "common", ""])

        def call() -> None:
            result = parts.memories.recall(NAMESPACE, query, limit=100)
            self.oracle.check_read(op, [hit.memory for hit in result], self._ids())

        return self._start(op, call)

    def _spawn_eventual(self, parts: Parts) -> Op:
        op = self.oracle.begin("eventual", None)

        def call() -> None:
            result = parts.memories.recall(NAMESPACE, "common", limit=100, consistency="eventual")
            self.oracle.check_read(op, [hit.memory for hit in result], self._ids(), is_strong=False)

        return self._start(op, call)

    def _spawn_list(self, parts: Parts) -> Op:
        op = self.oracle.begin("list", None)

        def call() -> None:
            page = parts.memories.list(NAMESPACE, limit=100)
            self.oracle.check_read(op, page.memories, self._ids())

        return self._start(op, call)

    # --- functions ----------------------------------------------------------------------------------------------------

    def _function(self, what: str, call: Callable[[], object]) -> Op:
        op = self.oracle.begin(what, None)

        def run() -> None:
            call()
            self.oracle.end(op, "ack")

        life_s = self.rng.choice([FUNCTION_LIFE_S, FUNCTION_LIFE_S, float("inf")])
        return self._start(op, run, life_s=life_s)

    def _spawn_index(self, parts: Parts) -> Op:
        changes = self._take_events()
        return self._function("index", lambda: parts.indexer.run(changes))

    def _take_events(self) -> list[TruthKey]:
        """Return some events: dropped, repeated and reordered as notifications may be."""
        taken: list[TruthKey] = []
        for _ in range(self.rng.randint(0, 3)):
            if not self.events:
                break
            key = self.events.pop(self.rng.randrange(len(self.events)))
            roll = self.rng.random()
            if roll < 0.2:
                self.world.counts["events dropped"] += 1
                continue
            if roll < 0.4:
                self.world.counts["events repeated"] += 1
                self.events.append(key)
            truth = parse_truth_key(key)
            if truth is not None:
                taken.append(truth)
        return taken

    def _spawn_compact(self, parts: Parts) -> Op:
        def call() -> None:
            if parts.compactor.compact(parse_namespace(NAMESPACE)):
                self.oracle.counts["compactions"] += 1

        return self._function("compact", call)

    def _spawn_collect(self, parts: Parts) -> Op:
        def call() -> None:
            parts.collector.empty_trash(parse_namespace(NAMESPACE))
            orphans = parts.collector.remove_orphans(parse_namespace(NAMESPACE))
            self.oracle.counts["orphans removed"] += orphans

        return self._function("collect", call)

    def _spawn_sweep(self, parts: Parts) -> Op:
        return self._function("sweep", lambda: parts.memories.sweep(NAMESPACE))

    def _spawn_reindex(self, parts: Parts) -> Op:
        return self._function("reindex", lambda: parts.memories.reindex(NAMESPACE))

    def _spawn_prune(self, parts: Parts) -> Op:
        ops = [self.oracle.begin("prune", memory_id) for memory_id in self._ids()]
        op = self._function("prune", lambda: parts.memories.prune_expired(NAMESPACE))
        actor = op.actor
        assert actor is not None
        original_effect, original_pending, original_crash = actor.on_effect, actor.on_pending, actor.on_crash

        def on_effect(request: object) -> None:
            original_effect(request)  # type: ignore[arg-type]
            for item in ops:
                item.last_tick = self.world.tick

        def on_pending(change: int) -> None:
            original_pending(change)
            for item in ops:
                item.pending += change

        def finish() -> None:
            for item in ops:
                self.oracle.end(item, "pruned")

        actor.on_effect, actor.on_pending = on_effect, on_pending
        actor.on_crash = lambda: (original_crash(), finish())[0]
        run = actor.run
        actor.run = lambda: (run(), finish())[0]
        return op

    # --- quiet --------------------------------------------------------------------------------------------------------

    def alone(self, what: str, **fixed: object) -> Op:
        """Run one call to its end, alone and without faults."""
        op = self.spawn(what, **fixed)
        for _ in range(ALONE_STEPS_MAX):
            if not self.world.actors:
                return op
            actor = self.world.actors[0]
            self.world.now_us = max(self.world.now_us + SECOND_US // 100, actor.wake_us)
            self.world.step(actor)
        raise Violation(f"{what} does not end, alone and without faults")

    def _quiesce(self) -> None:
        for actor in list(self.world.actors):
            self.world.crash(actor)
        self.world.has_faults = False
        self.world.run_late(every=True)
        self.world.tick += 1
        self.instances = [self._instance()]
        self._settle()
        self._compare()
        self._use_again()

    def _settle(self) -> None:
        """Let the schedules run with the graces passing in between, as hours of quiet would."""
        for wait_ms in (0, 2 * LOG_GRACE_MS, 2 * LOG_GRACE_MS, 2 * TRASH_GRACE_MS, 2 * ORPHAN_AGE_MS):
            self.world.now_us += wait_ms * 1_000
            self.alone("prune")
            self.alone("sweep")
        self.alone("recall")
        self.alone("list")

    def _compare(self) -> None:
        """The index equals the truth, and a rebuilt index equals the incremental one."""
        stray = [key for key in self.world.objects if "/_index/log/" in key]
        if stray:
            raise Violation(f"log entries remain: {stray[:3]}")
        head = json.loads(self.world.objects[ROOT + "_index/HEAD"].body) if self._has_head() else None
        named = {item[0] for item in [*head["segments"], *head["trash"]]} if head else set()
        files = {key for key in self.world.objects if key.endswith(".seg")}
        orphans = [key for key in files if key.rpartition("/")[2].removesuffix(".seg") not in named]
        if orphans:
            raise Violation(f"segments remain that nobody names: {orphans[:3]}")
        for memory_id in self._ids():
            if len(self.oracle.versions(memory_id)) > len(self.oracle.live(memory_id)):
                raise Violation(f"a dead object of {memory_id} remains")
            self.alone("get", memory_id=memory_id)
        self._check_index()

    def _has_head(self) -> bool:
        return ROOT + "_index/HEAD" in self.world.objects

    def _check_index(self) -> None:
        reports: list[tuple[str, str, int]] = []
        parts = self.instances[0]

        def call() -> None:
            report = parts.memories.reindex(NAMESPACE)
            reports.append((report.digest_before, report.digest_after, report.memories))

        self._run_alone(self._function("reindex", call))
        before, after, count = reports[0]
        if before != after:
            raise Violation(f"the index differs from a rebuilt one: {before} {after}")
        live = [memory_id for memory_id in self._ids() if self.oracle.live(memory_id)]
        if count != len(live):
            raise Violation(f"the index holds {count} memories, the bucket {len(live)}")

    def _run_alone(self, op: Op) -> None:
        while self.world.actors:
            actor = self.world.actors[0]
            self.world.now_us = max(self.world.now_us + SECOND_US // 100, actor.wake_us)
            self.world.step(actor)
        if op.answer != "ack":
            raise Violation(f"{op.what} alone and without faults answers {op.answer}")

    def _use_again(self) -> None:
        """Whatever happened, every id can be forgotten and used again."""
        self.ttl_chance = 0.0
        for memory_id in self._ids():
            kind = self._present_kind(memory_id)
            op = self.alone("remember", memory_id=memory_id, kind=kind, resurrect=True)
            if op.answer in ("conflict", "other_kind"):
                self.alone("update", memory_id=memory_id)
                if self.alone("forget", memory_id=memory_id).answer != "ack":
                    raise Violation(f"cannot forget {memory_id}, which exists")
                op = self.alone("remember", memory_id=memory_id, kind=kind, resurrect=True)
            if op.answer != "ack":
                raise Violation(f"cannot use {memory_id} again: {op.answer}")
            self.alone("get", memory_id=memory_id)
            self.alone("recall")

    def _present_kind(self, memory_id: str) -> Kind:
        claim = self.world.objects.get(f"{ROOT}_ids/{memory_id}")
        tombstone = self.world.objects.get(f"{ROOT}_tombstones/{memory_id}.json")
        for kind in Kind:
            if f"{ROOT}{kind}/{memory_id}.json" in self.world.objects:
                return kind
        found = claim or tombstone
        return Kind(json.loads(found.body)["kind"]) if found else Kind.SEMANTIC


def run_seed(seed: int, *, is_traced: bool = False) -> Result:
    """Run one seed."""
    return Simulation(seed, is_traced=is_traced).run()
