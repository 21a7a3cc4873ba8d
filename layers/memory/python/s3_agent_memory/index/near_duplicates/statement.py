"""What a text says, in a form that two texts share iff they say the same: how consolidation tells duplicates.

A model's vectors and shared words only propose pairs of memories; neither tells "likes" from "dislikes" or "Bob paid
Alice" from "Alice paid Bob". Here nothing is forgiven but what is known not to matter: case, punctuation, spelling
variants, and in English words and turns of phrase that say the same. Equality of forms is transitive, so that groups
never chain from one statement to another.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from s3_agent_memory.index.near_duplicates import words as english
from s3_agent_memory.index.near_duplicates.english import canonical_sentence

ENGLISH: Final = frozenset({"english", "porter"})
_APOSTROPHES: Final = str.maketrans("\u2019\u02bc\u2018\u00b4`", "'''''")
_DASHES: Final = str.maketrans("\u2010\u2011\u2012\u2013\u2014\u2212", "------")
# Normalisation makes plain digits and signs of raised and lowered ones: "10\u2075" would be "105".
_RAISED: Final = re.compile("[\u00b2\u00b3\u00b9\u2070-\u207f]+")
_LOWERED: Final = re.compile("[\u2080-\u209c]+")
# "--force" or "-v": a dash that belongs to the word.
_OPTION: Final = re.compile(r"--+\w.*|-[^\W\d].*")
_QUOTES: Final = '"()[]{}\u201c\u201d\u00ab\u00bb'
# Signs that end a sentence; only a question mark changes what is said.
_STOPS: Final = ".!;\u2026"
_TRAILING: Final = _STOPS + ":,"
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CLOCK: Final = re.compile(r"(\d{1,2})(?::(\d\d))?([ap])\.?m\.?")
_AMOUNT: Final = re.compile(r"([$\u20ac\u00a3]?)(\d[\d.:]*?)(%?)")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_CACHE_SIZE: Final = 4_096
# A longer text is a document, of which two are never the same for saying much the same.
WORD_COUNT_MAX: Final = 400


@dataclass(frozen=True, slots=True)
class Statement:
    """What a text says.

    Attributes:
        tokens: equal for texts that say the same; never empty.
        spelled: words whose capitals may matter (``aB3``, ``IT``); None for a text that is in one case all through.
    """

    tokens: tuple[str, ...]
    spelled: frozenset[str] | None


@lru_cache(maxsize=_CACHE_SIZE)
def statement_of(text: str, language: str) -> Statement | None:
    """Return what a text says, or None if it has no words, or too many.

    Args:
        language: of the index's text analysis; only English has rules beyond case and punctuation.

    Example:
        >>> statement_of("Bob doesn't like tea!", "english") == statement_of("Bob dislikes tea", "english")
        True
        >>> statement_of("Bob likes tea", "english") == statement_of("Bob likes coffee", "english")
        False
    """
    normal = unicodedata.normalize("NFKC", _with_marks(text)).translate(_APOSTROPHES).translate(_DASHES)
    chunks = normal.split()
    if not chunks or len(chunks) > WORD_COUNT_MAX:
        return None
    tokens: list[str] = []
    for sentence in _sentences(chunks):
        words = _with_dates(sentence) if language in ENGLISH else sentence
        said = canonical_sentence(words) if language in ENGLISH else [word for word in words if word != ","]
        tokens.extend([*said, "."] if said else [])
    return Statement(tuple(tokens[:-1]), _spelled(normal, chunks)) if tokens else None


def _with_marks(text: str) -> str:
    """Write a mark before what is raised or lowered, because normalisation makes them plain."""
    return _LOWERED.sub(r"_\g<0>", _RAISED.sub(r"^\g<0>", text))


def _spelled(text: str, chunks: Sequence[str]) -> frozenset[str] | None:
    if text in (text.lower(), text.upper(), text.title()):
        return None
    words = (chunk.strip(_QUOTES + _TRAILING + "'?-") for chunk in chunks)
    return frozenset(word for word in words if _may_matter(word))


def _may_matter(word: str) -> bool:
    is_code = any(letter.isdigit() for letter in word) and any(letter.isalpha() for letter in word)
    is_camel = word[1:] != word[1:].lower() and word != word.upper()
    is_shouted = len(word) > 1 and word.isupper() and word.lower() in english.PREPOSITIONS | {"it", "us", "who", "am"}
    return (is_code and word != word.lower()) or is_camel or is_shouted


def _sentences(chunks: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words of each sentence, in lower case, with commas and question marks as words of their own."""
    words: list[str] = []
    for number, chunk in enumerate(chunks):
        bare = chunk.strip(_QUOTES)
        core = bare.rstrip(_TRAILING + "?" + _QUOTES + "'") or ""
        if core.endswith("s") and bare[len(core) : len(core) + 1] == "'":
            core += "'"
        ending = bare[len(core) :]
        words.extend(_words(core.lstrip(_QUOTES + "'" if not core.startswith("'til") else _QUOTES)))
        if "?" in ending:
            words.append("?")
        is_last = number + 1 == len(chunks)
        if is_last or _ends_sentence(core, ending, chunks[number + 1]):
            yield words
            words = []
        elif "," in ending or ":" in ending:
            words.append(",")
    if words:
        yield words


def _ends_sentence(core: str, ending: str, following: str) -> bool:
    if any(sign in ending for sign in "!;?\u2026"):
        return True
    # "Dr." and "J." go on.
    is_short = len(core) == 1 or core.casefold() in ("dr", "mr", "mrs", "ms", "st", "vs", "etc", "e.g", "i.e", "prof")
    return "." in ending and not is_short and following[:1].isupper() | (following[:1] in "'\"(") | (len(core) > 3)


def _words(chunk: str) -> Iterator[str]:
    word = _THOUSANDS.sub("", chunk.casefold())
    if not word:
        return
    clock = _CLOCK.fullmatch(word)
    amount = _AMOUNT.fullmatch(word)
    if clock:
        hour = int(clock[1]) % 12 + (12 if clock[3] == "p" else 0)
        yield f"{hour:02d}:{clock[2] or '00'}"
    elif _DATE.fullmatch(word):
        yield f"date:{word}"
    elif amount:
        yield from (part for part in (amount[1], amount[2], amount[3]) if part)
    elif _OPTION.fullmatch(word):
        yield word
    elif all(letter.isalpha() or letter in "'-" or unicodedata.combining(letter) for letter in word):
        yield from (part for part in word.split("-") if part) if word.strip("-") else ()
    else:
        # An address, a path, code, an emoji: as it stands.
        yield word


def _with_dates(words: list[str]) -> list[str]:
    """Write "3 March 2024", "March 3rd, 2024" and "3 pm" in one way each."""
    result: list[str] = []
    place = 0
    while place < len(words):
        length, date = _date_at(words, place)
        result.append(date or words[place])
        place += length or 1
    return result


def _date_at(words: list[str], place: int) -> tuple[int, str]:
    """Return how many words from here are a date or a time of day, and what it is; 0 if they are none."""
    here = words[place]
    next_word = words[place + 1] if place + 1 < len(words) else ""
    if next_word in ("am", "pm", "a.m", "p.m") and (clock := _CLOCK.fullmatch(here + next_word)):
        hour = int(clock[1]) % 12 + (12 if clock[3] == "p" else 0)
        return 2, f"{hour:02d}:{clock[2] or '00'}"
    if here in english.MONTHS and (day := _day(next_word)):
        month, length = english.MONTHS[here], 2
    elif (day := _day(here)) and next_word in english.MONTHS:
        month, length = english.MONTHS[next_word], 2
    elif (day := _day(here)) and next_word == "of" and "".join(words[place + 2 : place + 3]) in english.MONTHS:
        month, length = english.MONTHS[words[place + 2]], 3
    else:
        return 0, ""
    rest = words[place + length : place + length + 2]
    skipped = 1 if rest[:1] == [","] else 0
    year = rest[skipped] if len(rest) > skipped else ""
    if len(year) == 4 and year.isdigit():
        return length + skipped + 1, f"date:{year}-{month}-{day}"
    return length, f"date:{month}-{day}"


def _day(word: str) -> str:
    digits = word[:-2] if word[-2:] in ("st", "nd", "rd", "th") else word
    return f"{int(digits):02d}" if digits.isascii() and digits.isdigit() and 1 <= int(digits[:4]) <= 31 else ""
