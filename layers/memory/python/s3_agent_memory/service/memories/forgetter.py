"""Forgetting with regard to what a memory names, so that nothing comes back that it had put an end to.

Before a memory that supersedes others is forgotten, each of them gets its end as its own ``valid_to``. Before one that
was consolidated from others is forgotten, those others are. Both are ordinary writes that change nothing a reader
sees, so a process that dies in between leaves the state before, and forgetting again goes on from there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from s3_agent_memory.domain.clock import to_datetime, to_us
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.validity import MemoryVersion
from s3_agent_memory.errors import ConflictError, NotFoundError, ThrottledError
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.sparse_rows import FOREVER_US
from s3_agent_memory.index.timeline import Namer
from s3_agent_memory.service.memories.writer import MemoryWriter
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.truth import Truth

# Memories that one call may have to forget: far more than a consolidation makes of one.
_STEP_COUNT_MAX: Final = 10_000

Test = Callable[[Memory], bool]


def _always(_: Memory) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class _Task:
    """One memory to be forgotten if it passes a test."""

    memory_id: str
    kind: Kind | None
    only_if: Test


@dataclass(frozen=True, slots=True)
class _End:
    """An update that ends a memory, at a moment that is not after ``now``."""

    at: datetime
    now: datetime

    def apply(self, memory: Memory, _limits: Limits) -> Memory:
        """Return the memory with its end; one that would end before it begins is never true."""
        if memory.valid_from is None and memory.begin > self.now:
            # It was created by a clock that is ahead, and must not wait for its end until others get there.
            return replace(memory, valid_from=self.now, valid_to=self.now)
        return replace(memory, valid_to=max(self.at, memory.begin))


class Forgetter:
    """Forgets memories of any namespace."""

    def __init__(self, runtime: Runtime, truth: Truth, index: IndexReader, writer: MemoryWriter) -> None:
        self._runtime = runtime
        self._truth = truth
        self._index = index
        self._writer = writer

    def forget(
        self,
        namespace: Namespace,
        memory_id: str,
        *,
        kind: Kind | None = None,
        reason: str | None = None,
        only_if: Test = _always,
    ) -> bool:
        """Delete a memory and leave a tombstone without content; return False if ``only_if`` refused it.

        A memory that names no other costs what ``MemoryWriter.forget`` does.

        Raises:
            NotFoundError: there is no such memory and never was.
            IndexBrokenError: it names others, and the index must be rebuilt.
            ThrottledError, UnknownOutcomeError: send the same request again; it goes on where this one stopped.
        """
        tasks = [_Task(memory_id, kind, only_if)]
        settled: set[MemoryVersion] = set()
        for _ in range(_STEP_COUNT_MAX):
            task = tasks[-1]
            is_forgotten, naming = self._try(namespace, task, reason, settled, is_first=len(tasks) == 1)
            if naming is None:
                tasks.pop()
                if not tasks:
                    return is_forgotten
                continue
            self._end_superseded(namespace, naming)
            settled.add(naming.named_version)
            tasks.extend(_Task(named.id, None, _is_still(named)) for named in naming.consolidated_from)
        raise ThrottledError("there is more to forget than one call can; send the same request again to go on")

    def _try(
        self, namespace: Namespace, task: _Task, reason: str | None, settled: set[MemoryVersion], *, is_first: bool
    ) -> tuple[bool, Memory | None]:
        """Forget a memory unless it names others that are not settled yet: then return it."""
        naming: list[Memory] = []

        def may_go(memory: Memory) -> bool:
            naming.clear()
            if not task.only_if(memory):
                return False
            if memory.named_version not in settled and (memory.supersedes or memory.consolidated_from):
                naming.append(memory)
                return False
            return True

        try:
            done = self._writer.forget(namespace, task.memory_id, kind=task.kind, reason=reason, only_if=may_go)
        except NotFoundError:
            if is_first:
                raise
            return False, None
        return done, naming[0] if naming else None

    def _end_superseded(self, namespace: Namespace, memory: Memory) -> None:
        """Write down the end of every memory that ends because of this one."""
        now = to_datetime(self._runtime.clock.now_us())
        if not memory.supersedes or (memory.valid_from is not None and memory.valid_from > now):
            # What never began has put an end to nothing.
            return
        snapshot = self._index.view(namespace).snapshot
        for named in memory.supersedes:
            namers = [item for item in snapshot.namers_of(named.id) if item.named_version == named.version]
            rivals = [item for item in namers if not item.is_whole and item.id != memory.id]
            ends = [_latest_end(memory.begin, memory.valid_from is not None, now)]
            ends += [_latest_end(to_datetime(item.begin_us), item.is_begin_said, now) for item in rivals]
            # A version that another is consolidated from is not returned anyway, and as a new one it would be.
            if not any(item.is_whole for item in namers):
                self._end(namespace, named.id, min(ends), _is_still(named))
            for rival in _ended_by(memory, rivals, snapshot):
                self._end(namespace, rival.id, ends[0], _supersedes(named))

    def _end(self, namespace: Namespace, memory_id: str, at: datetime, only_if: Test) -> None:
        for _ in self._runtime.retrier.attempts("end a memory"):
            memory = self._truth.live(namespace, memory_id)
            if memory is None or not only_if(memory):
                return
            end = _End(at, now=to_datetime(self._runtime.clock.now_us()))
            if memory.valid_to is not None and memory.valid_to <= max(at, memory.begin):
                return
            try:
                self._writer.update(namespace, memory_id, end, kind=memory.kind, expected_version=memory.version)
            except ConflictError:
                continue
            except NotFoundError:
                return
            return


def _is_still(named: MemoryVersion) -> Test:
    return lambda memory: memory.version == named.version


def _supersedes(named: MemoryVersion) -> Test:
    return lambda memory: named in memory.supersedes


def _latest_end(begin: datetime, is_begin_said: bool, now: datetime) -> datetime:
    """Return when a memory ends another: what began with its creation has begun, even by a clock that is ahead."""
    return begin if is_begin_said else min(begin, now)


def _ended_by(memory: Memory, rivals: Sequence[Namer], snapshot: Snapshot) -> list[Namer]:
    """Return the rivals for which this memory is the next one: of those before it that are true at all, the last."""
    end_us = FOREVER_US if memory.valid_to is None else to_us(memory.valid_to)
    if snapshot.is_never_true(memory.named_version, to_us(memory.begin), end_us):
        return []
    earlier = [
        item
        for item in rivals
        if item.begin_us < to_us(memory.begin) and not snapshot.is_never_true(item.named, item.begin_us, item.end_us)
    ]
    last_us = max((item.begin_us for item in earlier), default=0)
    return [item for item in earlier if item.begin_us == last_us]
