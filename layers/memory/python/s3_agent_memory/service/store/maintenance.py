"""What a caller can do with whole namespaces: look after them, count them, move them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import BinaryIO

from s3_agent_memory.domain.erasure import Erasure, make_erasure_scope
from s3_agent_memory.domain.events import EVENT_LIMIT_DEFAULT, EventPage, check_event_limit
from s3_agent_memory.domain.filters import parse_filter
from s3_agent_memory.domain.keys import format_namespace, parse_namespace
from s3_agent_memory.domain.kinds import Kind, check_kind
from s3_agent_memory.domain.memory import check_label, check_tags
from s3_agent_memory.domain.verification import Verification
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.service.erasure.work import time_left
from s3_agent_memory.service.memories.selection import Selection
from s3_agent_memory.service.migration.migrator import MigrationFormat, check_migration_format
from s3_agent_memory.service.namespaces import discover
from s3_agent_memory.service.results import (
    ExportPage,
    ImportReport,
    Progress,
    PruneReport,
    ReindexReport,
    Stats,
    SweepReport,
    no_progress,
)
from s3_agent_memory.service.store.base import NamespaceLike
from s3_agent_memory.service.store.consolidation import StoreConsolidation


class StoreMaintenance(StoreConsolidation):
    """Looking after namespaces as a whole."""

    def prune_expired(self, namespace: NamespaceLike, *, progress: Progress = no_progress) -> PruneReport:
        """Forget all memories that are past their expiry, and those that were consolidated and cannot be restored."""
        place = parse_namespace(namespace)
        report = self._with_index(place, lambda: self._services.pruner.prune(place, progress=progress))
        report = replace(report, consolidated=self._services.consolidations.settler.tend(place))
        if report.forgotten or report.consolidated:
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

    def erase(
        self,
        namespace: NamespaceLike,
        *,
        confirm: str,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        ids: Sequence[str] | None = None,
        requested_by: str | None = None,
        seconds_max: float | None = None,
        progress: Progress = no_progress,
    ) -> Erasure:
        """Erase a namespace, or what one user, agent or session has in it, or some memories, for good.

        Memories, what ``history`` keeps of them, conversations, index, vectors, log and, where the store keeps them,
        noncurrent versions. Tombstones without content stay, so that no import brings anything back. Namespaces below
        this one are not concerned. What is written after the erasure began may stay; erase once more to be sure.

        Args:
            confirm: the namespace once more, as ``"users/alice"``.
            user_id, agent_id, session_id, ids: at most one of them; none means the whole namespace.
            requested_by: who asks; kept in the report.
            seconds_max: stop after about this long; the same call, or the next sweep, goes on from there.

        Returns:
            The report, which is kept; ``is_finished`` says whether nothing is left to do.

        Raises:
            ValidationError: the confirmation is not the namespace, or the scope is blank; nothing was erased.
            UnknownOutcomeError, ThrottledError, BackendError: it is not finished; the same call goes on.

        Example:
            >>> store.erase("users/alice", confirm="users/alice").is_finished  # doctest: +SKIP
            True
        """
        place = parse_namespace(namespace)
        if confirm != format_namespace(place):
            raise ValidationError(f"to erase it, confirm the namespace by its name {format_namespace(place)!r}")
        scope = make_erasure_scope(
            user_id=user_id, agent_id=agent_id, session_id=session_id, ids=ids, limits=self.limits
        )
        return self._services.eraser.erase(
            place,
            scope,
            requested_by=check_label(requested_by, self.limits, field_name="requested_by"),
            has_time=time_left(self._runtime.clock, seconds_max),
            progress=progress,
        )

    def erasure(self, namespace: NamespaceLike, erasure_id: str) -> Erasure:
        """Return the report of an erasure, finished or not.

        Raises:
            NotFoundError: there is none.
        """
        return self._services.eraser.find(parse_namespace(namespace), erasure_id)

    def resume_erasures(self, namespace: NamespaceLike, *, seconds_max: float | None = None) -> int:
        """Go on with erasures that were left unfinished; return how many are finished now."""
        return self._services.eraser.resume(parse_namespace(namespace), time_left(self._runtime.clock, seconds_max))

    def verify(self, namespace: NamespaceLike, *, progress: Progress = no_progress) -> Verification:
        """Check every object, tombstone, log entry and index file, and that the index equals the objects.

        It changes nothing, and reads everything once: a GET for each memory and each tombstone. Every finding says what
        it means and what to do.
        """
        return self._services.verifier.verify(parse_namespace(namespace), progress=progress)

    def stats(self, namespace: NamespaceLike) -> Stats:
        """Return figures about a namespace."""
        place = parse_namespace(namespace)
        return self._with_index(place, lambda: self._services.statistician.stats(place))

    def namespaces(self, prefix: NamespaceLike | None = None) -> builtins.list[str]:
        """Return the namespaces that hold anything, in order, those at or below ``prefix`` if it is given."""
        root = None if prefix is None else parse_namespace(prefix)
        return sorted(format_namespace(namespace) for namespace in discover(self._runtime, root))

    def events(
        self, namespace: NamespaceLike, cursor: str | None = None, *, limit: int = EVENT_LIMIT_DEFAULT
    ) -> EventPage:
        """Return what changed since a cursor: ids and versions, never what a memory says.

        No acknowledged change is left out, however late it was folded and whatever a clock said. Some may come twice;
        of several changes of one memory between two calls only the last one comes. Apply an event if its version is
        above the one you have, or equal and ``forgotten``.

        A cursor serves for at least ten minutes, and an hour where the index is not merged very often; beyond that as
        long as no index file it stands on was merged away and collected.

        Args:
            cursor: of the page before; None begins with everything there is, ``"now"`` with the next change.
            limit: changed memories a page, 1 to 1,000.

        Raises:
            CursorTooOldError: list the memories, then start again without a cursor.
            ValidationError: an argument is wrong, or the cursor belongs to another namespace.

        Example:
            >>> page = store.events("users/alice", saved_cursor)  # doctest: +SKIP
            >>> for event in page.events:  # doctest: +SKIP
            ...     print(event.type, event.id, event.version)
        """
        place = parse_namespace(namespace)
        count = check_event_limit(limit)
        return self._with_index(place, lambda: self._services.events.read(place, cursor, limit=count))

    def export(
        self,
        namespace: NamespaceLike,
        *,
        kind: Kind | str | None = None,
        tags: Iterable[str] = (),
        filter: Mapping[str, object] | None = None,  # noqa: A002
        include_expired: bool = False,
        progress: Progress = no_progress,
        on_corrupt: Callable[[str], None] = lambda _: None,
    ) -> Iterator[str]:
        """Yield every memory as one line of JSON (without the newline), read from the objects themselves.

        ``domain.checksum_line.with_checksum`` adds the line by which an import knows that nothing was cut.

        Args:
            kind, tags, filter: only memories of this kind, with all these tags, within this filter. What somebody is
                or said is part of a filter as well: ``{"user_id": "alice"}``.
            on_corrupt: called with the key of each object that cannot be read.

        Raises:
            ValidationError: an argument is wrong.
        """
        return self._services.exporter.export(
            parse_namespace(namespace),
            self._exported(kind, tags, filter),
            include_expired=include_expired,
            progress=progress,
            on_corrupt=on_corrupt,
        )

    def export_page(
        self,
        namespace: NamespaceLike,
        cursor: str | None = None,
        *,
        kind: Kind | str | None = None,
        tags: Iterable[str] = (),
        filter: Mapping[str, object] | None = None,  # noqa: A002
        include_expired: bool = False,
    ) -> ExportPage:
        """Return some lines of an export, about 2 MiB; see ``export``.

        A page may be empty and not the last one, where the filter lets little pass.

        Args:
            cursor: ``next_cursor`` of the page before.

        Raises:
            ValidationError: an argument is wrong.
        """
        if cursor is not None and not isinstance(cursor, str):
            raise ValidationError("cursor must be text")
        selection = self._exported(kind, tags, filter)
        return self._services.exporter.page(
            parse_namespace(namespace), selection, cursor, include_expired=include_expired
        )

    def _exported(
        self, kind: Kind | str | None, tags: Iterable[str], conditions: Mapping[str, object] | None
    ) -> Selection:
        return Selection(
            kind=None if kind is None else check_kind(kind),
            tags=check_tags(tags, self.limits),
            conditions=parse_filter(conditions),
        )

    def migrate(
        self,
        namespace: NamespaceLike,
        form: MigrationFormat | str,
        file: BinaryIO,
        *,
        dry_run: bool = False,
        progress: Progress = no_progress,
    ) -> ImportReport:
        """Store what another system's file holds; a file that was read before changes nothing.

        Args:
            form: ``mem0`` (JSON of its ``get_all``) or ``mcp-memory`` (the reference MCP memory server's JSON lines).
            dry_run: write nothing, and report what would be done.

        Raises:
            ValidationError: there is no such format, or the file is not of it.
        """
        place = parse_namespace(namespace)
        checked = check_migration_format(form)
        return self._services.migrator.migrate(place, checked, file, dry_run=dry_run, progress=progress)

    def import_(
        self,
        namespace: NamespaceLike,
        lines: Iterable[str | bytes],
        *,
        overwrite: bool = False,
        resurrect: bool = False,
        verifies: bool = True,
        progress: Progress = no_progress,
    ) -> ImportReport:
        """Store memories from JSON lines into ``namespace``, whatever namespace the lines name.

        Ids that exist are skipped, forgotten ids refused. A wrong line is reported with its number; the others go on.
        After an import that was killed run it again: what is there already is passed over quickly.

        Args:
            overwrite: replace memories whose id exists.
            resurrect: allow forgotten ids.
            verifies: compare checksum lines; False if ``lines`` may be a part of what was exported.

        Raises:
            ValidationError: ``lines`` is one text and not many.
        """
        place = parse_namespace(namespace)
        if isinstance(lines, (str, bytes)):
            raise ValidationError("lines must be many lines, as an open file or a list gives them, not one text")
        return self._services.importer.import_lines(
            place, lines, overwrite=overwrite, resurrect=resurrect, verifies=verifies, progress=progress
        )
