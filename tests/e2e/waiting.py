"""Waiting for what happens behind an answer: events, queues and schedules."""

import time
from collections.abc import Callable
from typing import TypeVar

_PAUSE_SECONDS = 0.5

Found = TypeVar("Found")


def wait_for(find: Callable[[], Found | None], *, what: str, seconds: float) -> Found:
    """Ask until the answer is true, and return it; fail with the last answer once the time is up.

    Args:
        find: looks at the world; anything that is false means "not yet".
        what: what is waited for, for the message.
        seconds: how long it may take.
    """
    deadline = time.monotonic() + seconds
    while not (found := find()):
        if time.monotonic() >= deadline:
            raise AssertionError(f"waited {seconds:g} s in vain for {what}; the last look found {found!r}")
        time.sleep(_PAUSE_SECONDS)
    return found
