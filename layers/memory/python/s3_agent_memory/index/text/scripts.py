"""Writing systems: which characters form a run, and which language a word of a script is stemmed in."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Final

LATIN: Final = "latin"
CYRILLIC: Final = "cyrillic"

# Scripts written without spaces between words (Korean attaches endings), as ranges of a regular expression's class.
_UNSPACED: Final = (
    "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd",  # Han
    "\u3041-\u309f",  # Hiragana
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff",  # Katakana, with the prolonged sound mark
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7a3\ud7b0-\ud7ff",  # Hangul
    "\u0e01-\u0e3a\u0e40-\u0e4e",  # Thai
    "\u0e81-\u0ecd\u0edc-\u0edf",  # Lao
    "\u1000-\u103f\u1050-\u108f\u109a-\u109f\ua9e0-\ua9ef\uaa60-\uaa7f",  # Myanmar
    "\u1780-\u17d3\u17dc-\u17dd",  # Khmer
)

_SCRIPTS: Final = (
    (LATIN, re.compile("[a-z\u00aa-\u024f\u1e00-\u1eff\u2c60-\u2c7f\ua720-\ua7ff]")),
    (CYRILLIC, re.compile("[\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f]")),
    ("greek", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("arabic", re.compile("[\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff]")),
    ("hebrew", re.compile("[\u0590-\u05ff]")),
    ("armenian", re.compile("[\u0530-\u058f]")),
    ("devanagari", re.compile("[\u0900-\u097f]")),
    ("tamil", re.compile("[\u0b80-\u0bff]")),
)

_LANGUAGE_SCRIPTS: Final[Mapping[str, tuple[str, ...]]] = {
    "arabic": ("arabic",),
    "armenian": ("armenian",),
    "greek": ("greek",),
    "hindi": ("devanagari",),
    "nepali": ("devanagari",),
    "persian": ("arabic",),
    "russian": (CYRILLIC,),
    "serbian": (CYRILLIC, LATIN),
    "tamil": ("tamil",),
    "yiddish": ("hebrew",),
}

# Where combining marks and digits lie; ideographs, Hangul and private use, which have neither, are skipped.
_SCANNED: Final = (range(0x0300, 0x3400), range(0xA000, 0xAC00), range(0xF900, 0xFFFF), range(0x10A00, 0x11FFF))
# Emoji styles and keycaps decorate a character; they are no part of a word.
_DECORATION: Final = re.compile("[\u20d0-\u20ff\ufe00-\ufe0f]")

# Scripts in which a mark is an accent that people leave out when they type; elsewhere it is a letter of its own.
_ACCENTED: Final = re.compile("[a-z\u00aa-\u052f\u0590-\u06ff\u1e00-\u1fff\u2c60-\u2dff\ua640-\ua7ff]")
# The breve makes й another letter than и.
_LETTER_BREVE: Final = re.compile("\u0438\u0306")
_UNDECOMPOSED: Final = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t"}
)


def languages_by_script(language: str) -> dict[str, str]:
    """Return the language in which words of each script are stemmed when texts are mostly in ``language``.

    Latin and Cyrillic words in a text of another script are taken for English and Russian.
    """
    own = dict.fromkeys(_LANGUAGE_SCRIPTS.get(language, (LATIN,)), language)
    return {LATIN: "english", CYRILLIC: "russian", **own}


def script_of(word: str) -> str | None:
    """Return the script a case-folded word starts in, None for one that has no stemmer (and for numbers)."""
    return next((name for name, pattern in _SCRIPTS if pattern.match(word)), None)


def fold_accents(word: str) -> str:
    """Return the word without accents; a word of a script where marks are letters comes back unchanged.

    Example:
        >>> fold_accents("café"), fold_accents("сергей"), fold_accents("ёлка")
        ('cafe', 'сергей', 'елка')
    """
    if not _ACCENTED.match(word):
        return word
    kept = _LETTER_BREVE.sub("\u0439", unicodedata.normalize("NFD", word))
    bare = "".join(character for character in kept if unicodedata.category(character) != "Mn")
    return unicodedata.normalize("NFC", bare).translate(_UNDECOMPOSED)


@cache
def run_pattern() -> re.Pattern[str]:
    """Return the pattern of a run: group 1 is text in one unspaced script, group 2 a word of any other script."""
    marks = "".join(re.escape(chr(code)) for code in _codes("M") if not _DECORATION.match(chr(code)))
    letter = f"[^\\W_{''.join(_UNSPACED)}]"
    unspaced = "|".join(f"[{ranges}]+" for ranges in _UNSPACED)
    return re.compile(f"({unspaced})|({letter}+(?:[{marks}]+{letter}*)*)")


@cache
def digit_table() -> Mapping[int, str]:
    """Return the translation of decimal digits of all scripts to ``0`` to ``9``."""
    return {code: str(unicodedata.digit(chr(code))) for code in _codes("Nd")}


def _codes(category: str) -> list[int]:
    return [code for scanned in _SCANNED for code in scanned if unicodedata.category(chr(code)).startswith(category)]
