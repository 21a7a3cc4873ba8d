"""Ranked search and chronological listing over a snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from s3_agent_memory.domain.filters import Condition
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.ranking import Ranking
from s3_agent_memory.domain.validity import Moment
from s3_agent_memory.index.eligibility import Eligibility
from s3_agent_memory.index.id_table import Positions
from s3_agent_memory.index.query import Query
from s3_agent_memory.index.relevance import Meaning, Relevance, relevance
from s3_agent_memory.index.row import KINDS, RowMeta
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.top_k import floor_of_top, top_candidates

_DAY_US: Final = 86_400_000_000
# Far more than the rounding of a score, far less than any difference that matters.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A row that a search proposes; the memory itself decides.

    Attributes:
        version: the version the row was made from; an object that is older is not the one that was ranked.
        score: ``relevance + recency + importance``.
        relevance, recency, importance: the parts of the score, weights included.
        signals: what the relevance is the sum of, by name.
    """

    id: str
    kind: Kind
    version: int
    score: float
    relevance: float
    recency: float
    importance: float
    signals: Mapping[str, float]

    def explain(self) -> dict[str, float]:
        """Return the parts of the score by name, and after them the signals that the relevance is the sum of."""
        parts = {"relevance": self.relevance, "recency": self.recency, "importance": self.importance}
        return {**parts, **self.signals}


@dataclass(frozen=True, slots=True)
class _Mix:
    """Some candidates with the parts of their scores, one element each; ``places`` are theirs in the relevance."""

    places: Positions
    docs: Positions
    score: npt.NDArray[np.float64]
    relevance: npt.NDArray[np.float64]
    recency: npt.NDArray[np.float64]
    importance: npt.NDArray[np.float64]
    created_us: npt.NDArray[np.int64]


class _Sorted(NamedTuple):
    """One candidate in its order: its place in the relevance, document number, score and parts."""

    place: int
    doc: int
    score: float
    relevance: float
    recency: float
    importance: float


class Ranked:
    """The candidates of a search, best first; only as many are scored and sorted as are asked for.

    Ties are broken by creation, the older first, then by id.

    Attributes:
        count: how many candidates there are.
        is_capped: True if there would be more in an exhaustive search.
    """

    def __init__(self, snapshot: Snapshot, found: Relevance, *, ranking: Ranking, now_us: int) -> None:
        self.count = len(found.docs)
        self.is_capped = found.is_capped
        self._snapshot = snapshot
        self._found = found
        self._ranking = ranking
        self._now_us = now_us
        self._best = float(found.values.max(initial=0.0))
        # What turns a sum of signals into the relevance part of a score.
        self._scale = ranking.relevance / self._best if self._best > 0 else 0.0
        self._sorted: list[_Sorted] = []

    def top(self, start: int, stop: int) -> list[Candidate]:
        """Return the candidates at ranks ``start`` (from 0) to before ``stop``; fewer if there are no more."""
        stop = min(stop, self.count)
        if stop > len(self._sorted):
            self._sort(min(self.count, max(stop, 2 * len(self._sorted))))
        return [self._candidate(row) for row in self._sorted[start:stop]]

    def _sort(self, count: int) -> None:
        mix = self._score(self._within_reach(count))
        order = _best_first(self._snapshot, mix, top_candidates(mix.score, count))[:count]
        columns = (mix.places, mix.docs, mix.score, mix.relevance, mix.recency, mix.importance)
        self._sorted = [_Sorted(*row) for row in zip(*(column[order].tolist() for column in columns), strict=True)]

    def _within_reach(self, count: int) -> Positions:
        """Return the candidates that recency and importance, at most 1 each, could lift among the best ``count``."""
        if self._best <= 0 or self.count <= count:
            return np.arange(self.count)
        ranking = self._ranking
        unit = self._best / ranking.relevance if ranking.relevance else np.inf
        lift = (ranking.recency + ranking.importance) * unit
        floor = floor_of_top(self._found.values, count) - lift * (1 + _ROUNDING)
        return np.flatnonzero(self._found.values >= floor)

    def _score(self, places: Positions) -> _Mix:
        docs = self._found.docs[places]
        ranking = self._ranking
        created_us, kinds, importances = self._snapshot.columns(docs, "created_us", "kinds", "importances")
        relevance = self._found.values[places] * self._scale
        recency = ranking.recency * _recency(created_us, kinds, ranking, self._now_us)
        importance = ranking.importance * importances.astype(np.float64)
        return _Mix(places, docs, relevance + recency + importance, relevance, recency, importance, created_us)

    def _candidate(self, row: _Sorted) -> Candidate:
        memory_id, kind, version = self._snapshot.identity(row.doc)
        return Candidate(
            id=memory_id,
            kind=kind,
            version=version,
            score=row.score,
            relevance=row.relevance,
            recency=row.recency,
            importance=row.importance,
            signals={name: float(part[row.place]) * self._scale for name, part in self._found.parts.items()},
        )


def search(
    snapshot: Snapshot,
    query: Query | None,
    *,
    meaning: Meaning | None,
    kind: Kind | None,
    tags: tuple[str, ...],
    conditions: tuple[Condition, ...],
    ranking: Ranking,
    now_us: int,
    true_at: Moment | None = None,
    is_exhaustive: bool = False,
) -> Ranked:
    """Return the memories that match a query, ranked.

    The score is ``relevance * signals / best signals + recency * 0.5 ** (age / half-life) + importance * its own`` with
    the weights of ``ranking``; ``signals`` is their weighted sum, and the best one that of the eligible candidates.

    Args:
        query: None is the empty query: all eligible memories, by recency and importance alone. A query without a term
            finds only what its vector is near to.
        meaning: the query's vector and those of the memories, if there are any.
        kind, tags, conditions: what a candidate must satisfy; what the index cannot decide is left to the caller.
        now_us: the present, microseconds since the epoch; what has expired by then is not found.
        true_at: when a candidate must be true; None for whenever.
        is_exhaustive: leave out no candidate, however many there are.
    """
    eligibility = Eligibility(kind=kind, tags=tags, conditions=conditions, now_us=now_us, true_at=true_at)
    if query is None:
        docs = eligibility.docs(snapshot)
        found = Relevance(docs, np.zeros(len(docs)), {})
    else:
        found = relevance(
            snapshot,
            query,
            meaning=meaning,
            eligibility=eligibility,
            ranking=ranking,
            is_exhaustive=is_exhaustive,
        )
    return Ranked(snapshot, found, ranking=ranking, now_us=now_us)


def latest(
    snapshot: Snapshot,
    *,
    kind: Kind | None,
    tags: tuple[str, ...],
    conditions: tuple[Condition, ...],
    now_us: int,
    before: tuple[int, str] | None,
    limit: int,
    true_at: Moment | None = None,
) -> list[RowMeta]:
    """Return eligible memories, the most recently updated first, of equal times the greatest id first.

    Args:
        before: ``(updated_us, id)`` of the last row of the page before this one.
        limit: at most so many, at least 1.
        true_at: when they must be true; None for whenever.
    """
    wanted = Eligibility(kind=kind, tags=tags, conditions=conditions, now_us=now_us, true_at=true_at)
    docs = wanted.docs(snapshot)
    (updated_us,) = snapshot.columns(docs, "updated_us")
    if before is not None:
        is_before = updated_us < before[0]
        equal = np.flatnonzero(updated_us == before[0])
        is_before[equal] = [memory_id.decode() < before[1] for memory_id in snapshot.ids(docs[equal]).tolist()]
        docs, updated_us = docs[is_before], updated_us[is_before]
    index = top_candidates(updated_us, limit)
    order = np.lexsort((snapshot.ids(docs[index]), updated_us[index]))[::-1][:limit]
    return snapshot.rows_at(docs[index[order]])


def _recency(
    created_us: npt.NDArray[np.int64], kinds: npt.NDArray[np.uint8], ranking: Ranking, now_us: int
) -> npt.NDArray[np.float64]:
    """Return ``0.5 ** (age / half-life)``: 1 for what is new or never ages, 0.5 at the half-life of its kind."""
    age_days = np.maximum(now_us - created_us, 0) / _DAY_US
    return np.exp2(-age_days * _decay_per_day(ranking.half_life_days)[kinds])


def _decay_per_day(half_life_days: Mapping[Kind, float | None]) -> npt.NDArray[np.float64]:
    half_lives = [half_life_days.get(kind) for kind in KINDS]
    return np.array([0.0 if days is None else 1.0 / days for days in half_lives])


def _best_first(snapshot: Snapshot, mix: _Mix, index: Positions) -> Positions:
    """Return positions into ``mix`` by descending score, then ascending creation, then ascending id."""
    scores, created_us = mix.score[index], mix.created_us[index]
    order = np.lexsort((created_us, -scores))
    same = (scores[order[1:]] == scores[order[:-1]]) & (created_us[order[1:]] == created_us[order[:-1]])
    if same.any():
        # Ids are fetched only where nothing else tells two rows apart.
        order = np.lexsort((snapshot.ids(mix.docs[index]), created_us, -scores))
    return index[order]
