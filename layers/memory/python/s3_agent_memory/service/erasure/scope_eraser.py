"""Erasing the long-term memories of a scope."""

from collections.abc import Iterator, Mapping

from s3_agent_memory.domain.filters import matches, parse_filter
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import NotFoundError, ThrottledError
from s3_agent_memory.index.eligibility import Eligibility
from s3_agent_memory.service.memories.forgetter import Forgetter
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.sessions.derived_memories import ERASED
from s3_agent_memory.service.stored_index.head import IndexBrokenError
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.upkeep.reindexer import Reindexer
from s3_agent_memory.service.workers import Workers


class ScopeEraser:
    """Forgets memories by their attribution, those that have expired included."""

    def __init__(
        self, runtime: Runtime, index: IndexReader, reindexer: Reindexer, *, forgetter: Forgetter, workers: Workers
    ) -> None:
        self._runtime = runtime
        self._index = index
        self._reindexer = reindexer
        self._forgetter = forgetter
        self._workers = workers

    def erase(self, namespace: Namespace, wanted: Mapping[str, str], *, deadline_s: float) -> int:
        """Forget every memory that a filter lets pass, and return how many there were.

        Args:
            wanted: the filter; an empty one lets all memories of the namespace pass.
            deadline_s: on the monotonic clock.

        Raises:
            ThrottledError: the time is up; the same call goes on where this one stopped.
        """
        conditions = parse_filter(wanted)

        def forget(found: tuple[str, Kind]) -> bool:
            if self._runtime.clock.monotonic_s() > deadline_s:
                raise ThrottledError("the time for this erasure is up; send it again to go on")
            memory_id, kind = found
            try:
                return self._forgetter.forget(
                    namespace, memory_id, kind=kind, reason=ERASED, only_if=lambda memory: matches(memory, conditions)
                )
            except NotFoundError:
                return False

        return sum(self._workers.each(forget, list(self._found(namespace, wanted))))

    def _found(self, namespace: Namespace, wanted: Mapping[str, str]) -> Iterator[tuple[str, Kind]]:
        try:
            view = self._index.view(namespace)
        except IndexBrokenError:
            self._reindexer.reindex(namespace)
            view = self._index.view(namespace)
        # At the beginning of time nothing has expired yet.
        eligibility = Eligibility(kind=None, tags=(), conditions=parse_filter(wanted), now_us=0)
        for row in view.snapshot.rows_at(eligibility.docs(view.snapshot)):
            yield row.id, row.kind
