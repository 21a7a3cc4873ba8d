"""What a worker process does: many seeds in a row, or one mutation until it is caught."""

from __future__ import annotations

import logging
import time

from tests.simulation.mutations import MUTATIONS, applied
from tests.simulation.simulation import Result, run_seed


def run_chunk(seeds: range) -> list[Result]:
    """Run some seeds."""
    logging.disable(logging.CRITICAL)
    return [run_seed(seed) for seed in seeds]


def catch(name: str) -> tuple[int, float, str | None]:
    """Run seeds with a mutation until one fails; return how many, the seconds, and what was noticed."""
    logging.disable(logging.CRITICAL)
    started = time.monotonic()
    limit = MUTATIONS[name].seed_count_max
    for seed in range(limit):
        with applied(name):
            result = run_seed(seed)
        if result.violation:
            return seed + 1, time.monotonic() - started, result.violation
    return limit, time.monotonic() - started, None
