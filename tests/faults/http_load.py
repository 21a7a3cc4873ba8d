"""Clients of a stack that comes and goes: each goes on with its book whenever there is a stack to talk to."""

from collections.abc import Sequence
from random import Random
from threading import Event, Thread
from time import monotonic

from tests.faults.book import Book
from tests.faults.memories import TIMEOUT_SECONDS, DisconnectedError
from tests.faults.stack import Stack
from tests.faults.worker import Worker

PAUSE_SECONDS_MAX = 0.02
# A step may be several requests, one after the other, each of which may take its time.
STEP_SECONDS_MAX = 3 * TIMEOUT_SECONDS


class HttpLoad:
    """Several clients at work on one stack, until it is killed or they are told to stop.

    Attributes:
        workers: one a client.
        failures: what ended a client before its time.
    """

    def __init__(self, stack: Stack, books: Sequence[Book], *, name: str, step_count_max: int | None = None) -> None:
        self.failures: list[str] = []
        self._stopping = Event()
        self._step_count_max = step_count_max
        self._clients = [stack.connect() for _ in books]
        self.workers = [
            Worker(client, book, name=f"{name}c{number}", slot=f"client{number}")
            for number, (client, book) in enumerate(zip(self._clients, books, strict=True))
        ]
        self._threads = [Thread(target=self._run, args=(number,), daemon=True) for number in range(len(books))]
        for thread in self._threads:
            thread.start()

    @property
    def acknowledged_count(self) -> int:
        """Changes acknowledged to all clients, also by the stacks before this one."""
        return sum(worker.book.acknowledged_count for worker in self.workers)

    @property
    def findings(self) -> list[str]:
        """Whatever could not be, and whatever ended a client before its time."""
        return self.failures + [finding for worker in self.workers for finding in worker.findings]

    @property
    def is_over(self) -> bool:
        """True when every client has ended."""
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """Let each client end what it is doing."""
        self._stopping.set()
        self.join()

    def join(self) -> None:
        """Return when every client has ended; one that does not is a failure."""
        ends_at = monotonic() + STEP_SECONDS_MAX
        for thread in self._threads:
            thread.join(max(0.0, ends_at - monotonic()))
            if thread.is_alive():
                self.failures.append(f"a client did not end within {STEP_SECONDS_MAX} s")

    def _run(self, number: int) -> None:
        worker, random = self.workers[number], Random(number)
        count = 0
        try:
            while not self._stopping.wait(random.random() * PAUSE_SECONDS_MAX) and count != self._step_count_max:
                count += 1
                worker.step()
        except DisconnectedError:
            return
        except Exception as error:  # noqa: BLE001 (a thread has nobody to raise to; a test or a soak looks at this)
            self.failures.append(f"{type(error).__name__}: {error}")
        finally:
            self._clients[number].close()
