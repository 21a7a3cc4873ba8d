"""When memories are true: the rules of the documentation, written a second time and as plainly as can be.

Every answer looks at every pair of memories. Nothing of the library's own reckoning is used.
"""

from collections.abc import Iterable
from datetime import datetime

from s3_agent_memory.domain.memory import Memory


def begin_of(memory: Memory) -> datetime:
    return memory.valid_from or memory.created_at


def true_ids(memories: Iterable[Memory], at: datetime, *, now: bool) -> set[str]:
    """Return the ids of the memories that are true at a moment.

    Args:
        memories: all that live, expired ones included: they still end what they superseded.
        now: True if the moment is the present, to which whatever was stored belongs, whatever clocks say.
    """
    living = list(memories)
    expiry = {memory.id: memory.expires_at for memory in living}
    return {
        memory.id
        for memory in living
        if _has_begun(memory, at, now=now)
        and (memory.valid_to is None or at < memory.valid_to)
        and not _is_absorbed(memory, living)
        and not any(_has_begun(other, at, now=now) for other in _enders(memory, living))
    } - {memory_id for memory_id, expires_at in expiry.items() if expires_at is not None and now and expires_at <= at}


def _has_begun(memory: Memory, at: datetime, *, now: bool) -> bool:
    return begin_of(memory) <= at or (now and memory.valid_from is None)


def _is_absorbed(memory: Memory, living: list[Memory]) -> bool:
    return any(
        (named.id, named.version) == (memory.id, memory.version)
        for other in living
        for named in other.consolidated_from
    )


def _enders(memory: Memory, living: list[Memory]) -> list[Memory]:
    """Return those that supersede this version, and those that came later to supersede what it superseded itself."""
    return [
        other
        for other in living
        if any((named.id, named.version) == (memory.id, memory.version) for named in other.supersedes)
        or (
            set(other.supersedes) & set(memory.supersedes)
            and begin_of(other) > begin_of(memory)
            and not _is_never_true(other, living)
        )
    ]


def _is_never_true(memory: Memory, living: list[Memory]) -> bool:
    """Return True if a memory ends when it begins or before, by its own words or those of one that supersedes it."""
    begin = begin_of(memory)
    return (memory.valid_to is not None and memory.valid_to <= begin) or any(
        begin_of(other) <= begin
        and (memory.id, memory.version) in {(named.id, named.version) for named in other.supersedes}
        for other in living
    )
