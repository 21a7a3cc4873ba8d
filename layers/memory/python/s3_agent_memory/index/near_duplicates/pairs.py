"""Which memories may say the same: pairs that the index proposes, by shared terms and by the nearness of vectors.

Proposing costs no request. It is generous, and only ``near_duplicates_text`` decides, on the texts themselves.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from s3_agent_memory.index.id_table import Positions
from s3_agent_memory.index.near_duplicates import words as english
from s3_agent_memory.index.near_duplicates.hashing import (
    HASH_COUNT,
    WeightedSets,
    neighbours,
    plane_bands,
    plane_sides,
    term_bands,
    term_signatures,
)
from s3_agent_memory.index.near_duplicates.statement import ENGLISH
from s3_agent_memory.index.segment_layout import posting_docs
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.terms import BODY, term_hash
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.index.vectors.view import VectorView

# Texts that say the same in other words share few of them: what is proposed in vain costs one read.
_JACCARD_MIN: Final = 0.3
_COSINE_MIN: Final = 0.75
# Of 384 planes, two vectors around their common centre differ in about 384 * angle / pi.
_DISTANCE_MAX: Final = 130
# A term that nobody shares tells texts apart, but may be a label of the memory instead of a word.
_LONELY_WEIGHT: Final = 0.1
_PAIR_BLOCK: Final = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class NearPairs:
    """Pairs of rows that may say the same.

    Attributes:
        left, right: document numbers, the first below the second; each pair once, in ascending order.
        compared: how many comparisons it took.
    """

    left: Positions
    right: Positions
    compared: int


def near_pairs(snapshot: Snapshot, docs: Positions, *, analyzer: Analyzer, vectors: VectorView | None) -> NearPairs:
    """Return pairs out of some rows that may say the same.

    Args:
        docs: ascending document numbers.
        analyzer: the text analysis of the index.
        vectors: those of the snapshot; None goes by terms alone.
    """
    codes = [np.zeros(0, np.int64)]
    compared = 0
    for found, count in (_pairs_by_terms(snapshot, docs, analyzer), _pairs_by_vectors(docs, vectors)):
        codes.append(found)
        compared += count
    left, right = np.divmod(np.unique(np.concatenate(codes)), max(1, len(docs)))
    return NearPairs(docs[left], docs[right], compared)


def jaccard(left: Iterable[str], right: Iterable[str]) -> float:
    """Return the share of common elements of two sets, 0 to 1; 1 for two empty ones."""
    first, second = set(left), set(right)
    return len(first & second) / len(first | second) if first or second else 1.0


def _pairs_by_terms(snapshot: Snapshot, docs: Positions, analyzer: Analyzer) -> tuple[Positions, int]:
    """Return codes of pairs (index of the left * rows + index of the right), and how many were compared."""
    sets, places = _term_sets(snapshot, docs, analyzer)
    if len(places) < 2:
        return np.zeros(0, np.int64), 0
    signatures = term_signatures(sets)
    agreeing_min = int(np.ceil(_JACCARD_MIN * HASH_COUNT))
    found, compared = [np.zeros(0, np.int64)], 0
    for left, right in neighbours(term_bands(signatures)):
        compared += len(left)
        for start in range(0, len(left), _PAIR_BLOCK):
            one, other = left[start : start + _PAIR_BLOCK], right[start : start + _PAIR_BLOCK]
            is_near = (signatures[one] == signatures[other]).sum(axis=1) >= agreeing_min
            found.append(places[one[is_near]] * len(docs) + places[other[is_near]])
    return np.unique(np.concatenate(found)), compared


def _pairs_by_vectors(docs: Positions, vectors: VectorView | None) -> tuple[Positions, int]:
    places, rows = (None, None) if vectors is None else vectors.first_windows(docs)
    if places is None or rows is None or len(places) < 2:
        return np.zeros(0, np.int64), 0
    sides = plane_sides(rows)
    words = sides.view(np.uint64)
    found, compared = [np.zeros(0, np.int64)], 0
    for left, right in neighbours(plane_bands(sides)):
        compared += len(left)
        for start in range(0, len(left), _PAIR_BLOCK):
            one, other = left[start : start + _PAIR_BLOCK], right[start : start + _PAIR_BLOCK]
            is_near = np.bitwise_count(words[one] ^ words[other]).sum(axis=1) <= _DISTANCE_MAX
            one, other = one[is_near], other[is_near]
            is_near = np.einsum("ij,ij->i", rows[one], rows[other]) >= _COSINE_MIN
            found.append(places[one[is_near]] * len(docs) + places[other[is_near]])
    return np.unique(np.concatenate(found)), compared


def _term_sets(snapshot: Snapshot, docs: Positions, analyzer: Analyzer) -> tuple[WeightedSets, Positions]:
    """Return the terms of each row that has any, and the index of that row in ``docs``."""
    parts = [_postings(snapshot, docs, segment_index) for segment_index in range(len(snapshot.segments))]
    rows = np.concatenate([np.zeros(0, np.int64), *(part[0] for part in parts)])
    hashes = np.concatenate([np.zeros(0, np.uint64), *(part[1] for part in parts)])
    vocabulary, terms = np.unique(hashes, return_inverse=True)
    vocabulary, terms = _with_synonyms(vocabulary, terms, analyzer)
    # Two words of one class in one text are one term.
    codes = np.unique(rows * max(1, len(vocabulary)) + terms)
    rows, terms = np.divmod(codes, max(1, len(vocabulary)))
    places, counts = np.unique(rows, return_counts=True)
    frequencies = np.maximum(1, np.bincount(terms, minlength=len(vocabulary)))
    weights = np.log1p(len(docs) / frequencies) * np.where(frequencies > 1, 1, _LONELY_WEIGHT)
    return WeightedSets(np.concatenate(([0], np.cumsum(counts))), terms, vocabulary, weights), places


def _postings(
    snapshot: Snapshot, docs: Positions, segment_index: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return the index in ``docs`` and the term of each posting of one segment."""
    segment = snapshot.segments[segment_index]
    base = int(snapshot.bases[segment_index])
    place_of_row = np.full(segment.row_count + 1, -1, np.int64)
    start, end = docs.searchsorted((base, base + segment.row_count)).tolist()
    place_of_row[docs[start:end] - base] = np.arange(start, end)
    places = place_of_row[posting_docs(segment.postings)]
    hashes = np.repeat(segment.term_hashes, segment.term_offsets[1:] - segment.term_offsets[:-1])
    is_wanted = places >= 0
    return places[is_wanted], hashes[is_wanted]


def _with_synonyms(
    vocabulary: npt.NDArray[np.uint64], terms: npt.NDArray[np.int64], analyzer: Analyzer
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Replace each term by the one that stands for its class."""
    classes = _class_hashes(analyzer)
    replaced = np.array([classes.get(term, term) for term in vocabulary.tolist()], np.uint64)
    merged, index = np.unique(replaced, return_inverse=True)
    return merged, index[terms]


def _class_hashes(analyzer: Analyzer) -> dict[int, int]:
    if analyzer.language not in ENGLISH:
        return {}
    found: dict[int, int] = {}
    for table in (english.VERBS, english.NOUNS, english.OTHERS):
        for first, words in english.classes(table):
            stands = [term_hash(BODY, term) for term in analyzer.terms(first)]
            for word in words:
                found.update((term_hash(BODY, term), stands[0]) for term in analyzer.terms(word) if stands)
    return found
