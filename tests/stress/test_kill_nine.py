"""Writers, indexers and sweepers are killed at random points: whatever was acknowledged is there, for every reader.

Between two rounds hours or days pass on the clock of all processes, so that clean-up and collection really happen.
"""

from collections import Counter
from pathlib import Path
from random import Random
import time

import pytest

from s3_agent_memory.bootstrap import Parts
from s3_agent_memory.domain.keys import parse_namespace
from tests.stress.fast_clock import FastClock
from tests.stress.fleet import Fleet
from tests.stress.ledger import Ledger
from tests.stress.storm import list_all
from tests.stress.victims import NAMESPACE, Orders
from tests.stress.watched_directory import open_parts

KILL_COUNT_MIN = 200
KILLS_BETWEEN_CHECKS = 3
MESSAGE_COUNT_MAX = 60
DELAY_SECONDS_MAX = 0.01
CLOCK_SPEED = 60
RECALL_COUNT = 20
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
PAUSES_SECONDS = (0, 0, 2 * _MINUTE, 2 * _HOUR, 26 * _HOUR, 8 * _DAY)
EXPECTED_EVENTS = ("folds", "merges", "clean-ups", "collections", "log entries", "segment files")


class Scene:
    """One namespace through all rounds."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.seed = seed
        self.random = Random(seed)
        self.ledger = Ledger()
        self.fleet = Fleet(self.ledger, self.random)
        self.clock = FastClock(time.time_ns() // 1_000, time.monotonic(), CLOCK_SPEED)
        self.round_count = 0

    def play_round(self) -> None:
        """Let the fleet work and die, look at what is left, and let time pass."""
        self.round_count += 1
        shared_id = f"shared-{self.round_count}"
        self.ledger.start_round()
        self._open().memories.remember(NAMESPACE, shared_id, id=shared_id)
        with self.fleet.at_work(Orders(name="", root=self.root, clock=self.clock, shared_id=shared_id)):
            for _ in range(KILLS_BETWEEN_CHECKS):
                self._run_a_little()
                self.check_while_running()
                self.fleet.replace_one()
            self._run_a_little()
        self.check_at_rest(shared_id)
        self._open().memories.forget(NAMESPACE, shared_id)
        self.clock = self.clock.later(self.random.choice(PAUSES_SECONDS))

    def _run_a_little(self) -> None:
        self.fleet.run_until(self.random.randrange(1, MESSAGE_COUNT_MAX), self.random.random() * DELAY_SECONDS_MAX)

    def _open(self) -> Parts:
        return open_parts(self.root, self.clock)[0]

    def check_while_running(self) -> None:
        """A fresh reader lists all that was acknowledged before it began and that nobody has touched since."""
        self.fleet.listen()
        before, doubtful = self.ledger.live, self.ledger.pending_ids | self.ledger.unlogged
        listed = set(list_all(self._open().memories, NAMESPACE))
        self.fleet.listen()
        after, doubtful = self.ledger.live, doubtful | self.ledger.pending_ids
        expected = {memory_id for memory_id, content in before.items() if after.get(memory_id) == content}
        assert expected - doubtful - listed == set(), self._story("acknowledged memories are not listed")

    def check_at_rest(self, shared_id: str) -> None:
        """With everybody dead, a fresh store agrees with the ledger in every way of reading."""
        parts = self._open()
        # The store would rebuild a broken index without a word.
        parts.services.index.view(parse_namespace(NAMESPACE))
        present = self._exported(parts)
        shared = parts.memories.get(NAMESPACE, shared_id)
        self.ledger.settle({memory_id: content for memory_id, content in present.items() if memory_id != shared_id})
        assert present == self.ledger.live | {shared_id: shared_id}, self._story("objects differ")
        self._check_list(parts, shared_id)
        self._check_recall(parts)
        self._check_marks(set(shared.metadata), shared.version)

    def _exported(self, parts: Parts) -> dict[str, str]:
        corrupt: list[str] = []
        lines = parts.memories.export(NAMESPACE, on_corrupt=corrupt.append)
        documents = [json.loads(line) for line in lines]
        assert corrupt == [], self._story("torn objects")
        return {document["id"]: document["content"] for document in documents}

    def _check_list(self, parts: Parts, shared_id: str) -> None:
        listed = list_all(parts.memories, NAMESPACE)
        assert max(Counter(listed).values()) == 1, self._story("a memory is listed twice")
        # The index need not know of a change whose writer died before it was acknowledged.
        differing = set(listed) ^ {shared_id, *self.ledger.live}
        assert differing <= self.ledger.unlogged, self._story("the list differs")

    def _check_recall(self, parts: Parts) -> None:
        sample = self.random.sample(sorted(self.ledger.contents.items(), key=lambda item: item[0]), RECALL_COUNT)
        for memory_id, content in sample:
            if memory_id not in self.ledger.unlogged:
                hits = parts.memories.recall(NAMESPACE, content or memory_id)
                is_found = memory_id in {hit.memory.id for hit in hits}
                assert is_found == (content is not None), self._story(f"{memory_id} is recalled: {is_found}")

    def _check_marks(self, present: set[str], version: int) -> None:
        assert self.ledger.markers <= present, self._story("acknowledged updates are lost")
        assert present <= self.ledger.markers | self.ledger.doubtful_markers, self._story("unknown updates")
        assert version == 1 + len(present), self._story("versions do not count updates")

    def _story(self, what: str) -> str:
        return f"{what}; seed {self.seed}, round {self.round_count}, {self.fleet.kill_count} kills"
