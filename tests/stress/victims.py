"""The processes that get killed: a writer, an indexer, a sweeper, each at work until the end comes.

A module of its own, so that a process can import it. Everything a victim says goes into its pipe in one piece and is
there to be read after its death: what it is about to do, and that it was told it is done.
"""

import json
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from s3_agent_memory.bootstrap import Parts
from s3_agent_memory.domain.keys import TruthKey, parse_namespace
from tests.stress.fast_clock import FastClock
from tests.stress.watched_directory import WatchedDirectory, open_parts

NAMESPACE = "killed"
IMPORT_LINE_COUNT = 5
_PAUSE_SECONDS_MAX = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What a victim is told when it starts.

    Attributes:
        name: unique among all victims; part of every word it writes.
        memories: content by id of the memories that are its own, None for those that are forgotten.
        shared_id: a memory that every writer marks.
    """

    name: str
    root: Path
    clock: FastClock
    memories: Mapping[str, str | None] = field(default_factory=dict)
    shared_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A writer is about to change memories.

    Attributes:
        changes: the content each id is to have, None if it is to be forgotten.
        newcomer: the content of a memory whose id is not known yet.
        marker: to be set on the shared memory.
    """

    changes: Mapping[str, str | None] = field(default_factory=dict)
    newcomer: str = ""
    marker: str = ""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What the writer intended last is done; ``memory_id`` is the newcomer's."""

    memory_id: str = ""


@dataclass(frozen=True, slots=True)
class Worked:
    """What became of the index since this was last said."""

    events: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Failed:
    """The victim met an error and ends by itself."""

    text: str


Message = Intent | Acknowledged | Worked | Failed


class _Voice:
    """Sends what a victim has to say."""

    def __init__(self, pipe: Connection, store: WatchedDirectory) -> None:
        self._pipe = pipe
        self._store = store

    def say(self, message: Message) -> None:
        self._pipe.send(message)

    def report_work(self) -> None:
        """Say what became of the index, if anything did."""
        if self._store.events:
            self.say(Worked(dict(self._store.events)))
            self._store.events.clear()


def write(orders: Orders, pipe: Connection) -> None:
    """Remember, update, forget, import and resurrect memories until killed."""
    parts, voice = _open(orders, pipe)
    _repeat(_Writer(orders, parts, voice).step, orders, voice)


def index(orders: Orders, pipe: Connection) -> None:
    """Fold the log again and again until killed, as the function does for events."""
    parts, voice = _open(orders, pipe)
    change = TruthKey(parse_namespace(NAMESPACE), None, orders.shared_id)

    def step() -> None:
        failed = parts.indexer.run([change]).failed
        assert not failed, failed

    _repeat(step, orders, voice)


def sweep(orders: Orders, pipe: Connection) -> None:
    """Sweep (fold, compare, merge and collect) again and again until killed."""
    parts, voice = _open(orders, pipe)

    def step() -> None:
        # Not through the store, which would rebuild a broken index without a word.
        parts.services.sweeper.sweep(parse_namespace(NAMESPACE))

    _repeat(step, orders, voice)


def _open(orders: Orders, pipe: Connection) -> tuple[Parts, _Voice]:
    parts, store = open_parts(orders.root, orders.clock)
    return parts, _Voice(pipe, store)


def _repeat(step: Callable[[], None], orders: Orders, voice: _Voice) -> None:
    random = Random(orders.name)
    try:
        while True:
            step()
            voice.report_work()
            # Otherwise the victims would leave each other no processor.
            time.sleep(random.random() * _PAUSE_SECONDS_MAX)
    except BaseException:
        voice.say(Failed(f"{orders.name}\n{traceback.format_exc()}"))
        raise


class _Writer:
    def __init__(self, orders: Orders, parts: Parts, voice: _Voice) -> None:
        self._orders = orders
        self._store = parts.memories
        self._voice = voice
        self._random = Random(f"{orders.name}-writer")
        self._alive = {memory_id for memory_id, content in orders.memories.items() if content is not None}
        self._forgotten = {memory_id for memory_id, content in orders.memories.items() if content is None}
        self._count = 0

    def step(self) -> None:
        """Do one thing, chosen at random."""
        self._count += 1
        actions = [self._remember, self._update, self._forget, self._import, self._resurrect, self._mark]
        (action,) = self._random.choices(actions, weights=[6, 6, 5, 1, 1, 3])
        action(f"{self._orders.name}n{self._count}")

    def _remember(self, word: str) -> None:
        self._voice.say(Intent(newcomer=word))
        memory = self._store.remember(NAMESPACE, word)
        self._voice.say(Acknowledged(memory.id))
        self._alive.add(memory.id)

    def _update(self, word: str) -> None:
        if self._alive:
            memory_id = self._pick(self._alive)
            self._voice.say(Intent(changes={memory_id: word}))
            self._store.update(NAMESPACE, memory_id, content=word)
            self._voice.say(Acknowledged())

    def _forget(self, word: str) -> None:
        if self._alive:
            memory_id = self._pick(self._alive)
            self._voice.say(Intent(changes={memory_id: None}))
            self._store.forget(NAMESPACE, memory_id, reason=word)
            self._voice.say(Acknowledged())
            self._alive.discard(memory_id)
            self._forgotten.add(memory_id)

    def _import(self, word: str) -> None:
        """Import new memories and replace one that is there."""
        ids = [f"{word}-{number}" for number in range(IMPORT_LINE_COUNT)]
        ids += [self._pick(self._alive)] if self._alive else []
        changes = {memory_id: f"{word}i{number}" for number, memory_id in enumerate(ids)}
        lines = [json.dumps({"id": memory_id, "content": content}) for memory_id, content in changes.items()]
        self._voice.say(Intent(changes=changes))
        report = self._store.import_(NAMESPACE, lines, overwrite=True, resurrect=True)
        assert report.imported + report.overwritten == len(lines), report
        self._voice.say(Acknowledged())
        self._alive.update(ids)

    def _resurrect(self, word: str) -> None:
        if self._forgotten:
            memory_id = self._pick(self._forgotten)
            self._voice.say(Intent(changes={memory_id: word}))
            self._store.remember(NAMESPACE, word, id=memory_id, resurrect=True)
            self._voice.say(Acknowledged())
            self._forgotten.discard(memory_id)
            self._alive.add(memory_id)

    def _mark(self, word: str) -> None:
        self._voice.say(Intent(marker=word))
        self._store.update(NAMESPACE, self._orders.shared_id, metadata={word: 1})
        self._voice.say(Acknowledged())

    def _pick(self, ids: set[str]) -> str:
        return self._random.choice(sorted(ids))
