"""BM25 (Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond", section 3.4).

Statistics are exact over live rows: an index that grew by folds and deletions scores like one that was just rebuilt.
Only postings of the query's terms are touched, never an array over all rows.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from s3_agent_memory.index.segment_layout import posting_docs, posting_tfs
from s3_agent_memory.index.snapshot import Snapshot

# Far below any other addend; keeps 0 / 0 from happening where k1 is 0.
_TINY: Final = 1e-30


@dataclass(frozen=True, slots=True)
class Scores:
    """Document numbers, ascending, and the BM25 score of each; documents without a query term are not among them."""

    docs: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TermPostings:
    """The postings of a query, segment by segment: document number, frequency (0 if it is dead), index of the term.

    Attributes:
        counts: how often each term occurs in the query.
    """

    docs: npt.NDArray[np.int64]
    tfs: npt.NDArray[np.float32]
    terms: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, snapshot: Snapshot, terms: Sequence[int]) -> Self:
        """Return the postings of some terms, given by their hashes; one that is repeated counts once for each time."""
        counts = Counter(terms)
        hashes = np.sort(np.fromiter(counts, np.uint64, len(counts)))
        return cls(*_gather(snapshot, hashes), np.array([counts[term] for term in hashes.tolist()], np.int64))

    def document_frequencies(self) -> npt.NDArray[np.int64]:
        """Return how many live documents have each term."""
        return np.bincount(self.terms[self.tfs > 0], minlength=len(self.counts))

    def by_term(self) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]]:
        """Yield, term by term, the live documents that have it and its frequency in each."""
        # A query has far fewer terms than 65,536, and numbers of 16 bits are sorted in one pass.
        order = np.argsort(self.terms.astype(np.uint16), kind="stable")
        order = order[self.tfs[order] > 0]
        ends = self.terms[order].searchsorted(np.arange(len(self.counts)), "right").tolist()
        for start, end in zip([0, *ends], ends, strict=False):
            yield self.docs[order[start:end]], self.tfs[order[start:end]]


def score(snapshot: Snapshot, terms: Sequence[int], *, k1: float, b: float) -> Scores:
    """Return the BM25 scores of all live documents that have at least one of the terms.

    Args:
        terms: term hashes of the query; a term that is repeated counts once for each time.
        k1: how fast repeated terms of a document stop counting, at least 0.
        b: how much the length of a text counts, 0 to 1.
    """
    return score_postings(snapshot, TermPostings.of(snapshot, terms), k1=k1, b=b)


def score_postings(snapshot: Snapshot, postings: TermPostings, *, k1: float, b: float) -> Scores:
    """Return the BM25 scores of all live documents among some postings; see ``score``."""
    if not len(postings.docs):
        return Scores(np.zeros(0, np.int64), np.zeros(0))
    weights = inverse_document_frequency(postings.document_frequencies(), snapshot.live_count) * postings.counts
    average_length = max(1, snapshot.length_total) / max(1, snapshot.live_count)
    parts = saturation(postings.tfs, snapshot.lengths[postings.docs], average_length=average_length, k1=k1, b=b)
    parts *= weights.astype(np.float32)[postings.terms]
    return _sum_by_document(postings.docs, parts)


def inverse_document_frequency(
    document_frequency: npt.NDArray[np.number], document_count: int
) -> npt.NDArray[np.float64]:
    """Return ``ln(1 + (N - df + 0.5) / (df + 0.5))``, which is positive also for terms that most documents have."""
    idf: npt.NDArray[np.float64] = np.log1p((document_count + 0.5 - document_frequency) / (document_frequency + 0.5))
    return idf


def saturation(
    frequency: npt.NDArray[np.float32],
    length: npt.NDArray[np.unsignedinteger] | npt.NDArray[np.float32],
    *,
    average_length: float,
    k1: float,
    b: float,
) -> npt.NDArray[np.float32]:
    """Return ``tf (k1 + 1) / (tf + k1 (1 - b + b * length / average length))``, 0 where the frequency is 0."""
    norm: npt.NDArray[np.float32] = length * np.float32(k1 * b / average_length)
    norm += np.float32(k1 * (1 - b) + _TINY)
    norm += frequency
    saturated: npt.NDArray[np.float32] = frequency * np.float32(k1 + 1)
    saturated /= norm
    return saturated


def _gather(
    snapshot: Snapshot, hashes: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    lists: list[npt.NDArray[np.uint32]] = []
    terms: list[int] = []
    bases: list[int] = []
    # This loop runs for every segment: it asks numpy as little as it can.
    for segment, base in zip(snapshot.segments, snapshot.bases.tolist(), strict=False):
        for term, start, end in segment.find_terms(hashes):
            lists.append(segment.postings[start:end])
            terms.append(term)
            bases.append(base)
    if not lists:
        return np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.int64)
    counts = np.array([len(item) for item in lists])
    postings = np.concatenate(lists)
    docs = posting_docs(postings).astype(np.int64)
    docs += np.repeat(np.array(bases), counts)
    tfs = posting_tfs(postings).astype(np.float32)
    if len(snapshot.dead):
        tfs *= snapshot.is_live[docs]
    return docs, tfs, np.repeat(np.array(terms), counts)


def _sum_by_document(docs: npt.NDArray[np.int64], parts: npt.NDArray[np.float32]) -> Scores:
    """Return the sum of the parts of each document.

    Document number and part are sorted as one 64-bit number: lists of postings are sorted runs, which a stable sort
    only merges, and no array over all documents is needed. Sums in float64 do not depend on the order of the parts.
    Documents whose parts are all 0 are left out.
    """
    packed = docs.view(np.uint64) << np.uint64(32)
    packed |= parts.view(np.uint32)
    packed.sort(kind="stable")
    sorted_docs = packed >> np.uint64(32)
    is_first = np.ones(len(packed), np.bool_)
    np.not_equal(sorted_docs[1:], sorted_docs[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    values = np.add.reduceat(packed.astype(np.uint32).view(np.float32).astype(np.float64), starts)
    if not values.all():
        is_live = values > 0
        starts, values = starts[is_live], values[is_live]
    return Scores(sorted_docs[starts].view(np.int64), values)
