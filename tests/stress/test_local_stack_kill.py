"""The local stack is killed in the middle of a load, again and again: what it acknowledged is there when it is back."""

from pathlib import Path
from random import Random

import pytest

from tests.stress.ledger import Ledger
from tests.stress.load import Load
from tests.stress.stack_process import Client, running_stack

ROUND_COUNT = 10
ACKNOWLEDGED_COUNT_MAX = 120
SEED = 27


class Run:
    """All rounds over one directory.

    Attributes:
        findings: whatever was not as it must be.
    """

    def __init__(self, directory: Path) -> None:
        self.ledger = Ledger()
        self.findings: list[str] = []
        self._directory = directory
        self._random = Random(SEED)

    def play(self) -> None:
        """Load and kill it so many times, each time on what the last one left, and look at the end once more."""
        touched: set[str] = set()
        for number in range(ROUND_COUNT):
            touched = self._play_round(number, touched)
        with running_stack(self._directory) as stack:
            self._look(stack.connect(), ROUND_COUNT, set(self.ledger.contents))

    def _play_round(self, number: int, touched: set[str]) -> set[str]:
        with running_stack(self._directory) as stack:
            self._look(stack.connect(), number, touched)
            load = Load(stack, self.ledger, name=f"r{number}")
            load.start()
            load.wait_for(self._random.randrange(ACKNOWLEDGED_COUNT_MAX))
            stack.kill()
            load.join()
        self.findings += load.refusals
        return load.touched

    def _look(self, client: Client, number: int, touched: set[str]) -> None:
        """Compare what a stack that has just started answers with the ledger."""
        present = client.export()
        self.ledger.settle(present)
        live, unlogged = self.ledger.live, self.ledger.unlogged
        self._expect_none(number, "not stored as acknowledged", set(present.items()) ^ set(live.items()))
        # A sweep may already have found what was never acknowledged.
        self._expect_none(number, "listed other than stored", (set(client.list_all()) ^ set(live)) - unlogged)
        for memory_id in sorted((touched & set(self.ledger.contents)) - unlogged):
            found = memory_id in client.search(self.ledger.last_contents[memory_id])
            if found != (memory_id in live):
                self._expect_none(number, f"found by search: {found}", {memory_id})
            if memory_id in live and client.content(memory_id) != live[memory_id]:
                self._expect_none(number, "read other than acknowledged", {memory_id})
        client.close()

    def _expect_none(self, number: int, what: str, found: object) -> None:
        if found:
            self.findings.append(f"seed {SEED}, round {number}: {what}: {found}")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    played = Run(tmp_path_factory.mktemp("stack"))
    played.play()
    return played


def test_everything_acknowledged_over_http_survives_a_kill(run: Run) -> None:
    assert run.findings == []


def test_the_stack_was_killed_in_the_middle_of_writes(run: Run) -> None:
    assert run.ledger.acknowledged_count > 0, f"seed {SEED}"
    assert run.ledger.unacknowledged_count >= ROUND_COUNT, f"seed {SEED}"
