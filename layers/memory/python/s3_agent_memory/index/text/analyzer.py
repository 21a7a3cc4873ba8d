"""Text analysis: how a text, and in the same way a query, becomes terms."""

import re
import threading
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import Stemmer

from s3_agent_memory.errors import ValidationError
from s3_agent_memory.index.text import english
from s3_agent_memory.index.text.expressions import Question
from s3_agent_memory.index.text.scripts import digit_table, fold_accents, languages_by_script, run_pattern, script_of
from s3_agent_memory.index.text.stop_words import STOP_WORDS

ALGORITHM_VERSION: Final = 2
"""Raise it with every change that gives some text other terms: indexes of other versions are then rebuilt."""

WORD_LENGTH_MAX: Final = 64
_CACHE_SIZE: Final = 1 << 16

_ASCII_WORD: Final = re.compile("[a-z0-9]+")
_POSSESSIVE: Final = re.compile("['\u2019\u02bc]s\\b")
_SOFT_HYPHEN: Final = "\u00ad"


@dataclass(frozen=True, slots=True)
class Word:
    """The terms of one word (none for a stop word), and how much it adds to the length of a text.

    A word with accents has a second term without them but counts once; a run of a script without spaces counts as many
    words as it has terms.
    """

    terms: tuple[str, ...]
    length: int


_NO_WORD: Final = Word((), 0)


class Analyzer:
    """Turns text into terms: NFKC, case folding, words, stop words and Snowball stems; safe for many threads.

    Words of a script other than the language's are stemmed as English (Latin) or Russian (Cyrillic). Scripts without
    spaces, and Korean, become overlapping pairs of characters, so that any part of two characters or more is found.
    Accents are kept, and folded in a second term, so that ``café`` and ``cafe`` find each other.

    Example:
        >>> Analyzer().terms("The cafés of München")
        ['café', 'cafe', 'münchen', 'munchen']
    """

    def __init__(self, language: str = "english") -> None:
        """Prepare the analysis of texts that are mostly in ``language``.

        Raises:
            ValidationError: there is no stemmer for the language; the message lists those there are.
        """
        allowed = Stemmer.algorithms()
        if language not in allowed:
            raise ValidationError(f"language {language!r} is unknown; use one of: " + ", ".join(allowed))
        self.language = language
        self._languages = languages_by_script(language)
        self._stemmers = threading.local()
        # A word's terms depend on nothing else, so the threads may share them.
        self._word = lru_cache(maxsize=_CACHE_SIZE)(self._analyse_word)

    @property
    def signature(self) -> str:
        """Name of this analysis; two indexes can be merged iff theirs are equal."""
        return f"{self.language}/{ALGORITHM_VERSION}"

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text or query in order, with repetitions; none if it has only stop words or symbols."""
        return [term for word in self.words(text) for term in word.terms]

    def words(self, text: str) -> list[Word]:
        """Return the words of a text in order, stop words included as words without terms."""
        if text.isascii():
            bare = _POSSESSIVE.sub("", text.lower())
            return [self._word(word[:WORD_LENGTH_MAX]) for word in _ASCII_WORD.findall(bare)]
        return [
            _pairs(unspaced) if unspaced else self._word(word[:WORD_LENGTH_MAX])
            for unspaced, word in run_pattern().findall(_normalised(text))
        ]

    def flags(self, text: str) -> int:
        """Return what kinds of expression a text has, as bits of ``TextFlag``; 0 in a language without rules."""
        return english.text_flags(text) if self.language == "english" else 0

    def question(self, text: str) -> Question:
        """Return what a query asks for; nothing in a language without rules."""
        return english.read_question(text) if self.language == "english" else Question()

    def _analyse_word(self, word: str) -> Word:
        script = script_of(word)
        language = None if script is None else self._languages.get(script)
        if language is None:
            bare = fold_accents(word)
            return Word((word,) if bare == word else (word, bare), 1)
        stop_words = STOP_WORDS.get(language, frozenset())
        if word in stop_words:
            return _NO_WORD
        terms = [self._stem(word, language)]
        bare = fold_accents(word)
        if bare != word and bare not in stop_words:
            terms.append(self._stem(bare, language))
        return Word(tuple(dict.fromkeys(terms)), 1)

    def _stem(self, word: str, language: str) -> str:
        # A stemmer of PyStemmer must not be used by two threads at once.
        stemmer: Stemmer.Stemmer | None = getattr(self._stemmers, language, None)
        if stemmer is None:
            # The analyzer caches whole words; the stemmer need not.
            stemmer = Stemmer.Stemmer(language, 0)
            setattr(self._stemmers, language, stemmer)
        return str(stemmer.stemWord(word))


def _normalised(text: str) -> str:
    # Case folding can undo the normal form, so it is applied again.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _POSSESSIVE.sub("", folded.replace(_SOFT_HYPHEN, "").translate(digit_table()))


def _pairs(run: str) -> Word:
    terms = tuple(run[start : start + 2] for start in range(len(run) - 1)) or (run,)
    return Word(terms, len(terms))
