"""The indexer: answers change events by folding the namespaces they point at, then merges and tidies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from s3_agent_memory.domain.keys import Namespace, TruthKey
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import AgentMemoryError
from s3_agent_memory.service.results import FoldReport
from s3_agent_memory.service.stored_index.head import IndexBrokenError
from s3_agent_memory.service.upkeep.collector import Collector
from s3_agent_memory.service.upkeep.compactor import Compactor
from s3_agent_memory.service.upkeep.folder import Folder
from s3_agent_memory.service.upkeep.reindexer import Reindexer
from s3_agent_memory.service.workers import Workers

# A namespace is not begun with less than this left; what is not begun comes again with its messages.
RESERVE_MS: Final = 15_000
_NO_DEADLINE_MS: Final = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOutcome:
    """What a batch of events led to.

    Attributes:
        indexed: rows written.
        namespaces: namespaces folded.
        log_length: unfolded log entries in the namespace that had most of them.
        lag_ms: age of the oldest of all.
        failed: changes whose object cannot be read, or whose namespace could not be folded; send these again.
    """

    indexed: int
    namespaces: int
    log_length: int
    lag_ms: int
    failed: tuple[TruthKey, ...]


class Indexer:
    """Folds what events point at. Events are hints: a repeated, late or reordered one changes nothing."""

    def __init__(
        self, *, folder: Folder, compactor: Compactor, collector: Collector, reindexer: Reindexer, workers: Workers
    ) -> None:
        self._folder = folder
        self._compactor = compactor
        self._collector = collector
        self._reindexer = reindexer
        self._workers = workers

    def run(
        self, changes: Sequence[TruthKey], remaining_ms: Callable[[], int] = lambda: _NO_DEADLINE_MS
    ) -> IndexOutcome:
        """Fold every namespace named by ``changes``; one that fails does not keep the others from it.

        Args:
            remaining_ms: returns the milliseconds left; a namespace that is not begun in time counts as failed.
        """
        grouped: dict[Namespace, list[TruthKey]] = {}
        for change in changes:
            grouped.setdefault(change.namespace, []).append(change)

        def attempt(namespace: Namespace) -> FoldReport | None:
            if remaining_ms() < RESERVE_MS:
                return None
            try:
                return self._index(namespace, grouped[namespace])
            except AgentMemoryError:
                return None

        reports = dict(zip(grouped, self._workers.each(attempt, list(grouped)), strict=True))
        done = [report for report in reports.values() if report is not None]
        return IndexOutcome(
            indexed=sum(report.rows for report in done),
            namespaces=len(grouped),
            log_length=max((report.log_length for report in done), default=0),
            lag_ms=max((report.lag_ms for report in done), default=0),
            failed=tuple(change for change in changes if _is_failed(change, reports[change.namespace])),
        )

    def _index(self, namespace: Namespace, changes: Sequence[TruthKey]) -> FoldReport:
        hints: dict[str, Kind | None] = {}
        for change in changes:
            hints[change.memory_id] = change.kind or hints.get(change.memory_id)
        try:
            report = self._folder.fold(namespace, hints)
            self._compactor.compact(namespace)
        except IndexBrokenError:
            self._reindexer.reindex(namespace)
            report = self._folder.fold(namespace, hints)
        self._collector.empty_trash(namespace)
        return report


def _is_failed(change: TruthKey, report: FoldReport | None) -> bool:
    return report is None or change.memory_id in report.unreadable_ids
