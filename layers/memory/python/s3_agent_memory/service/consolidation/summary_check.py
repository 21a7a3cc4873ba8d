"""Whether a text that a model wrote still says what the texts said that it is to stand for."""

from collections.abc import Sequence
from typing import Final

from s3_agent_memory.index.near_duplicates.statement import statement_of
from s3_agent_memory.index.near_duplicates.words import NEGATIONS

_TENSE: Final = "|"


def keeps_what_counts(summary: str, texts: Sequence[str], language: str) -> bool:
    """Return True if a summary has every number and every name of each text, and denies what they deny.

    A word counts as a name if it begins with a capital letter in any of the texts, beyond their first words.

    Example:
        >>> keeps_what_counts("Alice has cats", ["Alice has 3 cats"], "english")
        False
    """
    kept = _counting(summary, language)
    wanted = [_counting(text, language) for text in texts]
    names = {word for text in texts for word in _names(text)}
    said = summary.casefold()
    return all(kept == item for item in wanted) and all(name in said for name in names)


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
