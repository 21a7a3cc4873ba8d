"""What a caller can do about memories that say the same."""

from __future__ import annotations

import builtins

from s3_agent_memory.domain.consolidation import ConsolidationRun
from s3_agent_memory.domain.consolidation_options import ConsolidationOptions
from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.domain.kinds import Kind, check_kind
from s3_agent_memory.service.consolidation.consolidator import HasTime, for_ever
from s3_agent_memory.service.consolidation.duplicate_finder import Findings
from s3_agent_memory.service.consolidation.settler import UndoReport
from s3_agent_memory.service.prompting.summarising import LongestSummariser, Summariser
from s3_agent_memory.service.results import Progress, no_progress
from s3_agent_memory.service.store.base import NamespaceLike, StoreBase


class StoreConsolidation(StoreBase):
    """Merging memories that say the same."""

    def plan_consolidation(
        self,
        namespace: NamespaceLike,
        *,
        kind: Kind | str | None = None,
        threshold: float | None = None,
        merge_count_max: int | None = None,
        progress: Progress = no_progress,
    ) -> Findings:
        """Return what ``consolidate`` would merge, and change nothing.

        Raises:
            ValidationError: an argument is wrong.
        """
        place = parse_namespace(namespace)
        options = make_options(kind=kind, threshold=threshold, merge_count_max=merge_count_max)
        consolidator = self._services.consolidations.consolidator
        return self._with_index(place, lambda: consolidator.plan(place, options, progress=progress))

    def consolidate(
        self,
        namespace: NamespaceLike,
        *,
        kind: Kind | str | None = None,
        threshold: float | None = None,
        undo_days: float | None = None,
        merge_count_max: int | None = None,
        summariser: Summariser | None = None,
        only_changes: bool = False,
        has_time: HasTime = for_ever,
        progress: Progress = no_progress,
    ) -> ConsolidationRun:
        """Merge memories that say the same, each kind by itself; first finish a run that was interrupted.

        The merged memory hides the ones it was made of, which stay for the undo window and are forgotten by
        ``prune_expired`` after it. Pinned memories, and those of different attribution or validity, are left alone.

        Args:
            kind: only memories of this kind.
            threshold: how alike texts that say the same must be in their words or by their vectors, 0 to 1 (0.5).
            undo_days: how long the run can be undone (7); 0 forgets the originals at once.
            merge_count_max: at most so many merges (1,000); the next run goes on.
            summariser: writes the merged texts; by default the longest text stands for all.
            only_changes: look only at pairs of which one changed since the last complete run.
            has_time: asked between merges; once it says no, the run stops and the next call goes on with it.
            progress: called with the merges done, and all of this run.

        Returns:
            The record of the run: what was merged and why.

        Raises:
            ValidationError: an argument is wrong; nothing was merged.
            UnknownOutcomeError: the storage gave no answer; the next call goes on with the run.

        Example:
            >>> store.consolidate("users/alice", kind="semantic").in_state(MergeState.MERGED)  # doctest: +SKIP
        """
        place = parse_namespace(namespace)
        options = make_options(kind=kind, threshold=threshold, undo_days=undo_days, merge_count_max=merge_count_max)
        consolidator = self._services.consolidations.consolidator
        run = self._with_index(
            place,
            lambda: consolidator.consolidate(
                place,
                options,
                summariser or LongestSummariser(),
                only_changes=only_changes,
                has_time=has_time,
                progress=progress,
            ),
        )
        if run.merges:
            self._services.housekeeper.tidy(place)
        return run

    def undo_consolidation(self, namespace: NamespaceLike, run_id: str) -> UndoReport:
        """Take back what a run merged: the originals are what they were before. Undoing again is harmless.

        Raises:
            NotFoundError: there is no such run.
            ConflictError: its undo window is over, and its originals have been forgotten.
        """
        place = parse_namespace(namespace)
        report = self._services.consolidations.settler.undo(place, check_id(run_id))
        self._services.housekeeper.tidy(place)
        return report

    def consolidation(self, namespace: NamespaceLike, run_id: str) -> ConsolidationRun:
        """Return the record of a run.

        Raises:
            NotFoundError: there is none.
        """
        return self._services.consolidations.consolidator.runs.load(parse_namespace(namespace), check_id(run_id))

    def consolidations(self, namespace: NamespaceLike) -> builtins.list[ConsolidationRun]:
        """Return the records of all runs, the oldest first; they are kept for 30 days after a run has ended."""
        return builtins.list(self._services.consolidations.consolidator.runs.all(parse_namespace(namespace)))


def make_options(
    *,
    kind: Kind | str | None = None,
    threshold: float | None = None,
    undo_days: float | None = None,
    merge_count_max: int | None = None,
) -> ConsolidationOptions:
    """Return options; what is None is as usual.

    Raises:
        ValidationError: a value is outside its range.
    """
    usual = ConsolidationOptions()
    return ConsolidationOptions(
        kind=None if kind is None else check_kind(kind),
        threshold=usual.threshold if threshold is None else threshold,
        undo_days=usual.undo_days if undo_days is None else undo_days,
        merge_count_max=usual.merge_count_max if merge_count_max is None else merge_count_max,
    )
