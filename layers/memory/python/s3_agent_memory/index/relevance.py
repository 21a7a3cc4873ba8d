"""Relevance: the weighted sum of all signals, for the memories that words or meaning bring up.

Candidates are found by words (BM25 over windows) and, if there are vectors, by meaning. In a large namespace each way
proposes its best few thousand, and only these get the other signals; in a small one all candidates do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from s3_agent_memory.domain.ranking import Ranking
from s3_agent_memory.index import signals
from s3_agent_memory.index.bm25 import Scores, TermPostings, inverse_document_frequency, score_postings
from s3_agent_memory.index.eligibility import Eligibility
from s3_agent_memory.index.id_table import Positions
from s3_agent_memory.index.query import Query
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.text.expressions import TextFlag
from s3_agent_memory.index.top_k import top_candidates
from s3_agent_memory.index.window_bm25 import WindowShape, score_windows, windows_of

if TYPE_CHECKING:
    from s3_agent_memory.index.vectors.view import VectorView

WORD_CANDIDATE_COUNT: Final = 4_096
NEAR_CANDIDATE_COUNT: Final = 1_024

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Relevance:
    """Candidates, each with its relevance, always above 0, and the weighted signals that add up to it.

    Attributes:
        docs: document numbers, ascending.
        is_capped: True if there are candidates that were left out because there are so many.
    """

    docs: Positions
    values: Values
    parts: Mapping[str, Values]
    is_capped: bool = False


@dataclass(frozen=True, slots=True)
class Meaning:
    """The vector of a query, and those of the memories."""

    query: npt.NDArray[np.float32]
    vectors: VectorView


@dataclass(frozen=True, slots=True)
class _Words:
    """BM25 of a query.

    Attributes:
        windows: over windows, of eligible memories.
        own: over each memory's own text, of all: a conversation is known by turns that a filter leaves out, too.
        information: the sum of the inverse document frequencies of the query's terms.
    """

    windows: Scores
    own: Scores
    information: float

    def coverage(self) -> float:
        """Return how much of what the query asks for the best memory has, about 0 to 1."""
        return float(self.own.values.max(initial=0.0)) / self.information if self.information else 0.0


def relevance(
    snapshot: Snapshot,
    query: Query,
    *,
    meaning: Meaning | None,
    eligibility: Eligibility,
    ranking: Ranking,
    is_exhaustive: bool = False,
) -> Relevance:
    """Return the eligible memories that words or meaning bring up, with the weighted sum of their signals.

    Args:
        is_exhaustive: leave out no candidate, however many there are.
    """
    words = _score_words(snapshot, query, eligibility, ranking)
    word_count, near_count = WORD_CANDIDATE_COUNT, NEAR_CANDIDATE_COUNT
    if is_exhaustive:
        word_count = near_count = max(1, snapshot.doc_count)
    docs = words.windows.docs[top_candidates(words.windows.values, word_count)]
    is_capped = len(docs) < len(words.windows.docs)
    if meaning is not None and ranking.signals.cosine:
        is_eligible = eligibility.mask(snapshot)
        nearest = meaning.vectors.nearest(meaning.query, count=near_count, is_eligible=is_eligible)
        is_capped |= near_count < meaning.vectors.vector_count
        docs = np.sort(np.concatenate((docs, nearest)))
        docs = docs[np.diff(docs, prepend=-1) > 0]
    parts = _weighted(snapshot, docs, query, words=words, meaning=meaning, ranking=ranking)
    # What neither words nor meaning speak for is no candidate; the other signals only choose among candidates.
    is_found = sum((parts[name] for name in ("bm25", "cosine") if name in parts), np.zeros(len(docs))) > 0
    values = np.sum(list(parts.values()), axis=0)[is_found]
    return Relevance(docs[is_found], values, {name: part[is_found] for name, part in parts.items()}, is_capped)


def _score_words(snapshot: Snapshot, query: Query, eligibility: Eligibility, ranking: Ranking) -> _Words:
    k1, b = ranking.k1, ranking.b
    postings = TermPostings.of(snapshot, query.terms)
    own = score_postings(snapshot, postings, k1=k1, b=b)
    shape = WindowShape(ranking.signals.window_radius, ranking.signals.window_decay)
    windows = windows_of(snapshot, shape)
    information = float(inverse_document_frequency(postings.document_frequencies(), snapshot.live_count).sum())
    scores = own if windows is None else score_windows(snapshot, postings, windows, k1=k1, b=b)
    return _Words(_eligible(snapshot, scores, eligibility), own, information)


def _eligible(snapshot: Snapshot, scores: Scores, eligibility: Eligibility) -> Scores:
    kept = eligibility.keep(snapshot, scores.docs)
    return scores if kept is None else Scores(scores.docs[kept], scores.values[kept])


def _weighted(
    snapshot: Snapshot, docs: Positions, query: Query, *, words: _Words, meaning: Meaning | None, ranking: Ranking
) -> dict[str, Values]:
    """Return every signal of some documents times its weight; those that are 0 for all are left out."""
    weights = ranking.signals
    # Words that hardly match are no reason to pass over what means the same.
    trust = min(1.0, words.coverage() / weights.full_coverage) if meaning is not None and weights.full_coverage else 1.0
    parts = {"bm25": trust * weights.bm25 * _share_of_best(words.windows, docs)}
    if meaning is not None and weights.cosine:
        cosines = np.nan_to_num(meaning.vectors.cosines(meaning.query, docs)).astype(np.float64)
        # What means the opposite is no worse than what means nothing of the kind.
        parts["cosine"] = weights.cosine * np.maximum(0.0, cosines)
    if weights.author and query.names:
        named = signals.has_author(snapshot, docs, query.names)
        speaks_of_self = signals.has_flag(snapshot, docs, TextFlag.FIRST_PERSON)
        parts["author"] = named * (weights.author + weights.self_reference * speaks_of_self)
    elif weights.speaker and query.question.is_first_person:
        parts["author"] = weights.speaker * signals.has_author(snapshot, docs, [signals.USER_ROLE])
    if weights.date and query.question.date is not None:
        parts["date"] = weights.date * signals.is_from(snapshot, docs, query.question.date)
    if weights.answer and query.question.answer:
        parts["answer"] = weights.answer * signals.may_answer(snapshot, docs, query.question.answer)
    if weights.session and snapshot.session_links is not None:
        parts["session"] = trust * weights.session * signals.best_of_session(snapshot, docs, words.own)
    return parts


def _share_of_best(scores: Scores, docs: Positions) -> Values:
    """Return the scores of some documents, 0 where there is none, divided by the best of all."""
    if not len(scores.docs):
        return np.zeros(len(docs))
    place = np.minimum(np.searchsorted(scores.docs, docs), len(scores.docs) - 1)
    return np.where(scores.docs[place] == docs, scores.values[place] / scores.values.max(), 0.0)
