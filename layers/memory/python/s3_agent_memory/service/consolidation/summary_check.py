"""Whether a text that a model wrote still says what the texts said that it is to stand for."""

from collections.abc import Sequence
from typing import Final

from s3_agent_memory.index.near_duplicates.pairs import jaccard
from s3_agent_memory.index.near_duplicates.statement import statement_of
from s3_agent_memory.index.near_duplicates.words import NEGATIONS
from s3_agent_memory.index.text.analyzer import Analyzer

_TENSE: Final = "|"
# The share of the terms of each text that a summary must have.
_KEPT_SHARE_MIN: Final = 0.5
# The share of all terms, of the texts and of the summary, that both must have.
_COMMON_SHARE_MIN: Final = 0.5


def keeps_what_counts(summary: str, texts: Sequence[str], analyzer: Analyzer) -> bool:
    """Return True if a summary says what each text says, as far as their words can tell.

    It must have every number and every name of each text and deny what they deny, have half of the terms of each text,
    and share half of all terms with the texts together. Stop words are no terms. A word counts as a name if it begins
    with a capital letter in any of the texts, beyond their first words.

    Example:
        >>> keeps_what_counts("Alice has cats", ["Alice has 3 cats"], Analyzer())
        False
        >>> keeps_what_counts("Ok!", ["Alice has cats"], Analyzer())
        False
        >>> keeps_what_counts("Alice has got cats", ["Alice has cats"], Analyzer())
        True
    """
    kept = _counting(summary, analyzer.language)
    wanted = [_counting(text, analyzer.language) for text in texts]
    names = {word for text in texts for word in _names(text)}
    said = summary.casefold()
    is_kept = all(kept == item for item in wanted) and all(name in said for name in names)
    return is_kept and _shares_terms(summary, texts, analyzer)


def _shares_terms(summary: str, texts: Sequence[str], analyzer: Analyzer) -> bool:
    found = set(analyzer.terms(summary))
    terms = [set(analyzer.terms(text)) for text in texts]
    is_kept = all(len(item & found) >= _KEPT_SHARE_MIN * len(item) for item in terms)
    return is_kept and jaccard(found, set().union(*terms)) >= _COMMON_SHARE_MIN


def _counting(text: str, language: str) -> tuple[frozenset[str], bool]:
    """Return the numbers of a text, and whether it denies anything."""
    statement = statement_of(text, language)
    tokens = () if statement is None else statement.tokens
    lemmas = {token.partition(_TENSE)[0] for token in tokens}
    numbers = frozenset(token for token in tokens if any(letter.isdigit() for letter in token))
    return numbers, not NEGATIONS.isdisjoint(lemmas)


def _names(text: str) -> set[str]:
    words = [word.strip(".,;:!?\"'()") for word in text.split()[1:]]
    return {word.casefold() for word in words if len(word) > 1 and word[0].isupper() and not word.isupper()}
