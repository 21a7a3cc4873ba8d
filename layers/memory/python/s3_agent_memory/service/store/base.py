"""What every part of the memory store shares: its services, and an index that is rebuilt where it is broken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from s3_agent_memory.domain.keys import Namespace, format_namespace
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.errors import ConflictError, LimitExceededError, ThrottledError
from s3_agent_memory.service.consolidation.parts import Consolidations
from s3_agent_memory.service.erasure.eraser import Eraser
from s3_agent_memory.service.events.feed import EventsFeed
from s3_agent_memory.service.memories.forgetter import Forgetter
from s3_agent_memory.service.memories.historian import Historian
from s3_agent_memory.service.memories.pruner import Pruner
from s3_agent_memory.service.memories.reader import MemoryReader
from s3_agent_memory.service.memories.statistics import Statistician
from s3_agent_memory.service.memories.superseder import Superseder
from s3_agent_memory.service.memories.writer import MemoryWriter
from s3_agent_memory.service.migration.migrator import Migrator
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.head import IndexBrokenError
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.transfer.exporter import Exporter
from s3_agent_memory.service.transfer.importer import Importer
from s3_agent_memory.service.upkeep.housekeeper import Housekeeper
from s3_agent_memory.service.upkeep.reindexer import Reindexer
from s3_agent_memory.service.upkeep.sweeper import Sweeper
from s3_agent_memory.service.upkeep.vector_keeper import VectorKeeper
from s3_agent_memory.service.verifier import Verifier

NamespaceLike = str | Sequence[str]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services a memory store is made of."""

    writer: MemoryWriter
    reader: MemoryReader
    index: IndexReader
    housekeeper: Housekeeper
    forgetter: Forgetter
    superseder: Superseder
    historian: Historian
    pruner: Pruner
    sweeper: Sweeper
    reindexer: Reindexer
    statistician: Statistician
    events: EventsFeed
    exporter: Exporter
    importer: Importer
    migrator: Migrator
    vectors: VectorKeeper
    consolidations: Consolidations
    eraser: Eraser
    verifier: Verifier


class StoreBase:
    """The services of a store, and how they are called."""

    def __init__(self, runtime: Runtime, services: Services) -> None:
        self._runtime = runtime
        self._services = services

    @property
    def limits(self) -> Limits:
        """The limits of this store."""
        return self._runtime.limits

    def _check_room(self, namespace: Namespace) -> None:
        """Refuse a write into a namespace that this process has seen full; counting first would cost a request."""
        maximum = self.limits.memory_count_max
        if self._services.index.last_known_count(namespace) >= maximum:
            raise LimitExceededError(
                f"namespace {format_namespace(namespace)} holds {maximum} memories, the most that are allowed",
                limit="memory_count_max",
                maximum=maximum,
            )

    def _with_index(self, namespace: Namespace, action: Callable[[], _T]) -> _T:
        """Run an action; should the index be broken, rebuild it from the objects and run it once more."""
        result = self._with_sound_index(namespace, action)
        self._services.housekeeper.note_log(namespace, self._services.index.last_known_tail(namespace))
        return result

    def _with_sound_index(self, namespace: Namespace, action: Callable[[], _T]) -> _T:
        """Run an action that may not need the index; what it has seen of the log is no reason to fold."""
        try:
            return action()
        except IndexBrokenError:
            return self._run_rebuilt(namespace, action)

    def _run_rebuilt(self, namespace: Namespace, action: Callable[[], _T]) -> _T:
        """Rebuild the index and run an action.

        Raises:
            ThrottledError: neither this process nor another has finished a rebuild.
        """
        try:
            self._services.reindexer.reindex(namespace)
        except ConflictError:
            # Others rebuild it at this moment, or this process slept through a rebuild of its own.
            try:
                return action()
            except IndexBrokenError as error:
                raise ThrottledError("the index is being rebuilt; send the same request again later") from error
        return action()
