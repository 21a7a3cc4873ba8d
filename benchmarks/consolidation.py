"""What it takes to find and merge what says the same in a large namespace: time, peak memory, pairs compared.

    python benchmarks/consolidation.py [--count 100000] [--duplicates 2000] [--vectors]

Random texts by Zipf's law, and among them planted duplicates. With ``--vectors`` every memory has one, made by hashing:
what is measured is the search for neighbours, not a model. Each part runs in a process of its own, so that its peak
memory is its own.
"""

import argparse
import json
import resource
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.synthetic_memories import Corpus
from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.consolidation import MergeState
from s3_agent_memory.embedding.hashing import HashingEmbedder

NAMESPACE = "large"


@dataclass(frozen=True, slots=True)
class Measured:
    """What one part took, and what it has to say."""

    seconds: float
    peak_mib: float
    said: str


def measure(part: Callable[[str, bool], str], url: str, vectors: bool) -> Measured:
    """Run one part; to be called in a fresh process."""
    started = perf_counter()
    said = part(url, vectors)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measured(perf_counter() - started, peak_mib, said)


def open_store(url: str, vectors: bool) -> MemoryStore:
    return MemoryStore.from_url(url, embedder=HashingEmbedder() if vectors else None)


def fill(url: str, count: int, duplicates: int, vectors: bool) -> None:
    """Import so many memories, of which some say what others say."""
    corpus = Corpus()
    texts = [corpus.text() for _ in range(count - duplicates)]
    texts += [text.upper() for text in texts[:duplicates]]
    lines = (
        json.dumps({"id": f"m{number}", "kind": "semantic", "content": text, "created_at": "2026-01-01T00:00:00Z"})
        for number, text in enumerate(texts)
    )
    open_store(url, vectors).import_(NAMESPACE, lines)


def plan(url: str, vectors: bool) -> str:
    found = open_store(url, vectors).plan_consolidation(NAMESPACE)
    return f"{found.compared:,} pairs compared, {found.examined:,} texts read, {len(found.merges):,} groups"


def merge(url: str, vectors: bool) -> str:
    run = open_store(url, vectors).consolidate(NAMESPACE)
    return f"{len(run.in_state(MergeState.MERGED)):,} merged, complete: {run.is_complete}"


def night(url: str, vectors: bool) -> str:
    run = open_store(url, vectors).consolidate(NAMESPACE, only_changes=True)
    return f"{run.examined:,} texts read, {len(run.merges):,} groups"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--duplicates", type=int, default=2_000)
    parser.add_argument("--vectors", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = f"file://{folder}"
        started = perf_counter()
        fill(url, arguments.count, arguments.duplicates, arguments.vectors)
        print(f"{'filled':8} {perf_counter() - started:8.1f} s   {arguments.count:,} memories", flush=True)
        for name, part in (("plan", plan), ("merge", merge), ("merge", merge), ("night", night)):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                done = pool.submit(measure, part, url, arguments.vectors).result()
            print(f"{name:8} {done.seconds:8.1f} s   peak {done.peak_mib:6.0f} MiB   {done.said}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
