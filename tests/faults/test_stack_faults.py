"""The local stack over a failing network: every answer is a success or a documented problem, and none is forgotten."""

import sys
from collections import Counter
from pathlib import Path
from random import Random
from time import monotonic, sleep

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from tests.fakes.s3_server import REGION
from tests.faults.book import Book
from tests.faults.conftest import BUCKET
from tests.faults.deck import Deck, Fault, Rates
from tests.faults.http_load import HttpLoad
from tests.faults.proxy import Proxy, running_proxy
from tests.faults.stack import errors_of, running_stack
from tests.faults.verify import merged, verify
from tests.faults.worker import SHARED_IDS

SEED = 17
URL = f"s3://{BUCKET}/stack"
NAMESPACE = "default"
CLIENT_COUNT = 3
ROUND_COUNT = 2
ACKNOWLEDGED_COUNT_MAX = 25
STEP_COUNT_LAST = 12
OUTAGE_REQUEST_COUNT = 12
WAIT_SECONDS_MAX = 60
POLL_SECONDS = 0.02


class Run:
    """All rounds over one bucket.

    Attributes:
        books: of each client.
        findings: whatever was not as it must be.
        faults: how often each fault was injected.
    """

    def __init__(self, directory: Path) -> None:
        self.books = [Book() for _ in range(CLIENT_COUNT)]
        self.findings: list[str] = []
        self.faults: Counter[Fault] = Counter()
        self._directory = directory
        self._random = Random(SEED)

    def play(self, proxy: Proxy) -> None:
        """Load the stack and kill it, again and again; the last one may end in peace."""
        for number in range(ROUND_COUNT):
            self._play_round(proxy, number)
        with running_stack(self._directory, URL, self._environment(proxy)) as stack:
            load = HttpLoad(stack, self.books, name="last", step_count_max=STEP_COUNT_LAST)
            load.join()
            self.findings += load.findings
            proxy.deck.is_calm = True
            stack.stop()
        self.faults = proxy.deck.counts

    def _play_round(self, proxy: Proxy, number: int) -> None:
        with running_stack(self._directory, URL, self._environment(proxy)) as stack:
            load = HttpLoad(stack, self.books, name=f"r{number}")
            proxy.deck.break_down(OUTAGE_REQUEST_COUNT)
            self._wait_for(load, load.acknowledged_count + self._random.randrange(ACKNOWLEDGED_COUNT_MAX))
            stack.kill()
            load.join()
        self.findings += load.findings

    def _wait_for(self, load: HttpLoad, acknowledged_count: int) -> None:
        ends_at = monotonic() + WAIT_SECONDS_MAX
        while load.acknowledged_count < acknowledged_count and not load.is_over and monotonic() < ends_at:
            sleep(POLL_SECONDS)

    def _environment(self, proxy: Proxy) -> dict[str, str]:
        return {"S3_AGENT_MEMORY_ENDPOINT_URL": proxy.url}


def _open_store(endpoint_url: str) -> MemoryStore:
    return MemoryStore.from_url(URL, endpoint_url=endpoint_url, region=REGION)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stack")


@pytest.fixture(scope="module")
def run(directory: Path, s3_endpoint_url: str) -> Run:
    store = _open_store(s3_endpoint_url)
    for memory_id in SHARED_IDS:
        store.remember(NAMESPACE, "everybody knows", id=memory_id)
    played = Run(directory)
    with running_proxy(s3_endpoint_url, Deck(SEED, Rates(read=0.02, write=0.1))) as proxy:
        played.play(proxy)
    return played


def test_every_answer_was_possible_and_every_problem_documented(run: Run) -> None:
    assert run.findings == [], f"seed {SEED}"


def test_nothing_acknowledged_is_lost_and_nothing_forgotten_is_back(run: Run, s3_endpoint_url: str) -> None:
    findings = verify(_open_store(s3_endpoint_url), NAMESPACE, merged(run.books), seed=SEED)
    assert findings == [], f"seed {SEED}"


def test_no_function_failed_in_a_way_nobody_foresaw(run: Run, directory: Path) -> None:
    assert [line for line in errors_of(directory).splitlines() if '"code":"internal"' in line] == []


def test_there_was_something_to_lose(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    acknowledged = sum(book.acknowledged_count for book in run.books)
    doubted = sum(book.doubt_count for book in run.books)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{ROUND_COUNT} kills, {acknowledged} changes acknowledged, {doubted} in doubt, "
            f"{run.faults.total()} faults\n"
        )
    assert acknowledged > 0, f"seed {SEED}"
    assert doubted > 0, f"seed {SEED}: no kill came in the middle of a change"
    assert run.faults.total() > 0, f"seed {SEED}"
