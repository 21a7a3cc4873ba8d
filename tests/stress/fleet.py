"""Victims at work, and the end that comes to each of them."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from random import Random
from signal import SIGKILL

from tests.stress import victims
from tests.stress.ledger import Ledger
from tests.stress.victims import Acknowledged, Failed, Intent, Message, Orders, Worked

SILENCE_SECONDS_MAX = 60
_JOBS: dict[str, Callable[[Orders, Connection], None]] = {
    "writer-0": victims.write,
    "writer-1": victims.write,
    "indexer": victims.index,
    "sweeper": victims.sweep,
}
# Its server imports the library once; each victim is a fork of it and starts in milliseconds.
_context = get_context("forkserver")
_context.set_forkserver_preload(["s3_agent_memory.bootstrap"])


class _Victim:
    def __init__(self, job: Callable[[Orders, Connection], None], orders: Orders) -> None:
        self.orders = orders
        self.pipe, far_end = _context.Pipe(duplex=False)
        self.process: ForkServerProcess = _context.Process(target=job, args=(orders, far_end), daemon=True)
        self.process.start()
        far_end.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        assert self.process.exitcode == -SIGKILL, f"{self.orders.name} ended by itself: {self.process.exitcode}"

    def close(self) -> None:
        self.pipe.close()
        self.process.close()


class Fleet:
    """Two writers, an indexer and a sweeper on one namespace, each replaced by another when it is killed.

    Attributes:
        ledger: what they said about memories.
        events: what became of the index, as far as they lived to tell.
        kill_count: how many of them are dead.
    """

    def __init__(self, ledger: Ledger, random: Random) -> None:
        self.ledger = ledger
        self.events: Counter[str] = Counter()
        self.kill_count = 0
        self.message_count = 0
        self._random = random
        self._victims: dict[str, _Victim] = {}

    @contextmanager
    def at_work(self, orders: Orders) -> Iterator[None]:
        """Have all of them work while the block runs; then the last of them are killed, in any order."""
        live = sorted(self.ledger.live.items())
        forgotten = sorted((item for item in self.ledger.contents.items() if item[1] is None), key=lambda item: item[0])
        own = {"writer-0": dict((live + forgotten)[::2]), "writer-1": dict((live + forgotten)[1::2])}
        try:
            for slot in _JOBS:
                self._start(slot, replace(orders, memories=own.get(slot, {})))
            yield
            for slot in self._random.sample(sorted(_JOBS), len(_JOBS)):
                self._kill(slot)
        finally:
            self._end_all()

    def run_until(self, message_count: int, delay_seconds: float) -> None:
        """Let them work until they have said so much more, and a little longer."""
        goal = self.message_count + message_count
        while self.message_count < goal:
            assert self.listen(SILENCE_SECONDS_MAX), "nobody has said anything for a minute"
        self.listen(delay_seconds)

    def replace_one(self) -> None:
        """Kill one of them, whatever it is doing, and put another in its place."""
        slot = self._random.choice(sorted(_JOBS))
        orders = self._victims[slot].orders
        dead = self._kill(slot)
        in_doubt = self.ledger.pending_ids
        memories = {
            memory_id: self.ledger.contents[memory_id] for memory_id in orders.memories if memory_id not in in_doubt
        }
        dead.close()
        self._start(slot, replace(orders, memories=memories))

    def listen(self, timeout_seconds: float = 0.0) -> bool:
        """Take in what they have said; wait for something if there is nothing. Return True if there was something."""
        pipes = {victim.pipe: slot for slot, victim in self._victims.items()}
        has_heard = False
        for pipe in connection.wait(list(pipes), timeout_seconds):
            assert isinstance(pipe, Connection)
            has_heard = self._hear(self._victims[pipes[pipe]]) or has_heard
        return has_heard

    def _start(self, slot: str, orders: Orders) -> None:
        name = f"k{self.kill_count}{slot.replace('-', '')}"
        self._victims[slot] = _Victim(_JOBS[slot], replace(orders, name=name))

    def _kill(self, slot: str) -> _Victim:
        victim = self._victims.pop(slot)
        victim.kill()
        self.kill_count += 1
        # What it said before it died is still in the pipe.
        with suppress(EOFError):
            self._hear(victim)
        return victim

    def _end_all(self) -> None:
        for victim in self._victims.values():
            with suppress(ProcessLookupError):
                victim.process.kill()
            victim.process.join()
            victim.close()
        self._victims.clear()

    def _hear(self, victim: _Victim) -> bool:
        """Take in what a victim has said; True if there was something, EOFError if it will never say more."""
        count_before = self.message_count
        while victim.pipe.poll():
            self._take(victim.orders.name, victim.pipe.recv())
        return self.message_count > count_before

    def _take(self, name: str, message: Message) -> None:
        self.message_count += 1
        match message:
            case Intent():
                self.ledger.intend(name, message)
            case Acknowledged():
                self.ledger.acknowledge(name, message)
            case Worked(events):
                self.events.update(events)
            case Failed(text):
                raise AssertionError(f"a victim failed before it was killed:\n{text}")
