"""What the steps of an erasure share: the time there is, and what one piece of work amounts to."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from s3_agent_memory.domain.clock import Clock
from s3_agent_memory.domain.erasure import ErasureCounts
from s3_agent_memory.domain.json_values import decode_json
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.storage.port import ListedObject, ObjectStore

# S3 knows whole seconds: what has the same second as the beginning may have been there before it.
_TICK_MS: Final = 1_000
_PAGE_SIZE: Final = 256
_PAGE_COUNT_MAX: Final = 10_000_000

HasTime = Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece of work that is done.

    Attributes:
        cursor: where the step goes on.
        counts: what was removed.
        unreadable_keys: objects of which nobody knows whose they are.
    """

    cursor: str
    counts: ErasureCounts = field(default_factory=ErasureCounts)
    unreadable_keys: tuple[str, ...] = ()


def time_left(clock: Clock, seconds_max: float | None) -> HasTime:
    """Return what says whether the time is not up yet; without a limit it never is."""
    ends_at_s = math.inf if seconds_max is None else clock.monotonic_s() + seconds_max
    return lambda: clock.monotonic_s() < ends_at_s


def is_later(item: ListedObject, since_ms: int) -> bool:
    """Return True if an object was certainly written after an erasure began."""
    return item.modified_ms > since_ms + _TICK_MS


def small_pages(store: ObjectStore, prefix: str, start_after: str) -> Iterator[tuple[ListedObject, ...]]:
    """Yield the objects whose keys begin with ``prefix`` and sort after ``start_after``, a few hundred at a time."""
    for _ in range(_PAGE_COUNT_MAX):
        page = store.list_page(prefix, start_after=start_after, limit=_PAGE_SIZE)
        if page.objects:
            yield page.objects
        if page.is_last or not page.objects:
            return
        start_after = page.objects[-1].key


def document_of(body: bytes) -> object | None:
    """Return the JSON document in ``body``, None if there is none."""
    try:
        return decode_json(body)
    except ValidationError:
        return None
