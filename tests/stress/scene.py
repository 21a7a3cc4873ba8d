"""The stage of the killings: rounds of work and death, a look at what is left, and time that passes."""

import json
import time
from collections import Counter
from pathlib import Path
from random import Random

from s3_agent_memory.bootstrap import Parts
from s3_agent_memory.domain.keys import parse_namespace
from tests.stress.fast_clock import FastClock
from tests.stress.fleet import Fleet
from tests.stress.ledger import Ledger
from tests.stress.storm import list_all
from tests.stress.victims import NAMESPACE, Orders
from tests.stress.watched_directory import open_parts

REPLACED_COUNT = 3
MESSAGE_COUNT_MAX = 60
DELAY_SECONDS_MAX = 0.01
CLOCK_SPEED = 60
RECALL_COUNT = 20
FINDING_COUNT_MAX = 10
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
PAUSES_SECONDS = (0, 0, 2 * _MINUTE, 2 * _HOUR, 26 * _HOUR, 8 * _DAY)


class Scene:
    """One namespace through all rounds.

    Attributes:
        findings: whatever was not as it must be.
    """

    def __init__(self, root: Path, seed: int) -> None:
        self.seed = seed
        self.ledger = Ledger()
        self.findings: list[str] = []
        self._random = Random(seed)
        self.fleet = Fleet(self.ledger, self._random)
        self._root = root
        self._clock = FastClock(time.time_ns() // 1_000, time.monotonic(), CLOCK_SPEED)
        self._round_count = 0

    def play(self, kill_count: int) -> None:
        """Play rounds until so many are dead."""
        first = self.open().memories.remember(NAMESPACE, "first")
        self.ledger.contents[first.id] = self.ledger.last_contents[first.id] = first.content
        self.open().memories.sweep(NAMESPACE)
        while self.fleet.kill_count < kill_count and len(self.findings) < FINDING_COUNT_MAX:
            self._play_round()

    def open(self) -> Parts:
        """Open the store afresh."""
        return open_parts(self._root, self._clock)[0]

    def _play_round(self) -> None:
        self._round_count += 1
        shared_id = f"shared-{self._round_count}"
        self.ledger.start_round()
        self.open().memories.remember(NAMESPACE, shared_id, id=shared_id)
        with self.fleet.at_work(Orders(name="", root=self._root, clock=self._clock, shared_id=shared_id)):
            for _ in range(REPLACED_COUNT):
                self._run_a_little()
                self._check_while_running()
                self.fleet.replace_one()
            self._run_a_little()
        self._check_at_rest(shared_id)
        self.open().memories.forget(NAMESPACE, shared_id)
        self._clock = self._clock.later(self._random.choice(PAUSES_SECONDS))

    def _run_a_little(self) -> None:
        self.fleet.run_until(self._random.randrange(1, MESSAGE_COUNT_MAX), self._random.random() * DELAY_SECONDS_MAX)

    def _check_while_running(self) -> None:
        """A fresh reader lists all that was acknowledged before it began and that nobody has touched since."""
        self.fleet.listen()
        before, doubtful = self.ledger.live, self.ledger.pending_ids | self.ledger.unlogged
        listed = set(list_all(self.open().memories, NAMESPACE))
        self.fleet.listen()
        after, doubtful = self.ledger.live, doubtful | self.ledger.pending_ids
        expected = {memory_id for memory_id, content in before.items() if after.get(memory_id) == content}
        self._expect_none("acknowledged and not listed while others work", expected - doubtful - listed)

    def _check_at_rest(self, shared_id: str) -> None:
        """With everybody dead, a fresh store agrees with the ledger in every way of reading."""
        parts = self.open()
        # The store would rebuild a broken index without a word.
        parts.services.index.view(parse_namespace(NAMESPACE))
        present = self._exported(parts)
        shared = parts.memories.get(NAMESPACE, shared_id)
        del present[shared_id]
        self.ledger.settle(present)
        self._expect_none("not stored as acknowledged", set(present.items()) ^ set(self.ledger.live.items()))
        self._check_list(parts, shared_id)
        self._check_recall(parts)
        self._check_marks(set(shared.metadata), shared.version)

    def _exported(self, parts: Parts) -> dict[str, str]:
        torn: list[str] = []
        documents = [json.loads(line) for line in parts.memories.export(NAMESPACE, on_corrupt=torn.append)]
        self._expect_none("torn", torn)
        return {document["id"]: document["content"] for document in documents}

    def _check_list(self, parts: Parts, shared_id: str) -> None:
        listed = Counter(list_all(parts.memories, NAMESPACE))
        self._expect_none("listed twice", [memory_id for memory_id, count in listed.items() if count > 1])
        # The index need not know of a change whose writer died before it was acknowledged.
        known = {memory_id for memory_id in (shared_id, *self.ledger.live) if memory_id not in self.ledger.unlogged}
        self._expect_none("not listed", known - set(listed))
        self._expect_none("listed, but gone", set(listed) - self.ledger.unlogged - known)

    def _check_recall(self, parts: Parts) -> None:
        ids = sorted(self.ledger.contents.keys() - self.ledger.unlogged)
        for memory_id in self._random.sample(ids, min(RECALL_COUNT, len(ids))):
            hits = parts.memories.recall(NAMESPACE, self.ledger.last_contents[memory_id])
            found = {hit.memory.id for hit in hits} & {memory_id}
            expected = set() if self.ledger.contents[memory_id] is None else {memory_id}
            self._expect_none("recalled, but gone", found - expected)
            self._expect_none("not recalled", expected - found)

    def _check_marks(self, present: set[str], version: int) -> None:
        self._expect_none("acknowledged updates, but not there", self.ledger.markers - present)
        self._expect_none("updates nobody made", present - self.ledger.markers - self.ledger.doubtful_markers)
        if version != 1 + len(present):
            self._expect_none("version after other than as many updates", [str(version), str(len(present))])

    def _expect_none(self, what: str, found: object) -> None:
        if found:
            story = f"seed {self.seed}, round {self._round_count}, {self.fleet.kill_count} kills"
            self.findings.append(f"{story}: {what}: {found}")
