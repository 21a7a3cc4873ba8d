"""What a worker process does: many seeds in a row, or one mutation until it is caught."""

from __future__ import annotations

import logging
import time

from tests.simulation.mutations import MUTATIONS, SCRIPTED, applied
from tests.simulation.simulation import run_seed
from tests.simulation.stories import STORIES
from tests.simulation.world import Result, ViolationError


def run_chunk(seeds: range) -> list[Result]:
    """Run some seeds."""
    logging.disable(logging.CRITICAL)
    return [run_seed(seed) for seed in seeds]


def catch(name: str) -> tuple[int, float, str | None]:
    """Run seeds, or the story, with a mutation until one fails; return how many, the seconds, and what was noticed."""
    logging.disable(logging.CRITICAL)
    started = time.monotonic()
    limit = MUTATIONS[name].seed_count_max
    if limit == SCRIPTED:
        return SCRIPTED, time.monotonic() - started, _catch_in_story(name)
    for seed in range(limit):
        with applied(name):
            violation = run_seed(seed).violation
        # What also goes wrong without the mistake says nothing about it.
        if violation and not run_seed(seed).violation:
            return seed + 1, time.monotonic() - started, violation
    return limit, time.monotonic() - started, None


def _catch_in_story(name: str) -> str | None:
    try:
        with applied(name):
            STORIES[name]()
    except ViolationError as error:
        return str(error)
    return None
