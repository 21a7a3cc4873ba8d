"""Events: what changed in a namespace, never what it says."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import ValidationError

EVENT_LIMIT_DEFAULT: Final = 100
EVENT_LIMIT_MAX: Final = 1_000
NOW: Final = "now"
"""In place of a cursor: pass over all that has happened so far."""


class EventType(StrEnum):
    """What became of a memory.

    Attributes:
        CREATED: it is there, in its first version.
        UPDATED: it is there, in a later version; so it also comes back, and comes from elsewhere.
        SUPERSEDED: another memory, ``by``, takes the place of this version.
        FORGOTTEN: it is gone, up to this version.
    """

    CREATED = "created"
    UPDATED = "updated"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change of one memory. Of two events of one memory the higher version counts, and forgetting above being.

    Attributes:
        kind: of the memory; None for ``superseded``, which may name a memory of another kind.
        version: the version that is there, was superseded, or was forgotten last.
        at: when, by the clock of the process that did it; it orders nothing.
        by: the memory that supersedes it.
    """

    type: EventType
    id: str
    kind: Kind | None
    version: int
    at: datetime
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """Some events, and where to go on.

    Attributes:
        cursor: pass it to the next call; it never runs out.
        has_more: False if nothing else had happened when this was read.
    """

    events: tuple[Event, ...]
    cursor: str
    has_more: bool


def check_event_limit(value: object) -> int:
    """Return a limit for events.

    Raises:
        ValidationError: it is not a whole number from 1 to 1,000.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= EVENT_LIMIT_MAX:
        raise ValidationError(f"limit must be a whole number from 1 to {EVENT_LIMIT_MAX}")
    return value
