"""Run the simulation of sessions from the command line, on all cores.

python -m tests.simulation.session_batches --seeds 2000      many seeds
python -m tests.simulation.session_batches --seed 204        one seed again, with every request
python -m tests.simulation.session_batches --mutations       every deliberate mistake until it is caught
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.session_mutations import MUTATIONS, applied
from tests.simulation.session_simulation import run_seed
from tests.simulation.world import Result

CHUNK_SIZE = 25
MUTATION_SEED_COUNT_MAX = 600
# A run in which these never happened proves nothing about them.
MUST_HAPPEN = ("batches digested", "erasures", "partial erasures", "crashes", "lost answers", "late requests")


def run_chunk(seeds: range) -> list[Result]:
    """Run some seeds."""
    logging.disable(logging.CRITICAL)
    return [run_seed(seed) for seed in seeds]


def catch(name: str) -> tuple[int, str | None]:
    """Run seeds with a mistake until one fails; return how many, and what was noticed."""
    logging.disable(logging.CRITICAL)
    for seed in range(MUTATION_SEED_COUNT_MAX):
        with applied(name):
            violation = run_seed(seed).violation
        if violation:
            return seed + 1, violation
    return MUTATION_SEED_COUNT_MAX, None


def run_many(count: int, first: int) -> int:
    """Run many seeds, print those that failed and what happened, and return the exit code."""
    counts: Counter[str] = Counter()
    failed = 0
    chunks = [range(start, min(start + CHUNK_SIZE, first + count)) for start in range(first, first + count, CHUNK_SIZE)]
    with ProcessPoolExecutor() as pool:
        for results in pool.map(run_chunk, chunks):
            for result in results:
                counts.update(result.counts)
                if result.violation:
                    failed += 1
                    print(f"seed {result.seed}: {result.violation}", flush=True)
    for name, number in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{number:10d}  {name}")
    missing = [name for name in MUST_HAPPEN if not counts[name]]
    print(f"{count} seeds, {failed} failed" + (f"; never happened: {', '.join(missing)}" if missing else ""))
    return 1 if failed or missing else 0


def run_mutations() -> int:
    """Run every mistake until it is caught, and return the exit code."""
    missed = 0
    with ProcessPoolExecutor(max_tasks_per_child=1) as pool:
        for name, (seeds, violation) in zip(MUTATIONS, pool.map(catch, MUTATIONS), strict=True):
            missed += violation is None
            verdict = f"caught in {seeds} seeds: {violation}" if violation else f"NOT CAUGHT in {seeds} seeds"
            print(f"{name:34s} {verdict}"[:160], flush=True)
    return 1 if missed else 0


def main() -> int:
    """Run what the arguments ask for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.session_batches", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000, help="how many seeds (default 1000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--seed", type=int, help="run this one seed and print every request")
    parser.add_argument("--mutations", action="store_true", help="run every deliberate mistake")
    arguments = parser.parse_args()
    if arguments.mutations:
        return run_mutations()
    if arguments.seed is None:
        return run_many(arguments.seeds, arguments.first)
    result = run_seed(arguments.seed, is_traced=True)
    print("\n".join(result.trace))
    print(f"seed {arguments.seed}: {result.violation or 'all promises held'}")
    return 1 if result.violation else 0


if __name__ == "__main__":
    sys.exit(main())
