"""Writes merged memories: the one step of a consolidation that changes what readers see.

A merged memory names the versions it was made of, and they are hidden from then on. It is written only if all of them
are still as they were, and taken back if one has changed meanwhile. Every decision about a merge is a swap of the run's
record, so several processes may work on one run, and one that slept cannot take back what another has settled.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.consolidation import (
    WHY_FORGOTTEN,
    ConsolidationRun,
    Merge,
    MergeState,
    RunState,
    merged_memory,
)
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.errors import (
    AgentMemoryError,
    ConflictError,
    CorruptError,
    ForgottenError,
    GenerationError,
    NotFoundError,
    UnusableAnswerError,
    ValidationError,
)
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.service.consolidation.original_check import OriginalCheck, Originals
from s3_agent_memory.service.consolidation.runs import ConsolidationRuns
from s3_agent_memory.service.consolidation.settler import ConsolidationSettler
from s3_agent_memory.service.consolidation.summary_check import keeps_what_counts
from s3_agent_memory.service.memories.writer import MemoryWriter
from s3_agent_memory.service.prompting.summarising import Summariser
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.truth import Truth
from s3_agent_memory.service.upkeep.folder import Folder

_BATCH_SIZE: Final = 16
HasTime = Callable[[], bool]
_CHANGED: Final = "an original has changed"


@dataclass(frozen=True, slots=True)
class _Place:
    namespace: Namespace
    run: ConsolidationRun


class MergeApplier:
    """Applies the merges of runs of any namespace."""

    def __init__(
        self,
        runtime: Runtime,
        truth: Truth,
        *,
        originals: OriginalCheck,
        writer: MemoryWriter,
        folder: Folder,
        settler: ConsolidationSettler,
    ) -> None:
        self._runtime = runtime
        self._truth = truth
        self._originals = originals
        self._writer = writer
        self._folder = folder
        self._settler = settler
        self._runs = ConsolidationRuns(runtime)

    def apply_some(
        self, namespace: Namespace, run: ConsolidationRun, summariser: Summariser, *, has_time: HasTime
    ) -> ConsolidationRun:
        """Try some merges and record what became of them; return the run as it is then.

        The first is tried in any case, so that a run gets on; no other is begun when the time is up.
        """
        batch = run.planned[:_BATCH_SIZE]
        before = self._originals.check(namespace, batch)
        results: dict[str, Merge] = {}
        for merge in batch:
            if results and not has_time():
                break
            results[merge.id] = self._try(_Place(namespace, run), merge, before, summariser)
        written = [merge for merge in results.values() if merge.state is MergeState.MERGED]
        after = self._originals.check(namespace, written)
        for merge in written:
            if merge.id not in after.of:
                results[merge.id] = replace(merge, state=MergeState.WITHDRAWN, why=_CHANGED)
        try:
            run = self._runs.swap(namespace, run.id, _recorder(results)).run
        except NotFoundError:
            # The namespace was erased: nothing of this run may remain.
            self._take_back(namespace, run, written)
            raise
        self._take_back(namespace, run, _undone_of(run, written))
        return run

    def refused(self, namespace: Namespace, merges: Sequence[Merge]) -> frozenset[str]:
        """Return the ids out of some merges that are never made: they were undone or forgotten before."""
        requests = [self._truth.tombstone_request(namespace, merge.id) for merge in merges]
        found = zip(merges, self._runtime.store.read_many(requests), strict=True)
        return frozenset(merge.id for merge, tombstone in found if tombstone is not None)

    def _try(self, place: _Place, merge: Merge, before: Originals, summariser: Summariser) -> Merge:
        """Write the merged memory unless something speaks against it; return the merge with what became of it."""
        originals = before.of.get(merge.id)
        # A model is not asked again for what a process that died has written.
        if originals is not None and self._is_written(place, merge):
            return self._adopt(place, merge)
        try:
            content = None if originals is None else _content(originals, summariser, before.analyzer)
            # A model may take its time: what changed meanwhile is not merged.
            is_slow = originals is not None and all(content != memory.content for memory in originals)
            if is_slow and merge.id not in self._originals.check(place.namespace, [merge]).of:
                originals = None
            if originals is None or content is None:
                return _skipped(merge, _CHANGED)
            memory = merged_memory(
                originals,
                content,
                run=place.run,
                now=to_datetime(self._runtime.clock.now_us()),
                limits=self._runtime.limits,
            )
            self._writer.remember_as(memory)
        except (GenerationError, ValidationError, ForgottenError) as error:
            return _skipped(merge, _reason(error))
        except ConflictError:
            return self._adopt(place, merge)
        return replace(merge, state=MergeState.MERGED)

    def _is_written(self, place: _Place, merge: Merge) -> bool:
        try:
            return self._truth.live(place.namespace, merge.id, merge.kind) is not None
        except CorruptError:
            return False

    def _adopt(self, place: _Place, merge: Merge) -> Merge:
        """Take over a merged memory that is there already: a process that died may have left it without a log entry."""
        present = self._truth.live(place.namespace, merge.id, merge.kind)
        if present is None or present.source != place.run.source:
            return _skipped(merge, "another run has merged them")
        self._folder.fold(place.namespace, {merge.id: merge.kind})
        return replace(merge, state=MergeState.MERGED)

    def _take_back(self, namespace: Namespace, run: ConsolidationRun, merges: Sequence[Merge]) -> None:
        for merge in merges:
            self._settler.take_back(namespace, run, merge)


def _content(originals: Sequence[Memory], summariser: Summariser, analyzer: Analyzer) -> str:
    texts = [memory.content for memory in originals]
    # A caller may bring a summariser of their own, which no type checker has seen.
    content: object = summariser.summarise(texts)
    if not isinstance(content, str):
        raise UnusableAnswerError(f"the summariser must return text, not {type(content).__name__}")
    if content not in texts and not keeps_what_counts(content, texts, analyzer):
        raise UnusableAnswerError("the merged text leaves out a number, a name, a negation or too many words")
    return content


def _reason(error: AgentMemoryError) -> str:
    if isinstance(error, ForgottenError):
        return WHY_FORGOTTEN
    return f"{error.code}: {error}"


def _skipped(merge: Merge, why: str) -> Merge:
    return replace(merge, state=MergeState.SKIPPED, why=why)


def _recorder(results: dict[str, Merge]) -> Callable[[ConsolidationRun], ConsolidationRun | None]:
    """Return what records results in a run that is still being applied."""
    return lambda fresh: fresh.with_results(results) if fresh.state is RunState.RUNNING else None


def _undone_of(run: ConsolidationRun, written: Sequence[Merge]) -> list[Merge]:
    """Return the merges out of some written ones that do not count by the record."""
    counting = set() if run.state is RunState.UNDONE else {merge.id for merge in run.in_state(MergeState.MERGED)}
    return [merge for merge in written if merge.id not in counting]
