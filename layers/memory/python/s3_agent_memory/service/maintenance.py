"""What a caller can do with whole namespaces: look after them, count them, move them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from s3_agent_memory.domain.keys import format_namespace, parse_namespace
from s3_agent_memory.service.namespaces import discover
from s3_agent_memory.service.results import (
    ImportReport,
    Progress,
    PruneReport,
    ReindexReport,
    Stats,
    SweepReport,
    no_progress,
)
from s3_agent_memory.service.store_base import NamespaceLike, StoreBase


class StoreMaintenance(StoreBase):
    """Looking after namespaces as a whole."""

    def prune_expired(self, namespace: NamespaceLike, *, progress: Progress = no_progress) -> PruneReport:
        """Forget all memories that are past their expiry."""
        place = parse_namespace(namespace)
        report = self._with_index(place, lambda: self._services.pruner.prune(place, progress=progress))
        if report.forgotten:
            self._services.housekeeper.tidy(place)
        return report

    def sweep(self, namespace: NamespaceLike) -> SweepReport:
        """Compare all objects with the index, repair what differs, merge segments and collect garbage."""
        place = parse_namespace(namespace)
        return self._with_index(place, lambda: self._services.sweeper.sweep(place))

    def reindex(self, namespace: NamespaceLike, *, progress: Progress = no_progress) -> ReindexReport:
        """Rebuild the index from the objects; searching and writing go on meanwhile.

        With an embedder, every memory then gets a vector of its model, which becomes that of the namespace. Vectors
        of the same model and text are kept.

        Args:
            progress: called with the memories indexed, then with those and the memories embedded.

        Raises:
            ConflictError: other processes kept rewriting the index at the same time.
            EmbeddingError: the index is rebuilt, but the embedder failed.
        """
        place = parse_namespace(namespace)
        report = self._services.reindexer.reindex(place, progress=progress)
        indexed = report.memories
        embedding = self._services.vectors.embed(
            place, takes_over=True, progress=lambda done, total: progress(indexed + done, indexed + (total or 0))
        )
        if embedding is None:
            return report
        self._services.vectors.merge(place)
        return replace(report, embedded=embedding.embedded)

    def stats(self, namespace: NamespaceLike) -> Stats:
        """Return figures about a namespace."""
        place = parse_namespace(namespace)
        return self._with_index(place, lambda: self._services.statistician.stats(place))

    def namespaces(self, prefix: NamespaceLike | None = None) -> builtins.list[str]:
        """Return the namespaces that hold anything, in order, those at or below ``prefix`` if it is given."""
        root = None if prefix is None else parse_namespace(prefix)
        return sorted(format_namespace(namespace) for namespace in discover(self._runtime, root))

    def export(
        self,
        namespace: NamespaceLike,
        *,
        include_expired: bool = False,
        progress: Progress = no_progress,
        on_corrupt: Callable[[str], None] = lambda _: None,
    ) -> Iterator[str]:
        """Yield every memory as one line of JSON (without the newline), read from the objects themselves.

        Args:
            on_corrupt: called with the key of each object that cannot be read.
        """
        return self._services.exporter.export(
            parse_namespace(namespace), include_expired=include_expired, progress=progress, on_corrupt=on_corrupt
        )

    def import_(
        self,
        namespace: NamespaceLike,
        lines: Iterable[str | bytes],
        *,
        overwrite: bool = False,
        resurrect: bool = False,
        progress: Progress = no_progress,
    ) -> ImportReport:
        """Store memories from JSON lines into ``namespace``, whatever namespace the lines name.

        Ids that exist are skipped, forgotten ids refused. A wrong line is reported with its number; the others go on.

        Args:
            overwrite: replace memories whose id exists.
            resurrect: allow forgotten ids.
        """
        place = parse_namespace(namespace)
        return self._services.importer.import_lines(
            place, lines, overwrite=overwrite, resurrect=resurrect, progress=progress
        )
