"""Forgets memories that are past their expiry."""

from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.errors import NotFoundError
from s3_agent_memory.service.memories.forgetter import Forgetter
from s3_agent_memory.service.results import Progress, PruneReport, no_progress
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.index_reader import IndexReader

REASON = "expired"


class Pruner:
    """Prunes one namespace at a time. The index says which memories to look at; the object itself decides."""

    def __init__(self, runtime: Runtime, reader: IndexReader, forgetter: Forgetter) -> None:
        self._runtime = runtime
        self._reader = reader
        self._forgetter = forgetter

    def prune(self, namespace: Namespace, *, progress: Progress = no_progress) -> PruneReport:
        """Forget what has expired; a memory whose expiry was moved meanwhile stays.

        Raises:
            IndexBrokenError: the index must be rebuilt.
        """
        now_us = self._runtime.clock.now_us()
        expired = self._reader.view(namespace).snapshot.expired_ids(now_us)
        forgotten = 0
        for done, (memory_id, kind) in enumerate(expired, start=1):
            try:
                forgotten += self._forgetter.forget(
                    namespace, memory_id, kind=kind, reason=REASON, only_if=lambda memory: memory.is_expired(now_us)
                )
            except NotFoundError:
                # Somebody else forgot it first.
                continue
            finally:
                progress(done, len(expired))
        return PruneReport(forgotten=forgotten)
