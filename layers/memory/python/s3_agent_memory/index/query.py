"""Reading a query against a snapshot: which words to look for, which authors it names, what it asks for.

The names of authors select by author, so they are no search words; and a word that a large share of all memories have
says nothing about any of them. Both are left out, of the text that is embedded too, unless nothing would be left that
any memory has.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np

from s3_agent_memory.domain.ranking import Signals
from s3_agent_memory.index.bm25 import TermPostings
from s3_agent_memory.index.eligibility import Eligibility
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.terms import AUTHOR_WORD, BODY, term_hash
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.index.text.expressions import Question

_PIECE: Final = re.compile(r"[^\W_]+(?:['’]s\b)?")
_SPACE: Final = re.compile(r"\s+")
# A shorter word is too often something else than a name.
_NAME_LENGTH_MIN: Final = 3
# Shares mean nothing among a handful of memories.
_COMMON_COUNT_MIN: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query as understood.

    Attributes:
        text: what is embedded: the query without the words that are left out.
        terms: hashes of the terms to look for, repeated as in the query.
        names: hashes of the terms that are (parts of) names of authors.
        question: what it asks for.
    """

    text: str
    terms: tuple[int, ...]
    names: tuple[int, ...] = ()
    question: Question = field(default_factory=Question)

    @classmethod
    def of_terms(cls, terms: Sequence[str]) -> Self:
        """Return the query for some terms and nothing else."""
        return cls(text=" ".join(terms), terms=_hashes(BODY, terms))


def read_query(
    text: str, snapshot: Snapshot, *, analyzer: Analyzer, signals: Signals, eligibility: Eligibility | None = None
) -> Query:
    """Return what a query means among the memories of a snapshot.

    Args:
        eligibility: what may be found at all; None allows everything.
    """
    terms = analyzer.terms(text)
    names = _named(terms, snapshot) if signals.author else frozenset()
    dropped = names | _common(terms, snapshot, signals.common_share)
    cleaned = _without(text, dropped, analyzer) if dropped else text
    kept = analyzer.terms(cleaned) if dropped else terms
    if dropped and not _has_match(_hashes(BODY, kept), snapshot, eligibility):
        cleaned, kept = text, terms
    return Query(
        text=cleaned,
        terms=_hashes(BODY, kept),
        names=_hashes(AUTHOR_WORD, sorted(names)),
        question=analyzer.question(text),
    )


def _named(terms: Sequence[str], snapshot: Snapshot) -> frozenset[str]:
    candidates = sorted({term for term in terms if len(term) >= _NAME_LENGTH_MIN or not term.isascii()})
    return _with_frequency_above(AUTHOR_WORD, candidates, snapshot, 0)


def _common(terms: Sequence[str], snapshot: Snapshot, share: float) -> frozenset[str]:
    if share >= 1 or snapshot.live_count < _COMMON_COUNT_MIN:
        return frozenset()
    return _with_frequency_above(BODY, sorted(set(terms)), snapshot, share * snapshot.live_count)


def _with_frequency_above(field_name: str, terms: Sequence[str], snapshot: Snapshot, floor: float) -> frozenset[str]:
    """Return the terms that more than ``floor`` live memories have in a field."""
    term_of_hash = {term_hash(field_name, term): term for term in terms}
    frequencies = TermPostings.of(snapshot, list(term_of_hash)).document_frequencies().tolist()
    # Postings number their terms by ascending hash.
    counted = zip(sorted(term_of_hash), frequencies, strict=True)
    return frozenset(term_of_hash[item] for item, frequency in counted if frequency > floor)


def _has_match(terms: Sequence[int], snapshot: Snapshot, eligibility: Eligibility | None) -> bool:
    """Return True if a live memory that may be found has one of the terms."""
    has_term = np.zeros(snapshot.doc_count, np.bool_)
    has_term[TermPostings.of(snapshot, terms).docs] = True
    docs = np.flatnonzero(has_term & snapshot.is_live)
    kept = None if eligibility is None else eligibility.keep(snapshot, docs)
    return bool(len(docs)) if kept is None else bool(kept.any())


def _without(text: str, dropped: frozenset[str], analyzer: Analyzer) -> str:
    def keep(match: re.Match[str]) -> str:
        # A run of a script without spaces has many terms, and is more than the common ones among them.
        terms = set(analyzer.terms(match.group()))
        return "" if terms and terms <= dropped else match.group()

    return _SPACE.sub(" ", _PIECE.sub(keep, text)).strip()


def _hashes(field_name: str, terms: Sequence[str]) -> tuple[int, ...]:
    return tuple(term_hash(field_name, term) for term in terms)
