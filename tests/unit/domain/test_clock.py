"""Moments and microseconds are the same thing, exactly."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given

from s3_agent_memory.domain.clock import SystemClock, SystemEntropy, to_datetime, to_us
from tests.unit.domain.memories import MOMENTS


@given(MOMENTS)
def test_a_moment_survives_the_way_to_microseconds_and_back(moment: datetime) -> None:
    assert to_datetime(to_us(moment)) == moment


def test_microseconds_count_from_the_epoch() -> None:
    assert to_us(datetime(1970, 1, 2, tzinfo=UTC)) == 86_400_000_000


def test_an_offset_does_not_change_the_moment() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert to_us(datetime(2026, 10, 24, 9, tzinfo=tokyo)) == to_us(datetime(2026, 10, 24, tzinfo=UTC))


def test_the_system_clock_agrees_with_itself() -> None:
    clock = SystemClock()
    assert clock.monotonic_s() <= clock.monotonic_s()


def test_system_entropy_is_fresh_at_every_call() -> None:
    entropy = SystemEntropy()
    assert entropy.random_bytes(16) != entropy.random_bytes(16)
