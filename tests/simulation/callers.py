"""What callers do: every operation of the product as an actor, with its answer told to the oracle."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import suppress

from s3_agent_memory import errors
from s3_agent_memory.bootstrap import Parts
from s3_agent_memory.domain.keys import TruthKey, parse_namespace, parse_truth_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.service.upkeep.embedding_worker import RESERVE_MS
from tests.simulation.feed_consumer import FeedConsumer
from tests.simulation.oracle import Op, Oracle
from tests.simulation.world import SECOND_US, Actor, Request, ViolationError, World, folder_of

NAMESPACE = "sim/ns"
FUNCTION_LIFE_S = 900


def actor_of(op: Op) -> Actor:
    """Return the actor that carries out a call."""
    if op.actor is None:
        raise RuntimeError("the call was not started")
    return op.actor


class Callers:
    """Starts calls on instances of the product.

    Attributes:
        chosen: ids that callers choose themselves.
        created: ids the product made, with their kinds.
        events: keys that change notifications were sent for and not consumed yet.
        consumer: follows the event feed.
    """

    def __init__(self, world: World, oracle: Oracle, *, id_count: int, create_count_max: int) -> None:
        self.world = world
        self.oracle = oracle
        self.rng: random.Random = world.rng
        self.events: list[str] = []
        self.consumer = FeedConsumer(oracle, NAMESPACE)
        self.chosen = [f"id-{number}" for number in range(id_count)]
        self.created: list[tuple[str, Kind]] = []
        self.create_count_max = create_count_max
        self.whole_erasures: list[list[Op]] = []
        self.resurrect_chance = self.rng.choice([0.3, 0.7, 0.95])
        self.other_kind_chance = self.rng.choice([0.0, 0.1, 0.4])
        self.ttl_chance = self.rng.choice([0.0, 0.0, 0.2])

    def start(self, what: str, parts: Parts, **fixed: object) -> Op:
        """Start one call on an instance."""
        method = {"import": "import_", "list": "list_page"}.get(what, what)
        started: Op = getattr(self, method)(parts, **fixed)
        return started

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
            raise ViolationError(f"{op.what} of {op.memory_id}: {error}") from error
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

    def create(self, parts: Parts) -> Op:
        if len(self.created) >= self.create_count_max:
            return self.recall(parts)
        op = self.oracle.begin("create", None)
        kind, ttl = self.rng.choice([Kind.SEMANTIC, Kind.EPISODIC]), self._ttl()

        def call() -> None:
            memory = parts.memories.remember(NAMESPACE, f"common {op.mark}", kind=kind, ttl=ttl)
            self.oracle.acknowledge(op, memory)

        self._start(op, call)
        actor = actor_of(op)
        original = actor.on_effect

        def on_effect(request: Request) -> None:
            # The id is the product's own; it is learned from the first effect on the bucket.
            if op.memory_id is None:
                self._learn_id(op, kind)
            original(request)

        actor.on_effect = on_effect
        return op

    def _learn_id(self, op: Op, kind: Kind) -> None:
        for key, item in self.world.objects.items():
            truth = parse_truth_key(key)
            if (
                truth
                and truth.kind
                and op.mark in item.body.decode(errors="replace").split('"content":"common ')[-1][:20]
            ):
                op.memory_id = truth.memory_id
                self.oracle.writes[truth.memory_id].append(op)
                self.created.append((truth.memory_id, kind))
                for ops in self.whole_erasures:
                    if any(item.end_tick is None or item.pending for item in ops):
                        ops.append(self.oracle.begin("prune", truth.memory_id))

    def remember(
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

    def update(self, parts: Parts, memory_id: str | None = None) -> Op:
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

    def forget(self, parts: Parts, memory_id: str | None = None) -> Op:
        chosen = memory_id or self._any_id()
        op = self.oracle.begin("forget", chosen)

        def call() -> None:
            parts.memories.forget(NAMESPACE, chosen, reason="test")
            self.oracle.end(op, "ack")

        return self._start(op, call)

    def import_(self, parts: Parts) -> Op:
        """Import some lines; without an indexer they become visible together, by one segment and no log entry."""
        chosen = list(dict.fromkeys(self._any_id() for _ in range(self.rng.choice([1, 1, 2, 3]))))
        ops = [self.oracle.begin("import", memory_id) for memory_id in chosen]
        lines = [json.dumps(self._line(memory_id, op)) for memory_id, op in zip(chosen, ops, strict=True)]
        overwrite, resurrect = self.rng.random() < 0.5, self.rng.random() < 0.5

        def call() -> None:
            report = parts.memories.import_(NAMESPACE, lines, overwrite=overwrite, resurrect=resurrect)
            is_stored = report.imported + report.overwritten == len(lines)
            for op in ops:
                if is_stored:
                    self.oracle.acknowledge_version(op, op.memory_id or "", op.landings[-1].version)
                else:
                    # The report has no ids: any of the lines may be the one that was stored.
                    self.oracle.end(op, "crash")

        return self._spanning(self._start(ops[0], call), ops[1:], answer="crash")

    def _line(self, memory_id: str, op: Op) -> dict[str, object]:
        return {
            "id": memory_id,
            "kind": self._kind_for(memory_id).value,
            "content": f"common {op.mark}",
            "created_at": "2023-01-01T00:00:00Z",
            "version": self.rng.choice([1, 1, 3]),
        }

    # --- readers ------------------------------------------------------------------------------------------------------

    def ids(self) -> list[str]:
        return [*self.chosen, *(memory_id for memory_id, _ in self.created)]

    def get(self, parts: Parts, memory_id: str | None = None) -> Op:
        chosen = memory_id or self._any_id()
        op = self.oracle.begin("get", chosen)

        def call() -> None:
            found: list[Memory] = []
            with suppress(errors.NotFoundError):
                found.append(parts.memories.get(NAMESPACE, chosen))
            self.oracle.check_read(op, found, [chosen])

        return self._start(op, call)

    def recall(self, parts: Parts) -> Op:
        op = self.oracle.begin("recall", None)
        query = self.rng.choice(["common", "common", ""])

        def call() -> None:
            result = parts.memories.recall(NAMESPACE, query, limit=100)
            self.oracle.check_read(op, [hit.memory for hit in result], self.ids())

        return self._start(op, call)

    def eventual(self, parts: Parts) -> Op:
        op = self.oracle.begin("eventual", None)

        def call() -> None:
            result = parts.memories.recall(NAMESPACE, "common", limit=100, consistency="eventual")
            self.oracle.check_read(op, [hit.memory for hit in result], self.ids(), is_strong=False)

        return self._start(op, call)

    def list_page(self, parts: Parts) -> Op:
        op = self.oracle.begin("list", None)

        def call() -> None:
            page = parts.memories.list(NAMESPACE, limit=100)
            self.oracle.check_read(op, page.memories, self.ids())

        return self._start(op, call)

    def follow(self, parts: Parts) -> Op:
        """Read a page of the event feed."""
        limit = self.rng.choice([1, 2, 100])
        return self.function("follow", lambda: self.consumer.read(parts, limit))

    # --- functions ----------------------------------------------------------------------------------------------------

    def function(self, what: str, call: Callable[[], object]) -> Op:
        op = self.oracle.begin(what, None)

        def run() -> None:
            call()
            self.oracle.end(op, "ack")

        life_s = self.rng.choice([FUNCTION_LIFE_S, FUNCTION_LIFE_S, float("inf")])
        return self._start(op, run, life_s=life_s)

    def index(self, parts: Parts) -> Op:
        changes = self._take_events()
        return self.function("index", lambda: parts.indexer.run(changes))

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

    def tidy(self, parts: Parts) -> Op:
        """What writers do now and then where nobody has an indexer."""
        return self.function("tidy", lambda: parts.services.housekeeper.tidy(parse_namespace(NAMESPACE)))

    def compact(self, parts: Parts) -> Op:
        def call() -> None:
            if parts.compactor.compact(parse_namespace(NAMESPACE)):
                self.oracle.counts["compactions"] += 1

        return self.function("compact", call)

    def embed(self, parts: Parts) -> Op:
        """What the embedder function does; sometimes its time is up in the middle."""
        remaining_ms = self.rng.choice([0, RESERVE_MS * 10, RESERVE_MS * 10])
        times = iter([RESERVE_MS + 1] * self.rng.choice([0, 1, 2, 1_000]))
        namespace = parse_namespace(NAMESPACE)
        return self.function("embed", lambda: parts.embedder.run([namespace], lambda: next(times, remaining_ms)))

    def embed_all(self, parts: Parts) -> Op:
        """The embedder function with all the time it needs."""
        namespace = parse_namespace(NAMESPACE)

        def call() -> None:
            if parts.embedder.run([namespace], lambda: RESERVE_MS * 10).failed:
                raise ViolationError("the embedder fails, alone and without faults")

        return self.function("embed_all", call)

    def tend(self, parts: Parts) -> Op:
        """Merge or rewrite vector shards, whether this process has an embedder or not."""
        compactor, namespace = parts.vector_compactor, parse_namespace(NAMESPACE)
        work = self.rng.choice([compactor.compact, compactor.purge])
        return self.function("tend", lambda: work(namespace))

    def collect(self, parts: Parts) -> Op:
        def call() -> None:
            parts.collector.empty_trash(parse_namespace(NAMESPACE))
            orphans = parts.collector.remove_orphans(parse_namespace(NAMESPACE))
            self.oracle.counts["orphans removed"] += orphans

        return self.function("collect", call)

    def sweep(self, parts: Parts) -> Op:
        def call() -> None:
            report = parts.memories.sweep(NAMESPACE)
            if report.vanished:
                raise ViolationError("a sweep finds rows of objects that left no trace")

        return self.function("sweep", call)

    def reindex(self, parts: Parts) -> Op:
        return self.function("reindex", lambda: parts.memories.reindex(NAMESPACE))

    def prune(self, parts: Parts) -> Op:
        op = self.function("prune", lambda: parts.memories.prune_expired(NAMESPACE))
        return self._spanning(op, [self.oracle.begin("prune", memory_id) for memory_id in self.ids()])

    def erase(self, parts: Parts, ids: list[str] | None = None) -> Op:
        """Erase some ids or the whole namespace; sometimes the time is up in the middle, and somebody may go on."""
        drawn = self.rng.choice([None, [self._any_id()], self.rng.sample(self.ids(), min(2, len(self.ids())))])
        chosen = ids or drawn
        affected = self.ids() if chosen is None else chosen
        before = self.oracle.erasable(affected)
        seconds_max = self.rng.choice([None, None, 5.0])
        begun: list[str] = []

        def call() -> None:
            report = parts.memories.erase(NAMESPACE, confirm=NAMESPACE, ids=chosen, seconds_max=seconds_max)
            # What an erasure that began earlier has spared may have been there when this call began.
            if report.is_finished and begun:
                self.oracle.counts["erasures finished"] += 1
                self.oracle.check_erased(before)

        ops = [self.oracle.begin("prune", memory_id) for memory_id in affected]
        op = self._spanning(self.function("erase", call), ops)
        actor = actor_of(op)
        original = actor.on_effect

        def on_effect(request: Request) -> None:
            original(request)
            if request.verb == "delete" and folder_of(request.key) in ("segments", "vectors"):
                self.oracle.erased_files.add(request.key)
            if request.verb == "put" and request.key.endswith(".open"):
                begun.append(request.key)

        actor.on_effect = on_effect
        if chosen is None:
            # It may also erase what is made while it runs.
            self.whole_erasures.append(ops)
        return op

    def resume(self, parts: Parts) -> Op:
        """What the sweeper does before it sweeps: it may erase anything that somebody began to erase."""
        op = self.function("resume", lambda: parts.memories.resume_erasures(NAMESPACE, seconds_max=60.0))
        ops = [self.oracle.begin("prune", memory_id) for memory_id in self.ids()]
        self.whole_erasures.append(ops)
        actor = actor_of(self._spanning(op, ops))
        original = actor.on_effect

        def on_effect(request: Request) -> None:
            original(request)
            if request.verb == "delete" and folder_of(request.key) in ("segments", "vectors"):
                self.oracle.erased_files.add(request.key)

        actor.on_effect = on_effect
        return op

    def _spanning(self, op: Op, ops: list[Op], *, answer: str = "pruned") -> Op:
        """Let a call that may change many ids count as something that may change each of them, as long as it runs."""
        actor = actor_of(op)
        original_effect, original_pending, original_crash, run = (
            actor.on_effect,
            actor.on_pending,
            actor.on_crash,
            actor.run,
        )

        def on_effect(request: Request) -> None:
            original_effect(request)
            for item in ops:
                item.last_tick = self.world.tick

        def on_pending(change: int) -> None:
            original_pending(change)
            for item in ops:
                item.pending += change

        def finish() -> None:
            for item in ops:
                if item.answer is None:
                    self.oracle.end(item, answer)

        def on_crash() -> None:
            original_crash()
            finish()

        def run_and_finish() -> None:
            run()
            finish()

        actor.on_effect, actor.on_pending, actor.on_crash = on_effect, on_pending, on_crash
        actor.run = run_and_finish
        return op
