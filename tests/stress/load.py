"""Load on the local stack: clients that write as fast as they are answered, until there is no answer any more."""

import http.client
from random import Random
from threading import Condition, Thread

from tests.stress.ledger import Ledger
from tests.stress.stack_process import Client, RefusedError, StackProcess
from tests.stress.victims import Acknowledged, Intent

CLIENT_COUNT = 4
WAIT_SECONDS_MAX = 60


class Load:
    """Several clients at work, and one ledger of what they were told.

    Attributes:
        refusals: answers that were no success.
        touched: ids of memories that were changed under this load.
    """

    def __init__(self, stack: StackProcess, ledger: Ledger, *, name: str) -> None:
        self.refusals: list[str] = []
        self.touched: set[str] = set()
        self._ledger = ledger
        self._changed = Condition()
        self._acknowledged_count = 0
        # Both sorts of ids have a single client that changes them, so that the ledger knows the order of the changes.
        live = sorted(ledger.live)
        self._threads = [
            Thread(target=self._run, args=(stack.connect(), f"{name}c{number}", live[number::CLIENT_COUNT]))
            for number in range(CLIENT_COUNT)
        ]

    def start(self) -> None:
        """Let the clients begin."""
        for thread in self._threads:
            thread.start()

    def wait_for(self, acknowledged_count: int) -> None:
        """Return when so much was acknowledged, or when something went wrong."""
        with self._changed:
            is_reached = self._changed.wait_for(
                lambda: self._acknowledged_count >= acknowledged_count or self.refusals, WAIT_SECONDS_MAX
            )
        assert is_reached, "the stack has stopped to answer"

    def join(self) -> None:
        """Return when all clients have noticed that nobody answers."""
        for thread in self._threads:
            thread.join()

    def _run(self, client: Client, name: str, own: list[str]) -> None:
        random = Random(name)
        count = 0
        try:
            while True:
                count += 1
                self._step(client, random, name=name, word=f"{name}n{count}", own=own)
        except (OSError, http.client.HTTPException):
            pass
        except RefusedError as error:
            with self._changed:
                self.refusals.append(str(error))
                self._changed.notify_all()
        finally:
            client.close()

    def _step(self, client: Client, random: Random, *, name: str, word: str, own: list[str]) -> None:
        """Do one thing, chosen at random."""
        if not own or random.random() < 0.6:
            self._intend(name, Intent(newcomer=word))
            memory_id = client.remember(word)
            own.append(memory_id)
            self._acknowledge(name, memory_id)
            return
        memory_id = random.choice(own)
        if random.random() < 0.6:
            self._intend(name, Intent(changes={memory_id: word}))
            client.update(memory_id, word)
        else:
            self._intend(name, Intent(changes={memory_id: None}))
            own.remove(memory_id)
            client.forget(memory_id)
        self._acknowledge(name, memory_id)

    def _intend(self, name: str, intent: Intent) -> None:
        with self._changed:
            self._ledger.intend(name, intent)
            self.touched.update(intent.changes)

    def _acknowledge(self, name: str, memory_id: str) -> None:
        with self._changed:
            self._ledger.acknowledge(name, Acknowledged(memory_id))
            self.touched.add(memory_id)
            self._acknowledged_count += 1
            self._changed.notify_all()
