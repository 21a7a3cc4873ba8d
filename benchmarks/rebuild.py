"""How long it takes to rebuild the index of a directory from nothing but its memory objects, and how much memory.

    python benchmarks/rebuild.py [--count 100000] [--seconds-max 60] [--json FILE]

The objects are written as a restored backup would be: plain files, no index, no log. The rebuild runs in a process of
its own, so that its peak memory is its own. Exit code 1 if it takes longer than allowed or the index is not complete.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from tqdm import tqdm

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.synthetic_memories import Corpus
from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.codec import encode_memory

NAMESPACE = "restored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """What a rebuild took, and what it made."""

    seconds: float
    peak_bytes: int
    memory_count: int
    index_bytes: int
    segment_count: int


def write_objects(root: Path, count: int) -> int:
    """Write so many memory objects and return their bytes."""
    size_bytes = 0
    folders: set[Path] = set()
    for memory in tqdm(Corpus().memories(NAMESPACE, count), desc="write objects", total=count, unit=" objects"):
        path = root / memory.key
        if path.parent not in folders:
            path.parent.mkdir(parents=True, exist_ok=True)
            folders.add(path.parent)
        size_bytes += path.write_bytes(encode_memory(memory))
    return size_bytes


def rebuild(url: str) -> Rebuild:
    """Rebuild the index of the namespace; to be run in a fresh process."""
    store = MemoryStore.from_url(url)
    started = perf_counter()
    report = store.reindex(NAMESPACE)
    seconds = perf_counter() - started
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024
    stats = store.stats(NAMESPACE)
    return Rebuild(
        seconds=seconds,
        peak_bytes=peak_bytes,
        memory_count=report.memories,
        index_bytes=stats.index_bytes,
        segment_count=stats.segments,
    )


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description="Time to rebuild the index of a directory.")
    parser.add_argument("--count", type=int, default=100_000, help="memory objects (default: %(default)s)")
    parser.add_argument("--seconds-max", type=float, default=60.0, help="what is allowed (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rebuild-") as folder:
        size_bytes = write_objects(Path(folder), arguments.count)
        # What is still on its way to the disk must not slow the rebuild down.
        os.sync()
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
            done = processes.submit(rebuild, f"file://{folder}").result()
    print(f"objects   {arguments.count:,} of {size_bytes / 1e6:.1f} MB")
    print(f"rebuild   {done.seconds:.1f} s, {arguments.count / done.seconds:,.0f} objects/s")
    print(f"peak      {done.peak_bytes / 1e6:.0f} MB of memory")
    print(f"index     {done.index_bytes / 1e6:.1f} MB in {done.segment_count} segments, {done.memory_count:,} memories")
    if arguments.json:
        arguments.json.write_text(json.dumps({**asdict(done), "object_bytes": size_bytes}, indent=1) + "\n", "utf-8")
    is_good = done.seconds <= arguments.seconds_max and done.memory_count == arguments.count
    print("good" if is_good else f"NOT as required: {arguments.seconds_max:.0f} s for all {arguments.count:,}")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
