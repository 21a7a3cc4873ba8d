"""A simulated bucket under a simulated scheduler: one seed is one schedule.

Actors are greenlets that run the product's own code. Every request to the store switches to the hub, which decides who
goes on, and how the request ends: done, lost before its effect, answered after the caller gave up, refused with 412,
409 or 503, or taking effect minutes later. Time is a number that the hub moves.
"""

from __future__ import annotations

import hashlib
import random
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from greenlet import GreenletExit, getcurrent, greenlet

from s3_agent_memory.errors import BackendError, PreconditionFailedError, ThrottledError, UnknownOutcomeError

START_US = 1_700_000_000_000_000
SECOND_US = 1_000_000
LATE_S = 300.0
READ_RETRY_FACTOR = 6
TRACE_LENGTH_MAX = 20_000


class ViolationError(Exception):
    """A promise of the product is broken."""


@dataclass
class Result:
    """What one seed led to."""

    seed: int
    violation: str | None
    counts: Counter[str]
    trace: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class SimObject:
    """One object of the bucket; as on S3 the ETag is a hash of the bytes."""

    body: bytes
    etag: str
    modified_ms: int


@dataclass(eq=False)
class Request:
    """One request on its way: what it does to the bucket when it takes effect."""

    verb: str
    key: str
    effect: Callable[[], object]
    is_write: bool = False
    is_conditional: bool = False


@dataclass(eq=False)
class Actor:
    """One call under way, as a thread of a process would make it."""

    name: str
    run: Callable[[], None]
    deadline_us: float
    greenlet: greenlet | None = None
    request: Request | None = None
    wake_us: int = 0
    stalled_tick: int = -1
    step_count: int = 0
    head_read_us: int = 0
    files_in_use: frozenset[str] = frozenset()
    on_effect: Callable[[Request], None] = lambda _: None
    on_pending: Callable[[int], None] = lambda _: None
    on_crash: Callable[[], None] = lambda: None


@dataclass
class Chances:
    """How often things go wrong, drawn anew for each seed."""

    fault: float = 0.01
    stall: float = 0.03
    stall_seconds: tuple[int, ...] = (1, 10, 70, 300, 800, 5_000, 90_000, 200_000)
    crash: float = 0.01
    jump: float = 0.02
    jump_seconds: tuple[int, ...] = (5, 30, 70, 200, 1_000, 4_000, 40_000, 90_000)
    slow_verbs: frozenset[tuple[str, str]] = frozenset()
    slow: float = 0.0
    slow_seconds: tuple[float, ...] = (0.5, 3, 20, 150, 700, 8_000)


@dataclass
class Late:
    """A request whose caller has given up and that takes effect later."""

    due_us: int
    request: Request
    actor: Actor


@dataclass
class World:
    """The bucket, the clock, the actors, and the dice."""

    seed: int
    rng: random.Random = field(init=False)
    objects: dict[str, SimObject] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    now_us: int = START_US
    tick: int = 0
    actors: list[Actor] = field(default_factory=list)
    late: list[Late] = field(default_factory=list)
    has_faults: bool = True
    lose_next_answer: bool = False
    chances: Chances = field(default_factory=Chances)
    turn_seconds: tuple[float, ...] = (0.01, 0.05, 0.1)
    counts: Counter[str] = field(default_factory=Counter)
    trace: list[str] = field(default_factory=list)
    is_traced: bool = False
    watcher: Callable[[str, str, SimObject | None, SimObject | None], None] = lambda *_: None
    reader: Callable[[Actor, Request, object], None] = lambda *_: None

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.hub = getcurrent()

    # --- the bucket ---------------------------------------------------------------------------------------------------

    def put(self, key: str, body: bytes, if_match: str | None, if_absent: bool) -> str:
        old = self.objects.get(key)
        if if_absent and old is not None:
            raise PreconditionFailedError("412")
        if if_match is not None and (old is None or old.etag != if_match):
            raise PreconditionFailedError("404" if old is None else "412")
        new = SimObject(body, hashlib.blake2b(body, digest_size=8).hexdigest(), self.now_us // 1_000)
        self.objects[key] = new
        if old is None:
            insort(self.keys, key)
        self.watcher("put", key, old, new)
        return new.etag

    def delete(self, key: str, if_match: str | None) -> None:
        old = self.objects.get(key)
        if if_match is not None and (old is None or old.etag != if_match):
            raise PreconditionFailedError("404" if old is None else "412")
        if old is not None:
            del self.objects[key]
            self.keys.pop(bisect_right(self.keys, key) - 1)
            self.watcher("delete", key, old, None)

    def list(self, prefix: str, start_after: str, limit: int) -> tuple[list[tuple[str, SimObject]], bool]:
        start = max(bisect_left(self.keys, prefix), bisect_right(self.keys, start_after))
        found = []
        for key in self.keys[start:]:
            if not key.startswith(prefix):
                break
            found.append((key, self.objects[key]))
            if len(found) > limit:
                break
        return found[:limit], len(found) <= limit

    # --- requests -----------------------------------------------------------------------------------------------------

    def send(self, request: Request) -> object:
        """Hand a request to the hub and return its answer; called inside an actor."""
        return self.hub.switch(request)

    def _answer(self, actor: Actor, request: Request) -> tuple[object, Exception | None]:
        """Decide how a request ends, and let it take effect if it does."""
        if self.lose_next_answer:
            self.lose_next_answer = False
            self._take_effect(actor, request)
            return None, _no_answer(request)
        if not self.has_faults:
            return self._take_effect(actor, request)
        roll = self.rng.random()
        # The SDK repeats reads by itself, so that far fewer of them fail.
        p = self.chances.fault if request.is_write else self.chances.fault / READ_RETRY_FACTOR
        fault = self._fault(actor, request, roll / p)
        if fault is not None:
            return None, fault
        result, error = self._take_effect(actor, request)
        if roll > 1 - p and error is None:
            self.counts["lost answers"] += 1
            return None, _no_answer(request)
        return result, error

    def _fault(self, actor: Actor, request: Request, roll: float) -> Exception | None:
        """Return how a request fails before it has an effect, for rolls from 0 to 4; None if it does not."""
        if roll < 1:
            self.counts["lost requests"] += 1
            return _no_answer(request)
        if roll < 2 and request.is_write:
            self.counts["late requests"] += 1
            due = self.now_us + int(self.rng.uniform(0, LATE_S) * SECOND_US)
            self.late.append(Late(due, request, actor))
            actor.on_pending(1)
            return _no_answer(request)
        if roll < 3 and request.is_conditional:
            self.counts["409 answers"] += 1
            return PreconditionFailedError("409")
        if roll < 4:
            self.counts["503 answers"] += 1
            return ThrottledError("503")
        return None

    def _take_effect(self, actor: Actor, request: Request) -> tuple[object, Exception | None]:
        try:
            result = request.effect()
        except PreconditionFailedError as error:
            self.counts["412 and 404 answers"] += 1
            return None, error
        actor.on_effect(request)
        self.reader(actor, request, result)
        return result, None

    # --- the scheduler ------------------------------------------------------------------------------------------------

    def spawn(self, actor: Actor) -> Actor:
        self.actors.append(actor)
        return actor

    def step(self, actor: Actor) -> None:
        """Let one actor's request end and the actor run on to its next one."""
        result: object = None
        error: Exception | None = None
        if actor.greenlet is None:
            actor.greenlet = greenlet(lambda _: actor.run(), parent=self.hub)
        elif actor.request is not None:
            self.tick += 1
            actor.step_count += 1
            request = actor.request
            if request.verb != "sleep":
                result, error = self._answer(actor, request)
            self.note(actor, request, error)
        answer = actor.greenlet.throw(error) if error is not None else actor.greenlet.switch(result)
        if actor.greenlet.dead:
            self.actors.remove(actor)
            return
        actor.request = answer
        if answer.verb == "sleep":
            actor.wake_us = self.now_us + int(answer.effect())

    def crash(self, actor: Actor) -> None:
        """End an actor where it stands, as a killed process would."""
        self.counts["crashes"] += 1
        self.note(actor, Request("crash", "", lambda: None), None)
        self.actors.remove(actor)
        if actor.greenlet is not None and not actor.greenlet.dead:
            actor.greenlet.throw(GreenletExit)
        actor.on_crash()

    def hush(self) -> None:
        """Let everybody crash and every late request arrive; from here on nothing goes wrong."""
        for actor in list(self.actors):
            self.crash(actor)
        self.has_faults = False
        self.run_late(every=True)
        self.tick += 1

    def run_late(self, *, every: bool = False) -> None:
        for late in [late for late in self.late if every or late.due_us <= self.now_us]:
            self.late.remove(late)
            self.tick += 1
            late.actor.on_pending(-1)
            _, error = self._take_effect(late.actor, late.request)
            self.note(late.actor, late.request, error, "took effect late")

    def turn(self) -> None:
        """Move time, and let one actor take one step, crash or stall."""
        rng, chances = self.rng, self.chances
        self.now_us += int(rng.choice(self.turn_seconds) * SECOND_US)
        if rng.random() < chances.jump:
            self.now_us += rng.choice(chances.jump_seconds) * SECOND_US
            self.counts["clock jumps"] += 1
        self.run_late()
        ready = [actor for actor in self.actors if actor.wake_us <= self.now_us]
        if not ready:
            return
        actor = rng.choice(ready)
        if self.now_us > actor.deadline_us or rng.random() < chances.crash:
            self.crash(actor)
        elif self._is_slow(actor) and rng.random() < chances.slow:
            actor.stalled_tick = actor.step_count
            actor.wake_us = self.now_us + int(rng.choice(chances.slow_seconds) * SECOND_US)
        elif rng.random() < chances.stall:
            self.counts["stalls"] += 1
            actor.wake_us = self.now_us + rng.choice(chances.stall_seconds) * SECOND_US
        else:
            self.step(actor)

    def _is_slow(self, actor: Actor) -> bool:
        if actor.request is None or actor.stalled_tick == actor.step_count:
            return False
        folder = folder_of(actor.request.key)
        return (actor.request.verb, folder) in self.chances.slow_verbs

    def note(self, actor: Actor, request: Request, error: Exception | None, remark: str = "") -> None:
        if self.is_traced and len(self.trace) < TRACE_LENGTH_MAX:
            seconds = (self.now_us - START_US) / SECOND_US
            outcome = f" -> {type(error).__name__} {error}" if error else ""
            name = request.key.partition("/sim/ns/")[2] or request.key
            self.trace.append(
                f"{self.tick:5d} {seconds:12.2f}s {actor.name:24s} {request.verb} {name}{outcome} {remark}"
            )


def folder_of(key: str) -> str:
    """Return which part of a namespace a key belongs to: a kind, _tombstones, _ids, HEAD, log, segments."""
    parts = key.split("/")
    return parts[-1] if parts[-1] == "HEAD" else parts[-2] if len(parts) > 1 else ""


def _no_answer(request: Request) -> Exception:
    return UnknownOutcomeError("no answer") if request.is_write else BackendError("no answer")
