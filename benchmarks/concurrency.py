"""Many processes that write into one namespace of a directory at once: what is there in the end, and how fast it was.

    python -m benchmarks.concurrency [--writers 32] [--writes 200] [--json FILE]

Every writer is a process with a store of its own and default settings, so writers also fold and merge now and then. In
the end a fresh process looks for every memory that a writer was told is stored. "swaps" counts conditional
replacements that one write sends, with an indexer beside it that does the folding. Exit code 1 if anything is lost or a
write swaps.
"""

import argparse
import json
import multiprocessing
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np
from tqdm import tqdm

from benchmarks.synthetic_memories import SEED, Corpus
from s3_agent_memory.bootstrap import MemoryStore, Parts, Settings
from s3_agent_memory.domain.clock import SystemClock
from s3_agent_memory.service.upkeep.housekeeper import Folding
from s3_agent_memory.storage.in_memory import InMemoryObjectStore

NAMESPACE: Final = "busy"
_PAGE: Final = 100
_SWAP_SAMPLE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of all writers."""

    writers: int
    acknowledged: int
    failed: int
    lost: int
    seconds: float
    writes_per_second: float
    p50_ms: float
    p99_ms: float
    swaps: int


class SwapCounter(InMemoryObjectStore):
    """A store that counts conditional replacements."""

    swap_count = 0

    def put(self, key: str, body: bytes, *, if_match: str | None = None, if_absent: bool = False) -> str:
        """See ``ObjectStore``."""
        self.swap_count += if_match is not None
        return super().put(key, body, if_match=if_match, if_absent=if_absent)


def count_swaps() -> int:
    """Return how many conditional replacements some writes send when somebody else folds."""
    clock = SystemClock()
    objects = SwapCounter(clock)
    store = Parts(Settings(url="memory://"), store=objects, clock=clock, folding=Folding.INLINE).memories
    corpus = Corpus()
    for _ in range(_SWAP_SAMPLE):
        store.remember(NAMESPACE, corpus.text())
    return objects.swap_count


@dataclass(frozen=True, slots=True)
class Written:
    """What one writer did; its times are those of one clock of the machine."""

    ids: list[str]
    times_ms: list[float]
    failed_count: int
    started_s: float
    ended_s: float


def write(url: str, number: int, count: int) -> Written:
    """Write so many memories."""
    store, corpus = MemoryStore.from_url(url), Corpus(SEED + number)
    ids, times_ms, failed_count = [], [], 0
    began = perf_counter()
    for _ in range(count):
        started = perf_counter()
        try:
            ids.append(store.remember(NAMESPACE, corpus.text()).id)
        except Exception as error:  # noqa: BLE001
            failed_count += 1
            print(f"writer {number}: {type(error).__name__}: {error}", file=sys.stderr)
        times_ms.append((perf_counter() - started) * 1e3)
    return Written(ids, times_ms, failed_count, began, perf_counter())


def stored_ids(url: str) -> set[str]:
    """Return the ids of everything that a listing finds."""
    store = MemoryStore.from_url(url)
    found: set[str] = set()
    cursor: str | None = None
    while True:
        page = store.list(NAMESPACE, limit=_PAGE, cursor=cursor)
        found |= {memory.id for memory in page.memories}
        cursor = page.next_cursor
        if cursor is None:
            return found


def run(*, writer_count: int, write_count: int) -> Outcome:
    """Let all writers write and count what is there."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="concurrency-") as folder:
        url = f"file://{folder}"
        with ProcessPoolExecutor(writer_count, mp_context=context) as pool:
            futures = [pool.submit(write, url, number, write_count) for number in range(writer_count)]
            results = [future.result() for future in tqdm(futures, desc="write", unit=" writers", leave=False)]
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            stored = pool.submit(stored_ids, url).result()
    acknowledged = {memory_id for one in results for memory_id in one.ids}
    times_ms = [time for one in results for time in one.times_ms]
    # The start of the processes is not part of it.
    seconds = max(one.ended_s for one in results) - min(one.started_s for one in results)
    p50, p99 = np.percentile(times_ms, [50, 99]).tolist()
    return Outcome(
        writers=writer_count,
        acknowledged=len(acknowledged),
        failed=sum(one.failed_count for one in results),
        lost=len(acknowledged - stored),
        seconds=seconds,
        writes_per_second=len(acknowledged) / seconds,
        p50_ms=p50,
        p99_ms=p99,
        swaps=count_swaps(),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description="Many writers of one namespace.")
    parser.add_argument("--writers", type=int, default=32, help="processes (default: %(default)s)")
    parser.add_argument("--writes", type=int, default=200, help="of each (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there")
    arguments = parser.parse_args(argv)
    outcome = run(writer_count=arguments.writers, write_count=arguments.writes)
    document: dict[str, Any] = asdict(outcome)
    for name, value in document.items():
        print(f"{name:20} {value:,.2f}" if isinstance(value, float) else f"{name:20} {value:,}")
    if arguments.json:
        arguments.json.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return int(bool(outcome.lost or outcome.failed or outcome.swaps))


if __name__ == "__main__":
    sys.exit(main())
