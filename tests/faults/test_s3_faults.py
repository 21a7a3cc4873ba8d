"""Several writers over a network that fails: what they were told is true, and what they were not told is doubtful."""

import sys
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from tests.fakes.s3_server import REGION
from tests.faults.book import Book
from tests.faults.conftest import BUCKET
from tests.faults.deck import Deck, Fault
from tests.faults.memories import LibraryMemories
from tests.faults.proxy import running_proxy
from tests.faults.verify import merged, verify
from tests.faults.worker import DOOMED_IDS, SHARED_IDS, Worker

SEED = 41
THREAD_COUNT = 3
STEP_COUNT = 45
OUTAGE_TURNS = range(6, STEP_COUNT, 9)
# One more than a write and the four attempts to read what became of it.
OUTAGE_REQUEST_COUNT = 6
SHARED = "shared"
# What is said about a memory that all may forget.
DOOMED_CONTENTS = {"doomed", "late"}


@dataclass(frozen=True, slots=True)
class Crowd:
    """What became of all writers.

    Attributes:
        books: of each namespace.
        findings: answers that could not be.
        faults: how often each fault was injected.
    """

    books: Mapping[str, Book]
    findings: list[str]
    faults: Counter[Fault]


@pytest.fixture(scope="module")
def crowd(s3_endpoint_url: str) -> Crowd:
    return run_crowd(s3_endpoint_url)


def run_crowd(s3_endpoint_url: str) -> Crowd:
    """Have all writers work at once, each with a store and a failing network of its own."""
    direct = _open_store(s3_endpoint_url)
    for namespace in (SHARED, *map(_own_namespace, range(THREAD_COUNT))):
        for memory_id in (*SHARED_IDS, *DOOMED_IDS):
            direct.remember(namespace, "doomed", id=memory_id)
    decks = [Deck(f"{SEED}-{number}") for number in range(THREAD_COUNT)]
    with ExitStack() as stack, ThreadPoolExecutor(THREAD_COUNT) as threads:
        proxies = [stack.enter_context(running_proxy(s3_endpoint_url, deck)) for deck in decks]
        runs = [
            threads.submit(_run, _open_store(proxy.url), number, proxy.deck) for number, proxy in enumerate(proxies)
        ]
        pairs = [run.result() for run in runs]
    books = {_own_namespace(number): own.book for number, (own, _) in enumerate(pairs)}
    books[SHARED] = merged([shared.book for _, shared in pairs])
    for book in books.values():
        book.newcomers |= DOOMED_CONTENTS
    findings = [finding for pair in pairs for worker in pair for finding in worker.findings]
    return Crowd(books, findings, sum((deck.counts for deck in decks), Counter()))


def _open_store(endpoint_url: str) -> MemoryStore:
    return MemoryStore.from_url(f"s3://{BUCKET}/crowd", endpoint_url=endpoint_url, region=REGION)


def _own_namespace(number: int) -> str:
    return f"own-{number}"


def _run(store: MemoryStore, number: int, deck: Deck) -> tuple[Worker, Worker]:
    """Be one writer: in the own namespace and the shared one by turns."""
    name = f"s{SEED}w{number}"
    own, shared = (
        Worker(LibraryMemories(store, namespace), Book(), name=f"{name}{sort}", slot=name, deck=deck)
        for sort, namespace in (("o", _own_namespace(number)), ("s", SHARED))
    )
    for turn in range(STEP_COUNT):
        if turn in OUTAGE_TURNS:
            deck.break_down(OUTAGE_REQUEST_COUNT, at_write=turn % 2 == 1)
        own.step()
        shared.step()
        if turn % 4 == 0:
            doomed_id = DOOMED_IDS[turn // 4 % len(DOOMED_IDS)]
            shared.doom(doomed_id, is_forgotten=turn >= STEP_COUNT // 2 and number == 0)
    return own, shared


def test_every_answer_was_possible(crowd: Crowd) -> None:
    assert crowd.findings == [], f"seed {SEED}"


@pytest.mark.parametrize("namespace", [SHARED, *map(_own_namespace, range(THREAD_COUNT))])
def test_without_the_faulty_network_all_is_as_it_was_told(crowd: Crowd, s3_endpoint_url: str, namespace: str) -> None:
    findings = verify(_open_store(s3_endpoint_url), namespace, crowd.books[namespace], seed=SEED)
    assert findings == [], f"seed {SEED}"


def test_every_fault_was_injected(crowd: Crowd) -> None:
    assert [fault for fault in Fault if not crowd.faults[fault]] == [], f"seed {SEED}: {crowd.faults}"


def test_there_was_something_to_lose(crowd: Crowd, capsys: pytest.CaptureFixture[str]) -> None:
    # The entries of two namespaces are not the same, even where they are called so.
    books = crowd.books.values()
    acknowledged, refused, doubted = (
        sum(counts)
        for counts in zip(
            *((book.acknowledged_count, book.refused_count, book.doubt_count) for book in books), strict=True
        )
    )
    with capsys.disabled():
        faults = ", ".join(f"{count} x {fault}" for fault, count in sorted(crowd.faults.items()))
        sys.stdout.write(f"\n{acknowledged} changes acknowledged, {refused} refused, {doubted} in doubt; {faults}\n")
    assert acknowledged > 0, f"seed {SEED}"
    assert refused + doubted > 0, f"seed {SEED}: no fault ever reached a caller"
    assert crowd.books[SHARED].gone, f"seed {SEED}: nothing of the shared memories was forgotten"
