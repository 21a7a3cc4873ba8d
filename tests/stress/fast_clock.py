"""A clock that runs fast, the same for every process that has it, so that grace periods of hours end within a test."""

import time
from dataclasses import dataclass, replace

US_PER_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class FastClock:
    """A ``Clock`` on which ``speed`` seconds pass in one.

    Both of its times run fast, so that whoever compares two times sees the same as on a slow machine with a true clock.
    Waits are waited in full, which on this clock is ``speed`` times as long as asked.

    Attributes:
        origin_us: what the wall clock showed at the origin.
        origin_s: the monotonic time of this machine at the origin.
    """

    origin_us: int
    origin_s: float
    speed: int

    def now_us(self) -> int:
        """See ``Clock``."""
        return self.origin_us + int(self._elapsed_s() * US_PER_SECOND)

    def monotonic_s(self) -> float:
        """See ``Clock``."""
        return self._elapsed_s()

    def sleep(self, seconds: float) -> None:
        """See ``Clock``."""
        time.sleep(seconds)

    def later(self, seconds: int) -> "FastClock":
        """Return this clock put forward; only for processes that start after all others have ended."""
        return replace(self, origin_us=self.origin_us + seconds * US_PER_SECOND)

    def _elapsed_s(self) -> float:
        return (time.monotonic() - self.origin_s) * self.speed
