"""A clock that stands still until it is told to move, and moves instead of waiting."""

from s3_agent_memory.domain.clock import to_us
from s3_agent_memory.domain.timestamps import parse_timestamp

START = "2026-10-23T23:37:41.624370Z"

MINUTE = 60.0
HOUR = 60 * MINUTE
DAY = 24 * HOUR


class FakeClock:
    """A ``Clock`` whose time passes only by ``advance`` and ``sleep``.

    Attributes:
        slept_seconds: every wait that was asked for, in order.
    """

    def __init__(self, start: str = START) -> None:
        self._now_us = to_us(parse_timestamp(start, field="start"))
        self._monotonic_us = 0
        self.slept_seconds: list[float] = []

    def now_us(self) -> int:
        """See ``Clock``."""
        return self._now_us

    def monotonic_s(self) -> float:
        """See ``Clock``."""
        return self._monotonic_us / 1_000_000

    def sleep(self, seconds: float) -> None:
        """See ``Clock``; returns at once, that much later."""
        self.slept_seconds.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        elapsed_us = round(seconds * 1_000_000)
        self._now_us += elapsed_us
        self._monotonic_us += elapsed_us
