"""How what an import writes becomes visible: by log entries beside an indexer, else by segments of its own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.index.log import LogEntry
from s3_agent_memory.service.memories.writer import MemoryWriter
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.head import IndexBrokenError
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.transfer.bulk_writer import BulkIndexer, UnloggedWriter
from s3_agent_memory.service.transfer.known_ids import KnownIds

# Rows of one segment: few enough for memory and for what is lost with a process, many enough to need few merges.
_SEGMENT_ROW_COUNT: Final = 5_000
# The first commit comes soon, for a namespace of objects without a manifest looks like one that lost its index.
_FIRST_ROW_COUNT: Final = 256
_COMMIT_SECONDS: Final = 20.0
# So many ids that are there already say that an import is run again; a listing of all ids pays from then on.
_SKIPPED_COUNT_BEFORE_LISTING: Final = 256


class Indexing(Protocol):
    """What an import needs to make memories visible."""

    @property
    def writer(self) -> MemoryWriter:
        """What writes memories."""

    @property
    def loose_count(self) -> int:
        """How many memories were written and not folded yet."""

    def known(self, ids: Sequence[str]) -> Sequence[bool]:
        """Return which ids are known to be there, alive and visible."""

    def note(self, written_count: int, skipped: Mapping[str, Kind | None], *, may_list: bool) -> None:
        """Take note of memories written, and of ids that were there already.

        Args:
            may_list: whether ids that are there may be passed over.
        """

    def finish(self) -> None:
        """Make everything visible."""


class LoggedIndexing:
    """Every memory has its log entry; an indexer folds them."""

    def __init__(self, writer: MemoryWriter) -> None:
        self.writer = writer
        self.loose_count = 0

    def known(self, ids: Sequence[str]) -> Sequence[bool]:
        """See ``Indexing``."""
        return [False] * len(ids)

    def note(self, written_count: int, skipped: Mapping[str, Kind | None], *, may_list: bool) -> None:  # noqa: ARG002
        """See ``Indexing``."""
        self.loose_count += written_count

    def finish(self) -> None:
        """See ``Indexing``."""


class BulkIndexing:
    """One segment for thousands of memories, and a second look at those that were there already.

    Args:
        tidy: merges segments, after each that was added.
    """

    def __init__(
        self,
        runtime: Runtime,
        namespace: Namespace,
        *,
        writer: UnloggedWriter,
        indexer: BulkIndexer,
        reader: IndexReader,
        tidy: Callable[[Namespace], object],
    ) -> None:
        self._runtime = runtime
        self._namespace = namespace
        self.writer: UnloggedWriter = writer
        self.loose_count = 0
        self._indexer = indexer
        self._reader = reader
        self._tidy = tidy
        self._pending: list[LogEntry] = []
        self._row_count_due = _FIRST_ROW_COUNT
        self._skipped: dict[str, Kind | None] = {}
        self._skipped_count = 0
        self._known: KnownIds | None = None
        self._begin()

    def _begin(self) -> None:
        self._base = self._indexer.base(self._namespace)
        self._started_ms = self._runtime.now_ms()
        self._started_s = self._runtime.clock.monotonic_s()

    def known(self, ids: Sequence[str]) -> Sequence[bool]:
        """See ``Indexing``."""
        return [False] * len(ids) if self._known is None else list(map(bool, self._known.has(ids)))

    def note(self, written_count: int, skipped: Mapping[str, Kind | None], *, may_list: bool) -> None:  # noqa: ARG002
        """See ``Indexing``."""
        self._pending += self.writer.take()
        self._skipped.update(skipped)
        self._skipped_count += len(skipped)
        is_late = self._runtime.clock.monotonic_s() - self._started_s > _COMMIT_SECONDS
        if len(self._pending) >= self._row_count_due or is_late:
            self._commit()
        if may_list and self._known is None and self._skipped_count >= _SKIPPED_COUNT_BEFORE_LISTING:
            self._known = self._list()
        if len(self._skipped) >= _SEGMENT_ROW_COUNT:
            self._heal()

    def finish(self) -> None:
        """See ``Indexing``."""
        self._pending += self.writer.take()
        self._commit()
        self._heal()

    def _commit(self) -> None:
        if self._pending:
            entries, self._pending = self._pending, []
            self._indexer.commit(self._namespace, entries, base=self._base, started_ms=self._started_ms)
            self._row_count_due = _SEGMENT_ROW_COUNT
            self._tidy(self._namespace)
        self._begin()

    def _heal(self) -> None:
        if self._skipped:
            skipped, self._skipped = self._skipped, {}
            self._indexer.heal(self._namespace, skipped)

    def _list(self) -> KnownIds:
        try:
            return KnownIds.of(self._runtime, self._namespace, self._reader.view(self._namespace).snapshot)
        except IndexBrokenError:
            return KnownIds.none()
