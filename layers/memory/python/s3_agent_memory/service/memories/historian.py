"""The history of a memory: its earlier versions, what it took the place of, and what took its place."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.errors import CorruptError, NotFoundError
from s3_agent_memory.service.memories.history import History
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.truth import Truth

CHAIN_LENGTH_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHistory:
    """What is known of how a memory came to be.

    Attributes:
        versions: as they were stored, oldest first, the last one is the present; at most 20 before it.
        predecessors: memories that it, or one of these, supersedes or is consolidated from, the nearest first.
        successors: memories that supersede it, or one of these, or are consolidated from it, the nearest first.
    """

    versions: tuple[Memory, ...]
    predecessors: tuple[Memory, ...] = ()
    successors: tuple[Memory, ...] = ()


class Historian:
    """Reads histories of memories of any namespace."""

    def __init__(self, runtime: Runtime, truth: Truth, index: IndexReader) -> None:
        self._runtime = runtime
        self._truth = truth
        self._index = index
        self._history = History(runtime)

    def history(self, namespace: Namespace, memory_id: str) -> MemoryHistory:
        """Return the history of a memory.

        Raises:
            NotFoundError: there is none, or it has expired or was forgotten.
            IndexBrokenError: the index must be rebuilt.
        """
        present = self._truth.live(namespace, memory_id)
        if present is None or present.is_expired(self._runtime.clock.now_us()):
            raise NotFoundError(f"there is no memory {memory_id}")
        snapshot = self._index.view(namespace).snapshot

        def named_by(memory: Memory) -> Iterable[str]:
            return [named.id for named in (*memory.supersedes, *memory.consolidated_from)]

        def namers_of(memory: Memory) -> Iterable[str]:
            return [namer.id for namer in snapshot.namers_of(memory.id)]

        return MemoryHistory(
            versions=(*self._history.versions(namespace, present), present),
            predecessors=self._chain(namespace, present, named_by),
            successors=self._chain(namespace, present, namers_of),
        )

    def _chain(
        self, namespace: Namespace, start: Memory, following: Callable[[Memory], Iterable[str]]
    ) -> tuple[Memory, ...]:
        """Return the memories that are reached from one, breadth first."""
        seen = {start.id}
        waiting = deque([start])
        chain: list[Memory] = []
        while waiting and len(chain) < CHAIN_LENGTH_MAX:
            for memory_id in following(waiting.popleft()):
                if memory_id in seen or len(seen) > CHAIN_LENGTH_MAX:
                    continue
                seen.add(memory_id)
                memory = self._live(namespace, memory_id)
                if memory is not None:
                    waiting.append(memory)
                    chain.append(memory)
        return tuple(chain)

    def _live(self, namespace: Namespace, memory_id: str) -> Memory | None:
        """Return a link of a chain; one that cannot be read is none."""
        try:
            memory = self._truth.live(namespace, memory_id)
        except CorruptError:
            return None
        return None if memory is None or memory.is_expired(self._runtime.clock.now_us()) else memory
