"""What comes after a consolidation: undoing it, or, when its undo window is over, forgetting the originals."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.consolidation import ConsolidationRun, Merge, MergeState, RunState
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.validity import MemoryVersion
from s3_agent_memory.errors import ConflictError, CorruptError, NotFoundError
from s3_agent_memory.service.consolidation.runs import ConsolidationRuns
from s3_agent_memory.service.memories.writer import MemoryWriter
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.truth import Truth

UNDOABLE: Final = frozenset({RunState.RUNNING, RunState.APPLIED})
UNDONE_REASON: Final = "consolidation undone"
# A write of a process that stalled may come this long after its run was undone.
_LATE_WRITES: Final = timedelta(days=2)
_RECORD_AGE_MAX: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoReport:
    """What an undo did.

    Attributes:
        run_id: the run that was undone.
        restored: originals of what was taken away that are there as they were merged; neither changed nor forgotten.
        kept: merged memories that somebody changed meanwhile; they stay, and their originals stay hidden.
    """

    run_id: str
    restored: int
    kept: tuple[str, ...]


class ConsolidationSettler:
    """Ends the runs of any namespace."""

    def __init__(self, runtime: Runtime, truth: Truth, writer: MemoryWriter) -> None:
        self._runtime = runtime
        self._truth = truth
        self._writer = writer
        self._runs = ConsolidationRuns(runtime)

    def undo(self, namespace: Namespace, run_id: str) -> UndoReport:
        """Take the merged memories of a run away, so that the originals are what they were; again is harmless.

        Raises:
            NotFoundError: there is no such run.
            ConflictError: its undo window is over.
        """
        now = self._now()

        def undone(fresh: ConsolidationRun) -> ConsolidationRun | None:
            is_open = fresh.state in UNDOABLE
            return replace(fresh, state=RunState.UNDONE, undone_at=now) if is_open else None

        run = self._runs.swap(namespace, run_id, undone).run
        if run.state is not RunState.UNDONE:
            raise ConflictError(f"consolidation {run_id} is settled: its originals have been forgotten")
        # Also what the record does not call merged: a process may have died after writing it.
        kept = [merge for merge in run.merges if not self.take_back(namespace, run, merge)]
        gone = [merge for merge in run.in_state(MergeState.MERGED) if merge not in kept]
        restored = sum(self._count_present(namespace, merge) for merge in gone)
        return UndoReport(run_id=run_id, restored=restored, kept=tuple(merge.id for merge in kept))

    def _count_present(self, namespace: Namespace, merge: Merge) -> int:
        """Return how many originals of a merge are alive at the version that was merged."""
        found = self._truth.live_many(namespace, [(merge.kind, item.id) for item in merge.originals])
        present = {memory.named_version for memory in found if memory is not None}
        return len(present.intersection(merge.originals))

    def take_back(self, namespace: Namespace, run: ConsolidationRun, merge: Merge) -> bool:
        """Take a merged memory away and leave its originals; return False if it is somebody else's by now."""

        def is_untouched(memory: Memory) -> bool:
            return memory.version == 1 and memory.source == run.source

        try:
            return self._writer.forget(namespace, merge.id, kind=merge.kind, reason=UNDONE_REASON, only_if=is_untouched)
        except NotFoundError:
            return True

    def tend(self, namespace: Namespace) -> int:
        """Do what is due for all runs of a namespace; return how many originals were forgotten."""
        forgotten = 0
        now = self._now()
        for run in list(self._runs.all(namespace)):
            is_due = run.state is RunState.APPLIED and run.settle_at <= now
            if is_due or run.state is RunState.SETTLING:
                forgotten += sum(1 for _ in self._settled(namespace, run.id))
            elif run.state is RunState.UNDONE and run.undone_at is not None and now - run.undone_at <= _LATE_WRITES:
                for merge in run.merges:
                    self.take_back(namespace, run, merge)
            ended_at = run.settled_at or run.undone_at
            if run.merges and ended_at is not None and now - ended_at > _RECORD_AGE_MAX:
                self._runs.delete(namespace, run.id)
        return forgotten

    def settle(self, namespace: Namespace, run: ConsolidationRun) -> ConsolidationRun:
        """Forget the originals of a run now; return its record."""
        for _ in self._settled(namespace, run.id):
            pass
        return self._runs.load(namespace, run.id)

    def _settled(self, namespace: Namespace, run_id: str) -> Iterator[MemoryVersion]:
        """Settle a run and yield what is forgotten; a run that is being undone is left alone."""
        now = self._now()

        def settling(fresh: ConsolidationRun) -> ConsolidationRun | None:
            return replace(fresh, state=RunState.SETTLING) if fresh.state is RunState.APPLIED else None

        run = self._runs.swap(namespace, run_id, settling).run
        if run.state is not RunState.SETTLING:
            return
        for merge in run.in_state(MergeState.MERGED):
            yield from self._forget_originals(namespace, run, merge)

        def settled(fresh: ConsolidationRun) -> ConsolidationRun | None:
            is_settling = fresh.state is RunState.SETTLING
            return replace(fresh, state=RunState.SETTLED, settled_at=now) if is_settling else None

        self._runs.swap(namespace, run_id, settled)

    def _forget_originals(self, namespace: Namespace, run: ConsolidationRun, merge: Merge) -> Iterator[MemoryVersion]:
        """Forget the originals that are still as they were merged, if the memory that says all of them is there."""
        try:
            merged = self._truth.live(namespace, merge.id, merge.kind)
        except CorruptError:
            merged = None
        if merged is None:
            return
        for item in merged.consolidated_from:
            if item not in merge.originals:
                continue
            try:
                is_gone = self._writer.forget(
                    namespace, item.id, kind=merge.kind, reason=run.source, only_if=_is_at(item.version)
                )
            except NotFoundError:
                continue
            if is_gone:
                yield item

    def _now(self) -> datetime:
        return to_datetime(self._runtime.clock.now_us())


def _is_at(version: int) -> Callable[[Memory], bool]:
    return lambda memory: memory.version == version
