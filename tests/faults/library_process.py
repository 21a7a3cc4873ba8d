"""A process that works on a store by the library and says what it is told, so that its book outlives it.

A module of its own, so that a process that starts from nothing can import it.
"""

import traceback
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from random import Random
from signal import SIGKILL
from time import sleep

from s3_agent_memory.bootstrap import MemoryStore
from tests.faults.book import Book
from tests.faults.memories import LibraryMemories
from tests.faults.worker import Worker

PAUSE_SECONDS_MAX = 0.05
END_POLL_SECONDS = 0.05
END_POLL_COUNT_MAX = 600
_context = get_context("spawn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """Where a process works, and how it is called."""

    url: str
    endpoint_url: str | None
    region: str | None
    namespace: str
    name: str
    slot: str


class _TellingBook(Book):
    """A book whose every entry is also told, before it is made."""

    def __init__(self, book: Book, pipe: Connection) -> None:
        super().__init__(states=book.states)
        self._pipe = pipe

    def intend(self, entry: str | None, content: str | None) -> None:
        self._pipe.send(("intend", (entry, content)))
        super().intend(entry, content)

    def acknowledge(self, entry: str) -> None:
        self._pipe.send(("acknowledge", (entry,)))
        super().acknowledge(entry)

    def refuse(self) -> None:
        self._pipe.send(("refuse", ()))
        super().refuse()

    def note_version(self, memory_id: str, version: int) -> None:
        self._pipe.send(("note_version", (memory_id, version)))


def work(orders: Orders, book: Book, pipe: Connection) -> None:
    """Work until killed."""
    random = Random(orders.name)
    try:
        store = MemoryStore.from_url(orders.url, endpoint_url=orders.endpoint_url, region=orders.region)
        memories = LibraryMemories(store, orders.namespace)
        worker = Worker(memories, _TellingBook(book, pipe), name=orders.name, slot=orders.slot)
        while True:
            worker.step()
            pipe.send(("worked", (worker.findings, worker.timings)))
            worker.findings, worker.timings = [], []
            sleep(random.random() * PAUSE_SECONDS_MAX)
    except BaseException:
        pipe.send(("worked", ([traceback.format_exc()], [])))
        raise


class LibraryProcess:
    """Such a process, seen from outside.

    Attributes:
        book: what it was told until now.
        findings: answers that could not be.
        timings: name and seconds of each request.
    """

    def __init__(self, orders: Orders, book: Book) -> None:
        self.book = book
        self.findings: list[str] = []
        self.timings: list[tuple[str, float]] = []
        self._pipe, far_end = _context.Pipe(duplex=False)
        self._process = _context.Process(target=work, args=(orders, book, far_end), daemon=True)
        self._process.start()
        far_end.close()

    def listen(self) -> None:
        """Take in what it has said."""
        try:
            while self._pipe.poll():
                name, arguments = self._pipe.recv()
                if name == "worked":
                    self.findings += arguments[0]
                    self.timings += arguments[1]
                else:
                    getattr(self.book, name)(*arguments)
        except EOFError:
            return

    def kill(self) -> None:
        """End it at once, and take in what it said before."""
        self._process.kill()
        for _ in range(END_POLL_COUNT_MAX):
            self.listen()
            self._process.join(END_POLL_SECONDS)
            if not self._process.is_alive():
                break
        self.listen()
        if self._process.exitcode != -SIGKILL:
            self.findings.append(f"a process ended by itself with {self._process.exitcode}")
        self.book.settle()
        self.close()

    def close(self) -> None:
        """End it if it still runs, and never mind its last words."""
        if not self._pipe.closed:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process.close()
