"""How a memory follows another one: what it takes over, when it begins, and when a later one has begun already."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Attribution, Memory
from s3_agent_memory.domain.memory_change import UNSET, Unset

_TICK: Final = timedelta(microseconds=1)
# Clocks that differ by more are wrong, and no reason to date a memory into the future.
_CLOCK_SKEW_MAX: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Successor:
    """A memory that is to supersede another one; what is ``UNSET`` it takes over from there.

    Attributes:
        source: where the new content comes from; never taken over.
        valid_from: when it begins; None for now.
        valid_to: when it ends; None for when a later one begins that supersedes the same version.
    """

    content: str
    kind: Kind | Unset = UNSET
    source: str | None = None
    importance: float | Unset = UNSET
    tags: tuple[str, ...] | Unset = UNSET
    expires_at: datetime | None | Unset = UNSET
    data: Mapping[str, object] | None | Unset = UNSET
    metadata: Mapping[str, object] | None | Unset = UNSET
    attribution: Attribution | Unset = UNSET
    pinned: bool | Unset = UNSET
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    def follow(self, old: Memory, memory_id: str, *, created_at: datetime) -> Memory:
        """Return the new memory, unchecked, which names nothing yet."""
        taken_over = ("kind", "importance", "tags", "expires_at", "data", "metadata", "attribution", "pinned")
        given = {name: value for name in taken_over if (value := getattr(self, name)) is not UNSET}
        if given.get("metadata", UNSET) is None:
            given["metadata"] = {}
        return replace(
            old,
            **given,
            id=memory_id,
            content=self.content,
            source=self.source,
            created_at=created_at,
            updated_at=created_at,
            version=1,
            valid_from=self.valid_from,
            valid_to=self.valid_to,
            supersedes=(),
            consolidated_from=(),
        )


def created_after(now: datetime, others: Iterable[datetime]) -> datetime:
    """Return the time for a memory written now that follows others, whose clocks may have been a little ahead."""
    ahead = [moment for moment in others if moment >= now and moment - now <= _CLOCK_SKEW_MAX]
    return max(ahead) + _TICK if ahead else now
