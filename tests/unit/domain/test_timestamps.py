"""Timestamps go in with any offset and come out as UTC."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.domain.timestamps import format_timestamp, parse_timestamp
from s3_agent_memory.errors import ValidationError
from tests.unit.domain.memories import MOMENTS

NAIVE = datetime(2026, 10, 23, 12)  # noqa: DTZ001  It is what the test is about.
OFFSETS = st.integers(min_value=-23 * 60, max_value=23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@pytest.mark.parametrize(
    ("given_text", "stored_text"),
    [
        ("2026-10-23T23:37:41.624370Z", "2026-10-23T23:37:41.624370Z"),
        ("2026-10-23T23:37:41Z", "2026-10-23T23:37:41.000000Z"),
        ("2026-10-23t23:37:41z", "2026-10-23T23:37:41.000000Z"),
        ("2026-10-23 23:37:41+00:00", "2026-10-23T23:37:41.000000Z"),
        ("2026-10-24T08:37:41+09:00", "2026-10-23T23:37:41.000000Z"),
        ("2026-10-23T15:37:41-08:00", "2026-10-23T23:37:41.000000Z"),
        ("2026-10-24T05:22:41.5+05:45", "2026-10-23T23:37:41.500000Z"),
        ("2026-10-23T23:37:41", "2026-10-23T23:37:41.000000Z"),
        ("2026-10-23", "2026-10-23T00:00:00.000000Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
        # Both sides of a change to summer time in Europe, where a local clock skips an hour.
        ("2026-03-29T01:59:59+01:00", "2026-03-29T00:59:59.000000Z"),
        ("2026-03-29T03:00:00+02:00", "2026-03-29T01:00:00.000000Z"),
    ],
)
def test_a_timestamp_is_stored_as_utc(given_text: str, stored_text: str) -> None:
    assert format_timestamp(parse_timestamp(given_text, field="at")) == stored_text


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "yesterday",
        "2026-13-01",
        "2026-02-30T00:00:00Z",
        "2026-10-23T25:00:00Z",
        "2026-10-23T23:37:41+25:00",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00+09:00",
        "0001-01-01T00:00:00+09:00",
        "9999-12-31T23:59:59-09:00",
        "10000-01-01T00:00:00Z",
        "2026-10-23T23:37:41Z\ud800",
        1_792_798_661,
        True,
        ["2026-10-23"],
    ],
)
def test_what_is_no_moment_is_refused_with_the_name_of_the_field(value: object) -> None:
    with pytest.raises(ValidationError, match=r"^expires_at must be"):
        parse_timestamp(value, field="expires_at")


def test_a_naive_datetime_is_taken_as_utc() -> None:
    assert parse_timestamp(NAIVE, field="at") == NAIVE.replace(tzinfo=UTC)


@given(MOMENTS.filter(lambda moment: 1970 < moment.year < 9999), OFFSETS)
def test_a_moment_of_any_offset_survives_the_round_trip(moment: datetime, offset: timezone) -> None:
    local = moment.astimezone(offset)
    assert parse_timestamp(format_timestamp(local), field="at") == local


@given(MOMENTS, MOMENTS)
def test_texts_sort_as_the_moments_they_stand_for(left: datetime, right: datetime) -> None:
    texts = [format_timestamp(moment) for moment in (left, right)]
    assert (texts[0] < texts[1]) == (left < right)
