"""What every part of the memory store shares: its services, and an index that is rebuilt where it is broken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.errors import ConflictError, ThrottledError
from s3_agent_memory.service.head import IndexBrokenError
from s3_agent_memory.service.housekeeper import Housekeeper
from s3_agent_memory.service.index_reader import IndexReader
from s3_agent_memory.service.pruner import Pruner
from s3_agent_memory.service.reader import MemoryReader
from s3_agent_memory.service.reindexer import Reindexer
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.statistics import Statistician
from s3_agent_memory.service.sweeper import Sweeper
from s3_agent_memory.service.transfer import Exporter, Importer
from s3_agent_memory.service.vector_keeper import VectorKeeper
from s3_agent_memory.service.writer import MemoryWriter

NamespaceLike = str | Sequence[str]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services a memory store is made of."""

    writer: MemoryWriter
    reader: MemoryReader
    index: IndexReader
    housekeeper: Housekeeper
    pruner: Pruner
    sweeper: Sweeper
    reindexer: Reindexer
    statistician: Statistician
    exporter: Exporter
    importer: Importer
    vectors: VectorKeeper


class StoreBase:
    """The services of a store, and how they are called."""

    def __init__(self, runtime: Runtime, services: Services) -> None:
        self._runtime = runtime
        self._services = services

    @property
    def limits(self) -> Limits:
        """The limits of this store."""
        return self._runtime.limits

    def _with_index(self, namespace: Namespace, action: Callable[[], _T]) -> _T:
        """Run an action; should the index be broken, rebuild it from the objects and run it once more."""
        try:
            result = action()
        except IndexBrokenError:
            result = self._run_rebuilt(namespace, action)
        self._services.housekeeper.note_log(namespace, self._services.index.last_known_tail(namespace))
        return result

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
