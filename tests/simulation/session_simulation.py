"""One seeded run of a session: many writers, digesters, erasers and readers on several instances, faults everywhere."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from s3_agent_memory.bootstrap import MemoryStore, Parts, Settings
from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.scopes import Contributor, Level, Scope
from s3_agent_memory.domain.session_keys import Session, parse_batch_key, session_of
from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.domain.turns import ExtractedMemory, LongTerm, Turn
from s3_agent_memory.domain.window import mint_write_id
from s3_agent_memory.errors import AgentMemoryError, CorruptError, UnknownOutcomeError
from s3_agent_memory.service.conversations.digest_worker import RESERVE_MS, DigestTools, DigestWorker
from s3_agent_memory.service.conversations.parts import ConversationParts
from s3_agent_memory.service.sessions.writer import SessionWrite
from s3_agent_memory.service.upkeep.housekeeper import Folding
from s3_agent_memory.storage.retry import RetryPolicy
from tests.simulation.ports import SimulatedClock, SimulatedEntropy, SimulatedObjectStore
from tests.simulation.session_oracle import ERASED, PRESENT, SessionOracle, marks_of, order_of
from tests.simulation.world import SECOND_US, Actor, Chances, Result, ViolationError, World

SESSION_ID = "s/1"
NAMESPACE = parse_namespace("sim/ns")
WRITER_COUNT = 8
FUNCTION_LIFE_S = 900
REQUEST_SECONDS = 25.0
ALONE_STEPS_MAX = 60_000
SLOW_POINTS = tuple(
    (verb, folder)
    for verb in ("put", "get")
    for folder in ("_windows", "episodic", "_tombstones", f"{1:020d}", f"{2:020d}", f"{3:020d}")
)


class MoodyModel:
    """A language model that never answers the same twice: digests and memories keep the marks of their turns."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def digest(self, previous: str, turns: Sequence[Turn]) -> str:
        return " ".join([previous, *marks_in(turns), f"mood{self._rng.random()}"]).strip()

    def extract(self, turns: Sequence[Turn], attribution: Contributor) -> list[ExtractedMemory]:
        if any(turn.contributor != attribution for turn in turns):
            raise ViolationError("turns of one contributor are extracted as another's")
        mood = self._rng.random()
        return [ExtractedMemory(content=f"{mark} mood{mood}", kind=Kind.EPISODIC) for mark in marks_in(turns)]


def marks_in(turns: Sequence[Turn]) -> list[str]:
    return [mark for turn in turns for mark in marks_of(turn.content)]


@dataclass
class Writer:
    """A client that writes one thing after the other.

    Attributes:
        again: the write that was answered "unknown" and comes again under its id, and its turns.
    """

    number: int
    contributor: Contributor
    write_count: int = 0
    is_busy: bool = False
    again: tuple[str, tuple[Turn, ...]] | None = None


class SessionSimulation:
    """One world with one session."""

    def __init__(self, seed: int, *, is_traced: bool = False) -> None:
        self.world = World(seed, is_traced=is_traced)
        rng = self.rng = self.world.rng
        self.settings = TierSettings(
            token_budget=rng.choice([40, 90]),
            compaction_target=rng.choice([8, 20]),
            digest_retention=rng.choice([1, 1, 2, 3]),
        )
        self.session: Session = session_of(NAMESPACE, SESSION_ID)
        self.oracle = SessionOracle(self.world, self.session, self.settings)
        self.world.watcher = self.oracle.watch
        self.world.chances = Chances(
            fault=rng.choice([0.003, 0.01, 0.02]),
            stall=rng.choice([0.01, 0.03, 0.06]),
            stall_seconds=(1, 10, 30, 70, 300, 800),
            crash=rng.choice([0.002, 0.006]),
            jump=rng.choice([0.0, 0.01]),
            jump_seconds=(1, 5, 20, 70),
            slow_verbs=frozenset(rng.sample(SLOW_POINTS, rng.choice([0, 1, 2]))),
            slow=rng.choice([0.2, 0.5]),
        )
        agents = [Contributor(principal=f"p{n % 2}", agent_client_id=f"a{n % 3}") for n in range(WRITER_COUNT)]
        self.writers = [Writer(number, agents[number]) for number in range(WRITER_COUNT)]
        self.memories: dict[DigestWorker, MemoryStore] = {}
        self.instances = [self.instance() for _ in range(rng.choice([1, 2, 3]))]
        self.erase_weight = rng.choice([0.0, 0.05, 0.3])
        self.turn_count = rng.choice([1_200, 3_000])
        self.busy_max = rng.choice([2, 4, WRITER_COUNT])
        self.digest_weight = rng.choice([3.0, 10.0])

    def instance(self) -> ConversationParts:
        """Return a process with a clock of its own."""
        parts = Parts(
            Settings(url="memory://"),
            store=SimulatedObjectStore(self.world),
            clock=SimulatedClock(self.world, self.rng.uniform(-2, 2)),
            entropy=SimulatedEntropy(self.rng),
            retry_policy=RetryPolicy(attempt_count_max=self.rng.choice([8, 40])),
            folding=Folding.INLINE,
        )
        made = ConversationParts.assemble(parts.runtime, parts.memories, parts.services, settings=self.settings)
        self.memories[made.worker] = parts.memories
        model = MoodyModel(self.rng)
        made.worker._begin = lambda: DigestTools(extractor=model, keeper=model, digester=model)
        return made

    # --- the run ------------------------------------------------------------------------------------------------------

    def run(self) -> Result:
        violation: str | None = None
        try:
            self._live()
            self._quiesce()
        except ViolationError as error:
            violation = str(error)
        finally:
            for actor in list(self.world.actors):
                actor.on_crash = lambda: None
                self.world.crash(actor)
        return Result(self.world.seed, violation, self.world.counts + self.oracle.counts, self.world.trace)

    def _live(self) -> None:
        weights = {"write": 6.0, "digest": self.digest_weight, "read": 2.0, "erase": self.erase_weight, "sweep": 0.1}
        for _ in range(self.turn_count):
            if len(self.world.actors) < WRITER_COUNT + 4 and self.rng.random() < 0.4:
                what = self.rng.choices(list(weights), list(weights.values()))[0]
                getattr(self, what)(self.rng.choice(self.instances))
            if self.rng.random() < 0.002:
                self.instances[self.rng.randrange(len(self.instances))] = self.instance()
            self.world.turn()

    def _quiesce(self) -> None:
        self.world.hush()
        calm = self.instance()
        for _ in range(2):
            self.sweep(calm)
            self._run_alone()
        # Objects that a tombstone covers are removed by whoever looks after the index.
        self._start("memory sweep", lambda: _ignore(self.memories[calm.worker].sweep("sim/ns")))
        self._run_alone()
        self.read(calm)
        self._run_alone()
        self.oracle.check_quiet()

    def _run_alone(self) -> None:
        for _ in range(ALONE_STEPS_MAX):
            if not self.world.actors:
                return
            actor = self.world.actors[0]
            self.world.now_us = max(self.world.now_us + SECOND_US // 100, actor.wake_us)
            self.world.step(actor)
        raise ViolationError("a call does not end, alone and without faults")

    def _start(
        self,
        name: str,
        call: Callable[[], None],
        *,
        life_s: float = FUNCTION_LIFE_S,
        failed: Callable[[AgentMemoryError], None] = lambda _: None,
        crashed: Callable[[], None] = lambda: None,
    ) -> None:
        def run() -> None:
            try:
                call()
            except CorruptError as error:
                raise ViolationError(f"{name}: {error}") from error
            except AgentMemoryError as error:
                self.world.counts[f"{name} answered {error.code}"] += 1
                failed(error)

        actor = Actor(name, run, self.world.now_us + life_s * SECOND_US, on_crash=crashed)
        self.world.spawn(actor)

    # --- callers ------------------------------------------------------------------------------------------------------

    def write(self, parts: ConversationParts) -> None:
        idle = [writer for writer in self.writers if not writer.is_busy]
        if len(self.writers) - len(idle) >= self.busy_max:
            return
        writer = self.rng.choice(idle)
        write_id, turns = writer.again or self._new_write(writer)
        marks = marks_in(turns)
        writer.is_busy, writer.again = True, None
        clock = parts.service._runtime.clock
        request = SessionWrite(
            session=self.session,
            session_id=SESSION_ID,
            turns=turns,
            marks=self.settings.marks,
            deadline_s=clock.monotonic_s() + REQUEST_SECONDS,
            write_id=write_id or None,
        )

        def give_up() -> None:
            """The client got no answer, and mostly tries again."""
            writer.is_busy = False
            if write_id and self.rng.random() < 0.9:
                writer.again = (write_id, turns)

        def call() -> None:
            parts.service._writer.write(request)
            writer.is_busy = False
            missing = [mark for mark in marks if mark not in self.oracle.landed]
            if missing:
                raise ViolationError(f"acknowledged but not stored: {missing}")

        def failed(error: AgentMemoryError) -> None:
            writer.is_busy = False
            if not isinstance(error, UnknownOutcomeError):
                landed = [mark for mark in marks if mark in self.oracle.landed]
                if landed and not write_id:
                    raise ViolationError(f"answered {error.code} but stored: {landed}")
                if not write_id:
                    self.oracle.refused.update(marks)
            else:
                give_up()

        self._start(f"write{writer.number}", call, failed=failed, crashed=give_up)

    def _new_write(self, writer: Writer) -> tuple[str, tuple[Turn, ...]]:
        writer.write_count += 1
        turns = tuple(
            Turn(
                role="user",
                content=f"T{writer.number}.{writer.write_count}.{position}x",
                at=to_datetime(self.world.now_us),
                contributor=writer.contributor,
                long_term=LongTerm.EXTRACT,
                token_count=self.rng.choice([4, 9, 15]),
            )
            for position in range(self.rng.choice([1, 1, 2]))
        )
        nonce = self.rng.randbytes(8).hex()
        is_own = self.rng.random() < 0.6
        now_ms = self.world.now_us // 1_000
        return (mint_write_id(self.oracle.window, now_ms=now_ms, nonce=nonce) if is_own else ""), turns

    def digest(self, parts: ConversationParts) -> None:
        """Start a digester with some events: dropped, repeated, reordered, or none at all."""
        keys = self.rng.sample(self.oracle.events, min(len(self.oracle.events), self.rng.choice([0, 1, 1, 2])))
        for key in keys:
            if self.rng.random() < 0.6:
                self.oracle.events.remove(key)
        sessions = dict.fromkeys(found for key in keys if (found := parse_batch_key(key)) is not None)
        self._start("digest", lambda: _ignore(parts.worker.run(sessions, lambda: RESERVE_MS * 10)))

    def sweep(self, parts: ConversationParts) -> None:
        self._start("sweep", lambda: _ignore(parts.sweeper.run(lambda: RESERVE_MS * 10)))

    def read(self, parts: ConversationParts) -> None:
        started = self.world.tick

        def call() -> None:
            known = {mark for mark, item in self.oracle.landed.items() if item.tick < started}
            view = parts.service._reader.read(self.session, with_digest=lambda _: True)
            marks = [*marks_of(view.digest), *marks_in(view.undigested), *marks_in(view.window.turns)]
            if len(set(marks)) != len(marks):
                raise ViolationError("a reader sees a turn twice")
            last: dict[str, tuple[int, int]] = {}
            for mark in marks:
                writer = mark.partition(".")[0]
                if order_of(mark) <= last.get(writer, (0, -1)):
                    raise ViolationError(f"a reader sees turns of {writer} out of order")
                last[writer] = order_of(mark)
            head = self.oracle.digests.get((view.window.epoch, view.window.done))
            if view.window.done and (head is None or view.digest != head.text):
                raise ViolationError("a reader gets a digest that lost")
            missed = {mark for mark in known if self.oracle.landed[mark].state == PRESENT} - set(marks)
            if missed:
                raise ViolationError(f"a reader misses {sorted(missed)}")

        self._start("read", call)

    def erase(self, parts: ConversationParts) -> None:
        scope = self.rng.choice(
            [
                Scope(level=Level.SESSION),
                Scope(level=Level.USER, principal="p0"),
                Scope(level=Level.AGENT, agent_client_id="a1"),
                Scope(level=Level.AGENT, agent_client_id="a2", principal="p1"),
            ]
        )
        before = [mark for mark, item in self.oracle.landed.items() if scope.covers(item.contributor)]

        def call() -> None:
            parts.service._eraser.erase(self.session, scope)
            left = [mark for mark in before if self.oracle.landed[mark].state == PRESENT]
            if left:
                raise ViolationError(f"an erasure is acknowledged, but left {left}")
            live = self.oracle.live_marks()
            visible = [mark for mark in before if mark in live]
            if visible:
                raise ViolationError(f"an erasure is acknowledged, but memories are left of {visible}")
            for mark in before:
                self.oracle.landed[mark].state = ERASED
            self.oracle.banned.update(before)

        self._start("erase", call)


def _ignore(_: object) -> None:
    """A sweep's report is of no interest here."""


def run_seed(seed: int, *, is_traced: bool = False) -> Result:
    """Run one seed."""
    return SessionSimulation(seed, is_traced=is_traced).run()
