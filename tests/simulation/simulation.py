"""One seeded run: clients and functions on several instances, faults everywhere, then quiet and a full comparison."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.domain.keys import Namespace, parse_namespace, parse_truth_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.index import merge_policy
from s3_agent_memory.service import grace
from s3_agent_memory.service.grace import LOG_GRACE_MS, ORPHAN_AGE_MS, TRASH_GRACE_MS
from s3_agent_memory.service.results import Consistency
from s3_agent_memory.service.stored_index.head import IndexBrokenError
from s3_agent_memory.service.stored_index.index_reader import IndexReader, View
from s3_agent_memory.service.upkeep import compactor, reindexer, sweeper
from s3_agent_memory.service.upkeep.housekeeper import Folding
from s3_agent_memory.storage.retry import RetryPolicy
from tests.fakes.embedder import FakeEmbedder
from tests.simulation import profiles
from tests.simulation.callers import NAMESPACE, Callers
from tests.simulation.feed_consumer import PAGE_COUNT_MAX
from tests.simulation.oracle import ROOT, Op, Oracle
from tests.simulation.ports import SimulatedClock, SimulatedEntropy, SimulatedObjectStore
from tests.simulation.world import SECOND_US, Result, SimObject, ViolationError, World

MODEL, OTHER_MODEL = "one", "other"
ALONE_STEPS_MAX = 60_000
# Longer than half the orphan age, after which nothing that was read may still be committed; short enough to pass.
DELETION_AGE_MS = 20 * 3_600 * 1_000
JUNK = {
    ROOT + "semantic/junk.txt": b"not a memory",
    ROOT + "semantic/junk.json": b'{"schema": 99}',
    ROOT + "_index/log/junk": b"\x00\xff",
    ROOT + "_index/segments/junk.seg": b"junk",
    ROOT + "_index/segments/README": b"hello",
    ROOT + "_index/vectors/junk.vec": b"junk",
    ROOT + "_tombstones/.keep": b"",
}


class Simulation:
    """One world with its instances (processes with caches of their own) and what their callers do."""

    def __init__(self, seed: int, *, is_traced: bool = False) -> None:
        self.world = World(seed, is_traced=is_traced)
        self.rng: random.Random = self.world.rng
        self.oracle = Oracle(self.world)
        self.world.watcher = self._watch
        self.profile = profiles.draw(self.rng)
        self.world.chances = self.profile.chances
        self.world.turn_seconds = self.profile.turn_seconds
        self.callers = Callers(
            self.world,
            self.oracle,
            id_count=self.profile.id_count,
            create_count_max=self.profile.create_count_max,
        )
        # Embedders of the processes: all the same, some without, or two models at war.
        self.models = self.rng.choice([(MODEL,), (MODEL, None), (MODEL, None), (MODEL, OTHER_MODEL), (None,)])
        self.instances = [self.instance() for _ in range(self.rng.choice([1, 2, 3]))]
        self.fan_out = self.rng.choice([2, 3, 8])

    def instance(self, *models: str | None, folding: Folding | None = None) -> Parts:
        """Return a process with a clock and caches of its own; chance decides what is not said."""
        rng = self.rng
        model = rng.choice(models or self.models)
        parts = Parts(
            Settings(url="memory://"),
            embedder=None if model is None else FakeEmbedder(model),
            store=SimulatedObjectStore(self.world),
            clock=SimulatedClock(self.world, rng.uniform(-2, 2)),
            entropy=SimulatedEntropy(rng),
            retry_policy=RetryPolicy(attempt_count_max=rng.choice([6, 40])),
            folding=folding or rng.choice([Folding.LAZY, Folding.INLINE]),
            folding_phase=rng.choice([0, 60, 62]),
        )
        self._watch_views(parts.services.index, model or "")
        return parts

    def _watch_views(self, index: IndexReader, model: str) -> None:
        """No reader may ever find the index broken, the vector of another text, or what was forgotten.

        Only in a young namespace may a crashed write look like a loss.
        """
        view = index.view

        def checked(namespace: Namespace, consistency: Consistency = Consistency.STRONG) -> View:
            start_tick = self.world.tick
            try:
                found = view(namespace, consistency)
            except IndexBrokenError as error:
                if "although there are memories" in str(error):
                    raise
                raise ViolationError(f"a reader finds the index broken: {error}") from error
            self.oracle.vectors.see_view(found, model)
            if consistency is Consistency.STRONG:
                self.oracle.check_index(start_tick, (memory_id for memory_id, _ in found.snapshot.live_ids()))
            return found

        index.view = checked  # type: ignore[method-assign]  # The instance's own method, watched.

    # --- the run ------------------------------------------------------------------------------------------------------

    def run(self) -> Result:
        violation: str | None = None
        with self._hurried():
            try:
                self._scatter_junk()
                self._live()
                self._quiesce()
            except ViolationError as error:
                violation = str(error)
            finally:
                self._end_all()
        self.world.counts[f"{self.profile.name} worlds"] += 1
        return Result(self.world.seed, violation, self.world.counts + self.oracle.counts, self.world.trace)

    @contextmanager
    def _hurried(self) -> Iterator[None]:
        """Merge small groups, and let deletion rows grow old within one seed: rare things happen often."""
        with ExitStack() as stack:
            stack.enter_context(patch.object(merge_policy, "FAN_OUT", self.fan_out))
            for module in (compactor, sweeper, reindexer):
                # A mutation may have set it already.
                if module.DELETION_AGE_MS == grace.DELETION_AGE_MS:
                    stack.enter_context(patch.object(module, "DELETION_AGE_MS", DELETION_AGE_MS))
            yield

    def _live(self) -> None:
        for _ in range(self.profile.turn_count):
            if len(self.world.actors) < self.profile.actor_count_max and self.rng.random() < 0.35:
                weights = self.profile.weights
                self.spawn(self.rng.choices(list(weights), list(weights.values()))[0])
            if self.rng.random() < 0.002:
                self.instances[self.rng.randrange(len(self.instances))] = self.instance()
                self.world.counts["instance restarts"] += 1
            self.world.turn()

    def _end_all(self) -> None:
        for actor in list(self.world.actors):
            actor.on_crash = lambda: None
            self.world.crash(actor)

    def _scatter_junk(self) -> None:
        for key in self.rng.sample(sorted(JUNK), self.rng.choice([0, 0, 1, 3])):
            self.world.objects[key] = SimObject(JUNK[key], "junk", self.world.now_us // 1_000)
            self.world.keys.append(key)
        self.world.keys.sort()

    def _watch(self, verb: str, key: str, old: SimObject | None, new: SimObject | None) -> None:
        self.oracle.watch(verb, key, old, new)
        if parse_truth_key(key) is not None:
            self.callers.events.append(key)

    def spawn(self, what: str, **fixed: object) -> Op:
        """Start one call on any instance."""
        return self.callers.start(what, self.rng.choice(self.instances), **fixed)

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
        raise ViolationError(f"{what} does not end, alone and without faults")

    def _quiesce(self) -> None:
        self.world.hush()
        self.instances = [self.instance(self.models[0])]
        self._settle()
        self._compare()
        self._use_again()

    def _settle(self) -> None:
        """Let the schedules run with the graces passing in between, as hours of quiet would."""
        for wait_ms in (0, 2 * LOG_GRACE_MS, 2 * LOG_GRACE_MS, 2 * TRASH_GRACE_MS, 2 * ORPHAN_AGE_MS):
            self.world.now_us += wait_ms * 1_000
            self.alone("resume")
            self.alone("prune")
            self.alone("embed_all")
            self.alone("sweep")
            if wait_ms == 2 * LOG_GRACE_MS:
                # Now, and not only when a cursor of before is too old for anything.
                self._check_feed()
        self.alone("recall")
        self.alone("list")

    def _compare(self) -> None:
        """The index equals the truth, and a rebuilt index equals the incremental one."""
        stray = [key for key in self.world.objects if "/_index/log/" in key]
        if stray:
            raise ViolationError(f"log entries remain: {stray[:3]}")
        head = json.loads(self.world.objects[ROOT + "_index/HEAD"].body) if self._has_head() else None
        kinds = ("segments", "trash", "vectors", "vector_trash")
        named = {item[0] for kind in kinds for item in head[kind]} if head else set()
        files = {key for key in self.world.objects if key.endswith((".seg", ".vec"))}
        orphans = [key for key in files if key.rpartition("/")[2].rpartition(".")[0] not in named]
        if orphans:
            raise ViolationError(f"index files remain that nobody names: {orphans[:3]}")
        self._check_vectors()
        for memory_id in self.callers.ids():
            if len(self.oracle.versions(memory_id)) > len(self.oracle.live(memory_id)):
                raise ViolationError(f"a dead object of {memory_id} remains")
            self.alone("get", memory_id=memory_id)
        self._check_feed()
        self._check_index()

    def _check_feed(self) -> None:
        """Whoever follows the feed to its end knows what is there."""
        consumer, more = self.callers.consumer, [True]
        parts = self.instances[0]
        for _ in range(PAGE_COUNT_MAX):
            self._run_alone(self.callers.function("follow", lambda: more.append(consumer.read(parts, 3))))
            if not more[-1]:
                consumer.check_complete(self.callers.ids())
                return
        raise ViolationError(f"the feed has no end after {PAGE_COUNT_MAX} pages")

    def _check_vectors(self) -> None:
        """Every memory has a vector of the one model that is left, and no shard holds anything else."""
        views: list[View] = []
        index = self.instances[0].services.index
        self._run_alone(self.callers.function("view", lambda: views.append(index.view(parse_namespace(NAMESPACE)))))
        (view,) = views
        refs = view.head.manifest.vectors
        if view.vectors is None:
            return
        missing = view.vectors.missing_docs()
        if len(missing):
            raise ViolationError(f"no vectors after a sweep: {[row.id for row in view.snapshot.rows_at(missing)]}")
        if {ref.model for ref in refs} - {self.models[0]}:
            raise ViolationError("vectors of another model remain")
        dead = [view.vectors.dead_row_count(number) for number in range(len(refs))]
        if any(dead):
            raise ViolationError(f"vectors remain that no memory needs: {dead}")

    def _has_head(self) -> bool:
        return ROOT + "_index/HEAD" in self.world.objects

    def _check_index(self) -> None:
        reports: list[tuple[str, str, int]] = []
        parts = self.instances[0]

        def call() -> None:
            report = parts.memories.reindex(NAMESPACE)
            reports.append((report.digest_before, report.digest_after, report.memories))

        self._run_alone(self.callers.function("reindex", call))
        before, after, count = reports[0]
        if before != after:
            raise ViolationError(f"the index differs from a rebuilt one: {before} {after}")
        live = [memory_id for memory_id in self.callers.ids() if self.oracle.live(memory_id)]
        if count != len(live):
            raise ViolationError(f"the index holds {count} memories, the bucket {len(live)}")

    def _run_alone(self, op: Op) -> None:
        while self.world.actors:
            actor = self.world.actors[0]
            self.world.now_us = max(self.world.now_us + SECOND_US // 100, actor.wake_us)
            self.world.step(actor)
        if op.answer != "ack":
            raise ViolationError(f"{op.what} alone and without faults answers {op.answer}")

    def _use_again(self) -> None:
        """Whatever happened, every id can be forgotten and used again."""
        self.callers.ttl_chance = 0.0
        for memory_id in self.callers.ids():
            kind = self._present_kind(memory_id)
            op = self.alone("remember", memory_id=memory_id, kind=kind, resurrect=True)
            if op.answer in ("conflict", "other_kind"):
                self.alone("update", memory_id=memory_id)
                if self.alone("forget", memory_id=memory_id).answer != "ack":
                    raise ViolationError(f"cannot forget {memory_id}, which exists")
                op = self.alone("remember", memory_id=memory_id, kind=kind, resurrect=True)
            if op.answer != "ack":
                raise ViolationError(f"cannot use {memory_id} again: {op.answer}")
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
