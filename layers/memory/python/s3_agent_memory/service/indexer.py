"""The indexer: answers change events by folding the namespaces they point at, then merges and tidies."""

from collections.abc import Sequence
from dataclasses import dataclass

from s3_agent_memory.domain.keys import Namespace, TruthKey
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import AgentMemoryError
from s3_agent_memory.service.collector import Collector
from s3_agent_memory.service.compactor import Compactor
from s3_agent_memory.service.folder import Folder
from s3_agent_memory.service.head import IndexBrokenError
from s3_agent_memory.service.reindexer import Reindexer


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOutcome:
    """What a batch of events led to.

    Attributes:
        indexed: rows written.
        namespaces: namespaces folded.
        failed: changes whose object cannot be read, or whose namespace could not be folded; send these again.
    """

    indexed: int
    namespaces: int
    failed: tuple[TruthKey, ...]


class Indexer:
    """Folds what events point at. Events are hints: a repeated, late or reordered one changes nothing."""

    def __init__(self, *, folder: Folder, compactor: Compactor, collector: Collector, reindexer: Reindexer) -> None:
        self._folder = folder
        self._compactor = compactor
        self._collector = collector
        self._reindexer = reindexer

    def run(self, changes: Sequence[TruthKey]) -> IndexOutcome:
        """Fold every namespace named by ``changes``; one that fails does not keep the others from it."""
        grouped: dict[Namespace, list[TruthKey]] = {}
        for change in changes:
            grouped.setdefault(change.namespace, []).append(change)
        indexed = 0
        failed: list[TruthKey] = []
        for namespace, members in grouped.items():
            try:
                rows, unreadable = self._index(namespace, members)
            except AgentMemoryError:
                failed.extend(members)
                continue
            indexed += rows
            failed.extend(change for change in members if change.memory_id in unreadable)
        return IndexOutcome(indexed=indexed, namespaces=len(grouped), failed=tuple(failed))

    def _index(self, namespace: Namespace, changes: Sequence[TruthKey]) -> tuple[int, frozenset[str]]:
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
        return report.rows, frozenset(report.unreadable_ids)
