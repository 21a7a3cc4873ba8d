"""Consolidation: plans what says the same, records the plan, and has it applied, over as many calls as it takes."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from s3_agent_memory.domain.clock import to_datetime, to_us
from s3_agent_memory.domain.consolidation import (
    ConsolidationRun,
    MergeState,
    RunState,
)
from s3_agent_memory.domain.consolidation_options import ConsolidationOptions
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.service.consolidation.duplicate_finder import DuplicateFinder, Findings
from s3_agent_memory.service.consolidation.merge_applier import MergeApplier
from s3_agent_memory.service.consolidation.runs import ConsolidationRuns
from s3_agent_memory.service.consolidation.settler import ConsolidationSettler
from s3_agent_memory.service.prompting.summarising import Summariser
from s3_agent_memory.service.results import Progress, no_progress
from s3_agent_memory.service.runtime import Runtime

HasTime = Callable[[], bool]

# Clocks differ, and a write may take a while from its time to its end.
_LATENESS_US: Final = 3_600_000_000


def for_ever() -> bool:
    """Return True: there is no time limit."""
    return True


class Consolidator:
    """Consolidates any namespace."""

    def __init__(
        self,
        runtime: Runtime,
        *,
        finder: DuplicateFinder,
        applier: MergeApplier,
        settler: ConsolidationSettler,
    ) -> None:
        self._runtime = runtime
        self._finder = finder
        self._applier = applier
        self._settler = settler
        self.runs = ConsolidationRuns(runtime)

    def plan(
        self, namespace: Namespace, options: ConsolidationOptions, *, progress: Progress = no_progress
    ) -> Findings:
        """Return what a run would merge, and change nothing.

        Raises:
            IndexBrokenError: the index must be rebuilt.
        """
        draft = self._draft(options, summariser="")
        excluded = _unsettled_ids(list(self.runs.all(namespace)))
        findings = self._find(namespace, draft, options, excluded=excluded, progress=progress)
        ids = self._applier.refused(namespace, [item.merge for item in findings.merges])
        return replace(findings, merges=tuple(item for item in findings.merges if item.merge.id not in ids))

    def consolidate(
        self,
        namespace: Namespace,
        options: ConsolidationOptions,
        summariser: Summariser,
        *,
        only_changes: bool = False,
        has_time: HasTime = for_ever,
        progress: Progress = no_progress,
    ) -> ConsolidationRun:
        """Finish what earlier runs began, or else merge what says the same; return the record of the run.

        A run whose time is up stays ``running``, and the next call goes on with it.

        Args:
            only_changes: look only at pairs of which one changed since the last run that looked at everything.
            progress: called with the merges done and all of this run.

        Raises:
            IndexBrokenError: the index must be rebuilt.
        """
        known = list(self.runs.all(namespace))
        unfinished = [run.id for run in known if run.state is RunState.RUNNING]
        if unfinished:
            resumed = [
                self.resume(namespace, run_id, summariser, has_time=has_time, progress=progress)
                for run_id in unfinished
            ]
            return resumed[-1]
        draft = self._draft(options, summariser=summariser.name)
        since_us = _watermark_us(known, options) if only_changes else 0
        findings = self._find(namespace, draft, options, excluded=_unsettled_ids(known), changed_since_us=since_us)
        run = replace(
            draft,
            merges=tuple(item.merge for item in findings.merges),
            examined=findings.examined,
            is_complete=findings.is_complete,
        )
        if not run.merges:
            run = replace(run, state=RunState.SETTLED, finished_at=run.started_at, settled_at=run.started_at)
        self.runs.create(namespace, run)
        if not run.merges:
            self._delete_older_empty(namespace, known, run)
            return run
        return self.resume(namespace, run.id, summariser, has_time=has_time, progress=progress)

    def resume(
        self,
        namespace: Namespace,
        run_id: str,
        summariser: Summariser,
        *,
        has_time: HasTime = for_ever,
        progress: Progress = no_progress,
    ) -> ConsolidationRun:
        """Go on with a run until it is applied, taken back by somebody, or the time is up.

        Raises:
            NotFoundError: there is no such run, or it was erased meanwhile.
        """
        run = self.runs.load(namespace, run_id)
        while run.state is RunState.RUNNING and run.planned and has_time():
            run = self._applier.apply_some(namespace, run, summariser, has_time=has_time)
            progress(len(run.merges) - len(run.planned), len(run.merges))
        if run.state is RunState.RUNNING and not run.planned:
            run = self._finish(namespace, run)
        return run

    # --- finding ------------------------------------------------------------------------------------------------------

    def _draft(self, options: ConsolidationOptions, *, summariser: str) -> ConsolidationRun:
        now = self._now()
        return ConsolidationRun(
            id=self._runtime.ids.new_id(),
            state=RunState.RUNNING,
            kind=options.kind,
            threshold=float(options.threshold),
            summariser=summariser,
            started_at=now,
            settle_at=now + timedelta(days=options.undo_days),
        )

    def _find(
        self,
        namespace: Namespace,
        draft: ConsolidationRun,
        options: ConsolidationOptions,
        *,
        excluded: Collection[str],
        changed_since_us: int = 0,
        progress: Progress = no_progress,
    ) -> Findings:
        return self._finder.find(
            namespace,
            draft,
            merge_count_max=options.merge_count_max,
            excluded=excluded,
            changed_since_us=changed_since_us,
            progress=progress,
        )

    def _finish(self, namespace: Namespace, run: ConsolidationRun) -> ConsolidationRun:
        for merge in run.in_state(MergeState.WITHDRAWN):
            self._settler.take_back(namespace, run, merge)
        now = self._now()

        def finished(fresh: ConsolidationRun) -> ConsolidationRun | None:
            if fresh.state is not RunState.RUNNING or fresh.planned:
                return None
            return replace(fresh, state=RunState.APPLIED, finished_at=now)

        run = self.runs.swap(namespace, run.id, finished).run
        return self._settler.settle(namespace, run) if run.settle_at <= now else run

    def _delete_older_empty(
        self, namespace: Namespace, known: Sequence[ConsolidationRun], newest: ConsolidationRun
    ) -> None:
        for run in known:
            if not run.merges and (run.kind, run.threshold) == (newest.kind, newest.threshold):
                self.runs.delete(namespace, run.id)

    def _now(self) -> datetime:
        return to_datetime(self._runtime.clock.now_us())


def _unsettled_ids(runs: Sequence[ConsolidationRun]) -> frozenset[str]:
    """Return the memories that runs wrote which may still be undone: to merge them again would entangle the two."""
    unsettled = (run for run in runs if run.state in (RunState.RUNNING, RunState.APPLIED, RunState.SETTLING))
    return frozenset(merge.id for run in unsettled for merge in run.merges)


def _watermark_us(runs: Sequence[ConsolidationRun], options: ConsolidationOptions) -> int:
    """Return since when everything has been looked at, microseconds since the epoch; 0 if it has not."""
    looked = [
        run
        for run in runs
        if (run.kind, run.threshold) == (options.kind, options.threshold)
        and run.state in (RunState.APPLIED, RunState.SETTLING, RunState.SETTLED)
        and not run.has_open_ends
    ]
    return max((to_us(run.started_at) - _LATENESS_US for run in looked), default=0)
