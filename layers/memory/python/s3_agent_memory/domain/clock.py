"""Time and randomness as values that are passed in; the system's own are made here and nowhere else."""

import os
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """Where a service gets the time from."""

    def now_us(self) -> int:
        """Return the wall clock in microseconds since 1970-01-01 UTC. It may jump; it never decides an order."""

    def monotonic_s(self) -> float:
        """Return seconds that never go back, for measuring how long something took."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class Entropy(Protocol):
    """Where a service gets random bytes from."""

    def random_bytes(self, count: int) -> bytes:
        """Return ``count`` random bytes, fresh at every call (also after a process image is restored)."""


class SystemClock:
    """The clock of this machine."""

    def now_us(self) -> int:
        """See ``Clock``."""
        return time.time_ns() // 1_000

    def monotonic_s(self) -> float:
        """See ``Clock``."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """See ``Clock``."""
        time.sleep(seconds)


class SystemEntropy:
    """Random bytes of the operating system."""

    def random_bytes(self, count: int) -> bytes:
        """See ``Entropy``."""
        return os.urandom(count)


def to_datetime(us: int) -> datetime:
    """Return microseconds since the epoch as an aware UTC datetime."""
    return _EPOCH + timedelta(microseconds=us)


def to_us(moment: datetime) -> int:
    """Return an aware datetime as microseconds since the epoch, exactly (no float in between)."""
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
