"""Finds the memories of a namespace that say the same: the index proposes pairs, the texts decide."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from s3_agent_memory.domain.clock import to_us
from s3_agent_memory.domain.consolidation import (
    GROUP_SIZE_MAX,
    GROUP_SIZE_MIN,
    ConsolidationRun,
    Merge,
    is_mergeable,
    may_merge,
    merge_key,
    merged_id,
)
from s3_agent_memory.domain.keys import Namespace, TruthKey
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.validity import Moment
from s3_agent_memory.errors import CorruptError
from s3_agent_memory.index.id_table import Positions
from s3_agent_memory.index.near_duplicates.pairs import jaccard, near_pairs
from s3_agent_memory.index.near_duplicates.statement import Statement, statement_of
from s3_agent_memory.index.row import KIND_CODES, KINDS
from s3_agent_memory.service.results import Progress, no_progress
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.index_reader import IndexReader, View
from s3_agent_memory.service.truth import Truth, decode_present

_READ_COUNT: Final = 256
_DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class PlannedMerge:
    """A merge with the memories it is to be made of, the oldest first."""

    merge: Merge
    originals: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was found.

    Attributes:
        merges: groups of memories that say the same, at most as many as were asked for.
        compared: pairs that the index compared.
        examined: memories whose texts were compared.
        is_complete: False if there are more groups.
    """

    merges: tuple[PlannedMerge, ...]
    compared: int
    examined: int
    is_complete: bool


@dataclass(frozen=True, slots=True)
class _Candidate:
    memory: Memory
    doc: int


class DuplicateFinder:
    """Finds duplicates in any namespace; it only reads."""

    def __init__(self, runtime: Runtime, truth: Truth, index: IndexReader) -> None:
        self._runtime = runtime
        self._truth = truth
        self._index = index

    def find(
        self,
        namespace: Namespace,
        run: ConsolidationRun,
        *,
        merge_count_max: int,
        excluded: Collection[str] = (),
        changed_since_us: int = 0,
        progress: Progress = no_progress,
    ) -> Findings:
        """Return groups of memories that say the same.

        Args:
            run: what is asked for: kind, threshold, and when the originals would be forgotten.
            excluded: ids that are left alone.
            changed_since_us: look only at pairs of which one changed since; microseconds since the epoch.
            progress: called with the memories read, and all that are to be read.

        Raises:
            IndexBrokenError: the index must be rebuilt.
        """
        view = self._index.view(namespace)
        docs, compared = self._candidate_docs(view, run, changed_since_us)
        candidates: list[_Candidate] = []
        for start in range(0, len(docs), _READ_COUNT):
            candidates.extend(self._read(namespace, view, docs[start : start + _READ_COUNT]))
            progress(min(start + _READ_COUNT, len(docs)), len(docs))
        usable = [
            item
            for item in candidates
            if item.memory.id not in excluded and may_merge(item.memory, settle_at=run.settle_at)
        ]
        found = list(islice(self._merges(view, run, usable), merge_count_max + 1))
        return Findings(
            merges=tuple(found[:merge_count_max]),
            compared=compared,
            examined=len(candidates),
            is_complete=len(found) <= merge_count_max,
        )

    def _candidate_docs(self, view: View, run: ConsolidationRun, changed_since_us: int) -> tuple[Positions, int]:
        """Return the rows that the index takes for possible duplicates, and how many pairs it compared."""
        snapshot = view.snapshot
        docs = snapshot.live_docs()
        is_true = snapshot.is_true_at(Moment(self._runtime.clock.now_us()))
        if is_true is not None:
            docs = docs[is_true[docs]]
        kinds, expires_us, updated_us = snapshot.columns(docs, "kinds", "expires_us", "updated_us")
        is_lasting = (expires_us == 0) | (expires_us > to_us(run.settle_at))
        chosen: list[Positions] = [np.zeros(0, np.int64)]
        compared = 0
        for kind in KINDS if run.kind is None else (run.kind,):
            is_kind = is_lasting & (kinds == KIND_CODES[kind])
            pairs = near_pairs(snapshot, docs[is_kind], analyzer=view.analyzer, vectors=view.vectors)
            compared += pairs.compared
            is_new = np.zeros(snapshot.doc_count, np.bool_)
            is_new[docs[updated_us >= changed_since_us]] = True
            is_wanted = is_new[pairs.left] | is_new[pairs.right]
            chosen.extend((pairs.left[is_wanted], pairs.right[is_wanted]))
        return np.unique(np.concatenate(chosen)), compared

    def _read(self, namespace: Namespace, view: View, docs: Positions) -> Iterator[_Candidate]:
        """Yield the memories of some rows that are as their rows say."""
        rows = [view.snapshot.identity(doc) for doc in docs.tolist()]
        requests = [self._truth.get_request(namespace, kind, memory_id) for memory_id, kind, _ in rows]
        results = self._runtime.store.read_many(requests)
        for doc, (memory_id, kind, version), result in zip(docs.tolist(), rows, results, strict=True):
            try:
                present = decode_present(result, TruthKey(namespace, kind, memory_id))
            except CorruptError:
                continue
            if present is not None and present.memory.version == version:
                yield _Candidate(present.memory, doc)

    def _merges(self, view: View, run: ConsolidationRun, candidates: Sequence[_Candidate]) -> Iterator[PlannedMerge]:
        for group in _groups_by_statement(candidates, view.analyzer.language):
            for part in self._compatible(run, group):
                rest = part
                while len(rest) >= GROUP_SIZE_MIN:
                    planned, rest = _around_first(view, run, rest)
                    if planned is not None:
                        yield planned

    def _compatible(self, run: ConsolidationRun, group: Sequence[_Candidate]) -> Iterator[list[_Candidate]]:
        """Split a group into parts whose data and metadata do not contradict each other, oldest memories first."""
        rest = sorted(group, key=lambda item: (item.memory.created_at, item.memory.id))
        while len(rest) >= GROUP_SIZE_MIN:
            part: list[_Candidate] = []
            left: list[_Candidate] = []
            for item in rest:
                memories = [*(other.memory for other in part), item.memory]
                fits = len(part) < GROUP_SIZE_MAX and is_mergeable(memories, run=run, limits=self._runtime.limits)
                (part if fits else left).append(item)
            if len(part) < GROUP_SIZE_MIN:
                left = left if part else left[1:]
            yield part
            rest = left


def _around_first(
    view: View, run: ConsolidationRun, part: Sequence[_Candidate]
) -> tuple[PlannedMerge | None, list[_Candidate]]:
    """Return the merge of those that are enough like the first (None if it stays alone), and the others."""
    first = part[0].memory
    terms = view.analyzer.terms(first.content)
    cosines = _cosines(view, [item.doc for item in part])
    kept, others, words, meanings = [first], list[_Candidate](), 1.0, list[float]()
    for item, cosine in zip(part[1:], cosines, strict=True):
        shared = jaccard(terms, view.analyzer.terms(item.memory.content))
        if max(shared, cosine or 0.0) < run.threshold:
            others.append(item)
            continue
        kept.append(item.memory)
        words = min(words, shared)
        meanings.extend(() if cosine is None else (cosine,))
    if len(kept) < GROUP_SIZE_MIN:
        return None, others
    versions = tuple(sorted(memory.named_version for memory in kept))
    merge = Merge(
        id=merged_id(first.kind, versions),
        kind=first.kind,
        originals=versions,
        words=round(words, _DIGITS),
        meaning=round(min(meanings), _DIGITS) if meanings else None,
    )
    return PlannedMerge(merge, tuple(kept)), others


def _groups_by_statement(candidates: Sequence[_Candidate], language: str) -> Iterator[list[_Candidate]]:
    """Yield the candidates that say the same about the same, in the order of the first of each group."""
    groups: dict[object, list[tuple[Statement, _Candidate]]] = {}
    for item in candidates:
        statement = statement_of(item.memory.content, language)
        if statement is not None:
            key = (merge_key(item.memory), statement.tokens)
            groups.setdefault(key, []).append((statement, item))
    for group in groups.values():
        yield from _by_spelling(group)


def _by_spelling(group: Sequence[tuple[Statement, _Candidate]]) -> Iterator[list[_Candidate]]:
    """Split a group by capitals that may matter; a text in one case goes with the others only if they agree."""
    spellings = {statement.spelled for statement, _ in group if statement.spelled is not None}
    if len(spellings) <= 1:
        yield [item for _, item in group]
        return
    for spelling in (None, *sorted(spellings, key=sorted)):
        yield [item for statement, item in group if statement.spelled == spelling]


def _cosines(view: View, docs: Sequence[int]) -> list[float | None]:
    """Return the cosine of the first memory and each of the others; None where one has no vector."""
    if view.vectors is None:
        return [None] * (len(docs) - 1)
    places, vectors = view.vectors.first_windows(np.array(docs))
    rows = dict(zip(places.tolist(), vectors, strict=True))
    if 0 not in rows:
        return [None] * (len(docs) - 1)
    return [float(rows[0] @ rows[place]) if place in rows else None for place in range(1, len(docs))]
