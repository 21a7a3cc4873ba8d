"""Timestamps as the world writes them: RFC 3339 in UTC with ``Z`` and microseconds.

Input may carry any offset; input without one (naive) is taken as UTC. Output is always UTC.
"""

from datetime import UTC, datetime
from typing import Final

from s3_agent_memory.errors import ValidationError

YEAR_MIN: Final = 1970


def format_timestamp(moment: datetime) -> str:
    """Return an aware datetime as ``2026-10-23T23:37:41.624370Z``."""
    utc = moment.astimezone(UTC)
    return f"{utc.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def parse_timestamp(value: object, *, field: str) -> datetime:
    """Return a timestamp as an aware UTC datetime.

    Args:
        value: an RFC 3339 string or a ``datetime``; naive means UTC.
        field: name of the field, for the error.

    Raises:
        ValidationError: the value is not a timestamp between the years 1970 and 9999.

    Example:
        >>> parse_timestamp("2026-10-24T08:37:41+09:00", field="created_at").isoformat()
        '2026-10-23T23:37:41+00:00'
    """
    moment = value
    if isinstance(value, str):
        try:
            # RFC 3339 allows a lower-case "t" and "z"; Python does not.
            moment = datetime.fromisoformat(value.upper())
        except ValueError:
            moment = None
    if not isinstance(moment, datetime):
        raise ValidationError(f"{field} must be a timestamp such as 2026-10-23T23:37:41Z")
    try:
        utc = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        utc = datetime.min.replace(tzinfo=UTC)
    if utc.year < YEAR_MIN:
        raise ValidationError(f"{field} must be between the years {YEAR_MIN} and 9999")
    return utc
