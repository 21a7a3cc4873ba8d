"""The ranking of a recall by brute force: the formulas of the documentation over all memories, in plain Python."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from s3_agent_memory.domain.clock import to_us
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.index.text.analyzer import Analyzer

K1, B = 0.9, 0.4
RELEVANCE, RECENCY, IMPORTANCE = 0.7, 0.15, 0.15
HALF_LIFE_DAYS = {Kind.EPISODIC: 30, Kind.SEMANTIC: 180}
DAY_US = 86_400_000_000
ANALYZER = Analyzer()


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one memory and its parts."""

    relevance: float
    recency: float
    importance: float

    @property
    def total(self) -> float:
        return self.relevance + self.recency + self.importance


def scores(
    memories: Collection[Memory], bm25: Mapping[str, float], *, best: float, is_empty_query: bool, now_us: int
) -> dict[str, Score]:
    """Return the score of each of some memories that a recall must find, by id.

    Args:
        bm25: the BM25 scores of all memories that have a term of the query.
        best: the BM25 score that has the relevance 1.
    """
    return {
        memory.id: Score(
            relevance=RELEVANCE * bm25.get(memory.id, 0.0) / best,
            recency=RECENCY * recency(memory, now_us),
            importance=IMPORTANCE * memory.importance,
        )
        for memory in memories
        if is_empty_query or memory.id in bm25
    }


def bm25_scores(memories: Iterable[Memory], query: str) -> dict[str, float]:
    """Return the BM25 score of every memory that has a term of the query.

    Args:
        memories: all there are, for they decide which words are rare; expired ones are among them until pruned.
    """
    # The name of the author is searched like the text.
    words = {
        memory.id: ANALYZER.words(memory.attribution.author or "") + ANALYZER.words(memory.content)
        for memory in memories
    }
    lengths = {memory_id: sum(word.length for word in found) for memory_id, found in words.items()}
    counts = {memory_id: Counter(term for word in found for term in word.terms) for memory_id, found in words.items()}
    average_length = sum(lengths.values()) / max(1, len(lengths)) or 1.0
    frequencies = Counter(term for found in counts.values() for term in found)
    totals: dict[str, float] = {}
    for memory_id, found in counts.items():
        norm = K1 * (1 - B + B * lengths[memory_id] / average_length)
        for term in ANALYZER.terms(query):
            if term in found:
                df, tf = frequencies[term], found[term]
                idf = math.log(1 + (len(counts) - df + 0.5) / (df + 0.5))
                totals[memory_id] = totals.get(memory_id, 0.0) + idf * tf * (K1 + 1) / (tf + norm)
    return totals


def recency(memory: Memory, now_us: int) -> float:
    """Return 1 for what is new or does not age, and a half at the half-life of its kind."""
    half_life = HALF_LIFE_DAYS.get(memory.kind)
    age_days = max(0, now_us - to_us(memory.created_at)) / DAY_US
    return 1.0 if half_life is None else 0.5 ** (age_days / half_life)


def best_first(found: Mapping[str, Score], memories: Mapping[str, Memory]) -> list[str]:
    """Return ids by descending score; of equal scores the older memory first, then the lower id."""
    return sorted(found, key=lambda memory_id: (-found[memory_id].total, memories[memory_id].created_at, memory_id))
