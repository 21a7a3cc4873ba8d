"""Superseding: one new memory that names what it takes the place of. The old one is not touched.

So it is one PUT, with no state in between; whoever changes the old memory afterwards makes it count again, and taking
the new one away restores what was.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.memory import Memory, check_memory
from s3_agent_memory.domain.succession import Successor, created_after
from s3_agent_memory.domain.validity import MemoryVersion
from s3_agent_memory.errors import ConflictError, NotFoundError
from s3_agent_memory.index.timeline import Namer
from s3_agent_memory.service.memories.writer import MemoryWriter
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.truth import Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersession:
    """A request to supersede a memory.

    Attributes:
        successor: what takes its place.
        new_id: the id of that, chosen by the caller; None for a generated one.
        expected_version: the only version that may be superseded; None for whichever is there.
    """

    successor: Successor
    new_id: str | None = None
    expected_version: int | None = None


class Superseder:
    """Supersedes memories of any namespace."""

    def __init__(self, runtime: Runtime, truth: Truth, index: IndexReader, writer: MemoryWriter) -> None:
        self._runtime = runtime
        self._truth = truth
        self._index = index
        self._writer = writer

    def supersede(self, namespace: Namespace, memory_id: str, wanted: Supersession) -> Memory:
        """Write the memory that supersedes another one.

        Raises:
            NotFoundError: there is no memory to supersede.
            ConflictError: it is not at the expected version, or the new id is in use.
            ValidationError: the new memory breaks a rule.
            IndexBrokenError: the index must be rebuilt.
            UnknownOutcomeError: a write got no answer.
        """
        old = self._truth.live(namespace, memory_id)
        if old is None or old.is_expired(self._runtime.clock.now_us()):
            raise NotFoundError(f"there is no memory {memory_id}")
        if wanted.expected_version not in (None, old.version):
            raise ConflictError(f"memory {memory_id} is at version {old.version}, not {wanted.expected_version}")
        snapshot = self._index.view(namespace).snapshot
        namers = [item for item in snapshot.namers_of(old.id) if item.named_version == old.version]
        rivals = [
            item
            for item in namers
            if not item.is_whole and not snapshot.is_never_true(item.named, item.begin_us, item.end_us)
        ]
        new_id = wanted.new_id or self._runtime.ids.new_id()
        new = wanted.successor.follow(old, new_id, created_at=self._created_at(old, rivals))
        # What says all of the old memory is no longer true either.
        absorbers = [item.named for item in namers if item.is_whole]
        new = replace(
            new,
            valid_to=_end(new, rivals),
            supersedes=self._named(self._overtaken(namespace, old, new.begin), absorbers, old.consolidated_from),
        )
        checked = check_memory(new, self._runtime.limits)
        return self._writer.create(checked) if wanted.new_id is None else self._writer.remember_as(checked)

    def _named(
        self, overtaken: Sequence[MemoryVersion], absorbers: Sequence[MemoryVersion], originals: Sequence[MemoryVersion]
    ) -> tuple[MemoryVersion, ...]:
        """Return what a new memory supersedes, without repetitions.

        It has the originals of a merged memory too, as many as there is room for: if their consolidation is undone,
        they must not come back as if nothing had followed.
        """
        named = tuple(dict.fromkeys((*overtaken, *absorbers)))
        more = [item for item in dict.fromkeys(originals) if item not in named]
        return (*named, *more[: max(0, self._runtime.limits.named_version_count_max - len(named))])

    def _created_at(self, old: Memory, rivals: Sequence[Namer]) -> datetime:
        """Return a creation after that of everything which began with its creation."""
        begun = [old.created_at] if old.valid_from is None else []
        begun += [to_datetime(item.begin_us) for item in rivals if not item.is_begin_said]
        return created_after(to_datetime(self._runtime.clock.now_us()), begun)

    def _overtaken(self, namespace: Namespace, old: Memory, begin: datetime) -> list[MemoryVersion]:
        """Return the version to be superseded and, if it began later than that, those that it had superseded itself."""
        overtaken = [old.named_version]
        waiting = deque([old])
        while waiting and len(overtaken) < self._runtime.limits.named_version_count_max:
            later = waiting.popleft()
            for named in later.supersedes if begin < later.begin else ():
                earlier = self._truth.live(namespace, named.id)
                if named not in overtaken:
                    overtaken.append(named)
                    if earlier is not None and earlier.version == named.version:
                        waiting.append(earlier)
        return overtaken


def _end(new: Memory, rivals: Sequence[Namer]) -> datetime | None:
    """Return when a memory ends that came late: when the next one begins that is there already."""
    following = [begin for item in rivals if (begin := to_datetime(item.begin_us)) > new.begin]
    return min(following, default=None) if new.valid_to is None else new.valid_to
