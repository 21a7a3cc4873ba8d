"""Run the simulation from the command line.

python -m tests.simulation --seeds 10000             many seeds, on all cores
python -m tests.simulation --seed 4771 --trace       one seed again, with every request
python -m tests.simulation --mutations               every mutation until it is caught
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.batches import catch, run_chunk
from tests.simulation.mutations import MUTATIONS, SCRIPTED
from tests.simulation.simulation import run_seed
from tests.simulation.world import Result

CHUNK_SIZE = 25
FAILURES_SHOWN_MAX = 5
TRACE_LINES_SHOWN = 80
# A run in which these never happened proves nothing about them.
MUST_HAPPEN = ("log entries deleted", "merges and rebuilds committed", "segments collected", "compactions", "crashes")


def main() -> int:
    """Run what the arguments ask for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_500, help="how many seeds (default 1500)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--seed", type=int, help="run this one seed")
    parser.add_argument("--trace", action="store_true", help="print every request of the one seed")
    parser.add_argument("--mutations", nargs="*", metavar="NAME", help="run mutations (all, or those named)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if arguments.mutations is not None:
        return run_mutations(arguments.mutations or list(MUTATIONS), arguments.workers)
    if arguments.seed is not None:
        return run_one(arguments.seed, is_traced=arguments.trace)
    return run_many(arguments.first, arguments.seeds, arguments.workers)


def run_one(seed: int, *, is_traced: bool) -> int:
    """Run one seed and print what broke."""
    result = run_seed(seed, is_traced=True)
    lines = result.trace if is_traced else result.trace[-TRACE_LINES_SHOWN:] if result.violation else []
    print("\n".join(lines))
    print(f"seed {seed}: {result.violation or 'all promises held'}")
    return 1 if result.violation else 0


def run_many(first: int, count: int, workers: int) -> int:
    """Run many seeds; print failures with the command that replays them, and what happened."""
    started = time.monotonic()
    counts: Counter[str] = Counter()
    failures: list[Result] = []
    done = 0
    with ProcessPoolExecutor(workers) as pool:
        for results in pool.map(run_chunk, _chunks(first, count)):
            for result in results:
                done += 1
                counts.update(result.counts)
                if result.violation:
                    failures.append(result)
                    print(f"seed {result.seed}: {result.violation}")
                    print(f"  replay: python -m tests.simulation --seed {result.seed} --trace", flush=True)
            _show_progress(done, count)
    seconds = time.monotonic() - started
    for name, number in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{number:10d}  {name}")
    print(f"{done} seeds in {seconds:.0f} s, {done / seconds:.1f} seeds a second, {len(failures)} failed")
    missing = [name for name in MUST_HAPPEN if not counts[name]]
    if missing:
        print("these never happened, so the run proves nothing about them: " + ", ".join(missing))
    return 1 if failures or missing else 0


def _chunks(first: int, count: int) -> Iterator[range]:
    for start in range(first, first + count, CHUNK_SIZE):
        yield range(start, min(start + CHUNK_SIZE, first + count))


def _show_progress(done: int, count: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done}/{count}", end="" if done < count else "\n", file=sys.stderr, flush=True)


def run_mutations(names: list[str], workers: int) -> int:
    """Run every mutation until the simulation catches it; print how many seeds that took."""
    unknown = [name for name in names if name not in MUTATIONS]
    if unknown:
        print(f"unknown mutation {unknown[0]}; known are: " + ", ".join(MUTATIONS))
        return 2
    missed = 0
    # A process of its own for each: a mutation that leaks must not be credited to the next.
    with ProcessPoolExecutor(workers, max_tasks_per_child=1) as pool:
        for name, (seeds, seconds, violation) in zip(names, pool.map(catch, names), strict=True):
            where = "its story" if seeds == SCRIPTED else f"{seeds:5d} seeds"
            verdict = f"{'caught' if violation else 'NOT CAUGHT'} in {where}"
            print(f"{name:30s} {verdict} {seconds:6.1f} s  {violation or ''}"[:170], flush=True)
            missed += not violation
    print(f"{len(names) - missed} of {len(names)} mutations caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
