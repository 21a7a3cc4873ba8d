"""Signals of relevance beside words and vectors: who wrote a memory, when, what it expresses, and its conversation.

Each function gives one number from 0 to 1 for each of some documents; how much it counts is ``domain.ranking.Signals``.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from s3_agent_memory.index.bm25 import Scores, TermPostings
from s3_agent_memory.index.id_table import Positions
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.terms import AUTHOR_WORD, term_hash
from s3_agent_memory.index.text.expressions import DateRange, TextFlag

Values = npt.NDArray[np.float64]

USER_ROLE: Final = term_hash(AUTHOR_WORD, "user")
_DAY_US: Final = 86_400_000_000
_EPOCH_YEAR: Final = 1970
_MONTH_HALF_DAYS: Final = 16
_DAY_HALF_DAYS: Final = 3
_FADE_DAYS: Final = 14
_MIDDLE_OF_MONTH: Final = 15
_SESSION_DOC_COUNT_MAX: Final = 50_000


def has_author(snapshot: Snapshot, docs: Positions, names: Sequence[int]) -> Values:
    """Return 1 for documents whose author's name has one of some terms; 0 for all if all memories have such an author.

    Args:
        docs: document numbers, ascending.
        names: hashes of terms of names.
    """
    is_named = np.zeros(snapshot.doc_count, np.bool_)
    is_named[TermPostings.of(snapshot, names).docs] = True
    is_named &= snapshot.is_live
    if np.count_nonzero(is_named) == snapshot.live_count:
        return np.zeros(len(docs))
    return is_named[docs].astype(np.float64)


def has_flag(snapshot: Snapshot, docs: Positions, flag: TextFlag) -> Values:
    """Return 1 for documents whose text has an expression of a kind."""
    (flags,) = snapshot.columns(docs, "flags")
    return ((flags & np.uint8(flag)) > 0).astype(np.float64)


def may_answer(snapshot: Snapshot, docs: Positions, answer: TextFlag) -> Values:
    """Return ``1 - share`` for documents with an expression of a kind that would answer, the most of several kinds.

    The share is that of all memories with such an expression: one that most have tells nothing.
    """
    values = np.zeros(len(docs))
    for kind in answer:
        selectivity = 1.0 - snapshot.share_with_flag(kind)
        np.maximum(values, has_flag(snapshot, docs, kind) * selectivity, out=values)
    return values


def is_from(snapshot: Snapshot, docs: Positions, date: DateRange) -> Values:
    """Return how well the creation of documents fits a time: 1 within it, then fading by ``exp(-days / 14)``.

    A month reaches 16 days from its 15th, a day 3 days to each side; a month without a year is that of each memory's
    own year. Of a whole year nothing fades.
    """
    (created_us,) = snapshot.columns(docs, "created_us")
    years = created_us.astype("datetime64[us]").astype("datetime64[Y]").astype(np.int64)
    wanted = years if date.year is None else np.full(len(docs), date.year - _EPOCH_YEAR)
    if date.month is None:
        is_same: Values = (years == wanted).astype(np.float64)
        return is_same
    day = _MIDDLE_OF_MONTH if date.day is None else date.day
    half_days = _MONTH_HALF_DAYS if date.day is None else _DAY_HALF_DAYS
    months = wanted * 12 + date.month - 1
    centres = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) + day - 1
    distance_days = np.abs(created_us - centres * _DAY_US) // _DAY_US
    fit: Values = np.exp(-np.maximum(0, distance_days - half_days) / _FADE_DAYS)
    return fit


def best_of_session(snapshot: Snapshot, docs: Positions, scores: Scores) -> Values:
    """Return the best score among the turns of each document's conversation, divided by the best of all.

    Args:
        scores: of the memories' own texts. Of very many only the best are looked at.
    """
    kept = _best(scores, _SESSION_DOC_COUNT_MAX)
    (scored_sessions,) = snapshot.columns(kept.docs, "sessions")
    is_turn = scored_sessions > 0
    if not is_turn.any():
        return np.zeros(len(docs))
    sessions, values = scored_sessions[is_turn], kept.values[is_turn]
    order = np.argsort(sessions, kind="stable")
    names, starts = np.unique(sessions[order], return_index=True)
    best = np.maximum.reduceat(values[order], starts) / kept.values.max()
    (wanted,) = snapshot.columns(docs, "sessions")
    place = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
    return np.where(names[place] == wanted, best[place], 0.0)


def _best(scores: Scores, count: int) -> Scores:
    if len(scores.docs) <= count:
        return scores
    floor = np.partition(scores.values, len(scores.values) - count)[len(scores.values) - count]
    is_kept = scores.values >= floor
    return Scores(scores.docs[is_kept], scores.values[is_kept])
