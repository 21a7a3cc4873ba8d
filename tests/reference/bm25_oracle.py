"""BM25 and the ranking written a second time, in plain Python, straight from their definitions."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from s3_agent_memory.domain.ranking import Ranking
from s3_agent_memory.index.row import Row

DAY_US = 86_400_000_000


def live_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the row of the highest rank for each id (the last of equal ones), deletions left out."""
    kept: dict[str, Row] = {}
    for row in rows:
        if row.id not in kept or row.rank >= kept[row.id].rank:
            kept[row.id] = row
    return [row for row in kept.values() if not row.is_deleted]


def bm25(rows: Sequence[Row], query: Sequence[int], *, k1: float, b: float) -> dict[str, float]:
    """Return the score of every row that has a term of the query."""
    frequencies = Counter(term for row in rows for term in row.terms)
    average_length = sum(row.length for row in rows) / max(1, len(rows))
    scores: dict[str, float] = {}
    for row in rows:
        for term in query:
            if term in row.terms:
                df, tf = frequencies[term], row.terms[term]
                idf = math.log(1 + (len(rows) - df + 0.5) / (df + 0.5))
                norm = k1 * (1 - b + b * row.length / average_length) if average_length else k1 * (1 - b)
                scores[row.id] = scores.get(row.id, 0.0) + idf * tf * (k1 + 1) / (tf + norm)
    return scores


def ranked(
    rows: Sequence[Row], scores: Mapping[str, float], *, ranking: Ranking, now_us: int
) -> list[tuple[float, int, str]]:
    """Return (-score, created, id) of the rows that have a score, best first."""
    best = max(scores.values(), default=0.0)
    found = []
    for row in rows:
        if row.id in scores:
            half_life = ranking.half_life_days[row.kind]
            age_days = max(0, now_us - row.created_us) / DAY_US
            recency = 1.0 if half_life is None else 0.5 ** (age_days / half_life)
            relevance = scores[row.id] / best if best else 0.0
            score = ranking.relevance * relevance + ranking.recency * recency + ranking.importance * row.importance
            found.append((-score, row.created_us, row.id))
    return sorted(found)
