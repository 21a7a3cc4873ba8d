"""How a memory changes: what an update names, and what it leaves alone."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import Enum
from typing import Final

from s3_agent_memory.domain.json_values import merge_patch
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.memory import Memory, check_memory, new_expiry


class Unset(Enum):
    """Marks an argument that was not given, where None is a value."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET


def changed_expiry(
    now_us: int, ttl_seconds: float | None | Unset, expires_at: datetime | str | None | Unset
) -> datetime | None | Unset:
    """Return a new expiry, given as a time to live or as a moment; see ``new_expiry`` for the errors."""
    if isinstance(ttl_seconds, Unset) and isinstance(expires_at, Unset):
        return UNSET
    ttl = None if isinstance(ttl_seconds, Unset) else ttl_seconds
    return new_expiry(now_us, ttl, None if isinstance(expires_at, Unset) else expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChange:
    """What an update changes; a field that is ``UNSET`` stays as it is.

    ``data`` and ``metadata`` merge by RFC 7396 (null removes a key, an untouched key survives); None for the whole of
    them empties it. Every other field is replaced. ``expires_at=None`` makes a memory stay for ever, ``valid_to=None``
    keeps it true for ever.
    """

    content: str | Unset = UNSET
    source: str | None | Unset = UNSET
    importance: float | Unset = UNSET
    tags: tuple[str, ...] | Unset = UNSET
    expires_at: datetime | None | Unset = UNSET
    data: Mapping[str, object] | None | Unset = UNSET
    metadata: Mapping[str, object] | None | Unset = UNSET
    valid_from: datetime | None | Unset = UNSET
    valid_to: datetime | None | Unset = UNSET
    pinned: bool | Unset = UNSET

    def is_empty(self) -> bool:
        """Return True if nothing is to change."""
        return all(getattr(self, item.name) is UNSET for item in fields(self))

    def apply(self, memory: Memory, limits: Limits) -> Memory:
        """Return the changed memory, checked; ``version`` and ``updated_at`` are the writer's business.

        Raises:
            ValidationError: the result breaks a rule.
        """
        given = {item.name: getattr(self, item.name) for item in fields(self) if getattr(self, item.name) is not UNSET}
        for name in ("data", "metadata"):
            if isinstance(given.get(name), Mapping):
                given[name] = merge_patch(getattr(memory, name) or {}, given[name])
        if given.get("metadata", UNSET) is None:
            given["metadata"] = {}
        return check_memory(replace(memory, **given), limits)
