"""How many tokens a text has for a language model: an estimate that needs no vocabulary.

The measure is the ``cl100k_base`` encoding. That encoding cuts a text into words, groups of up to three digits, runs of
punctuation and runs of white space, then merges bytes inside each. The estimate cuts in the same way and charges each
piece what such a piece costs at most, less for the words of a text that reads like English; a character beyond ASCII
costs what its script costs. Measured against the encoding, texts in sixty languages, program code and random characters
are undercounted by less than 10 %; English is overcounted by about a fifth, program code by up to twice.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

_PIECE: Final = re.compile(
    r"(?P<word>[A-Za-z]+)|(?P<digits>[0-9]+)|(?P<marks>[!-/:-@\[-`{-~]+)|(?P<space>[\x00-\x20\x7f]+)|(?P<high>[^\x00-\x7f]+)"
)
# No vowel at all, or five consonants in a row: no word of English.
_UNPRONOUNCEABLE: Final = re.compile(r"[^aeiouy]{5}|^[^aeiouy]+$", re.IGNORECASE)
_COMMON_WORDS: Final = frozenset(
    """a about after all also am an and any are as at back be because been being but by can come could d did do does don
    even first for from get give go good had has have he her here him his how i if in into is it its just know like ll
    look love m make me more most much my new no not now of on one only or other our out over people re really s say see
    she so some t take than that the their them then there these they thing think this time to too two up us use ve very
    want was way we well were what when which who will with work would year you your""".split()
)
# With so many common words, and from this share of them on, a text reads like English.
_ENGLISH_COUNT_MIN: Final = 3
_ENGLISH_SHARE_MIN: Final = 0.25
_TOKENS_PER_LETTER: Final = 0.52
_TOKENS_PER_ODD_LETTER: Final = 0.68
_TOKENS_PER_MARK: Final = 0.7
_SPACES_PER_TOKEN: Final = 8
_DIGITS_PER_TOKEN: Final = 3
# First code point of a block of characters, and the tokens that one of them costs.
_RATES: Final = (
    (0x0080, 1.0),  # Latin letters of western Europe
    (0x0100, 1.5),
    (0x0180, 2.2),
    (0x0370, 1.1),  # Greek
    (0x0400, 2.2),  # Cyrillic beside that of Russian
    (0x0410, 0.7),  # Cyrillic of Russian
    (0x0450, 2.2),
    (0x0530, 2.0),  # Armenian
    (0x0590, 1.2),  # Hebrew
    (0x0600, 1.2),  # Arabic
    (0x0700, 2.0),
    (0x0800, 3.0),
    (0x0900, 1.2),  # Devanagari
    (0x0980, 1.4),  # Bengali
    (0x0A00, 2.0),
    (0x0B80, 1.5),  # Tamil
    (0x0C00, 2.1),
    (0x0E00, 1.1),  # Thai
    (0x0E80, 2.4),
    (0x0F00, 3.0),
    (0x1000, 2.2),  # Burmese
    (0x10A0, 2.1),  # Georgian
    (0x1100, 3.0),
    (0x1780, 1.9),  # Khmer
    (0x1800, 3.0),
    (0x1E00, 1.8),  # Latin letters of Vietnamese
    (0x2000, 1.2),  # Punctuation
    (0x2100, 2.0),
    (0x2E80, 3.0),
    (0x3000, 1.1),  # Kana
    (0x3100, 3.0),
    (0x4E00, 2.2),  # Chinese characters
    (0xA000, 3.0),
    (0xAC00, 2.4),  # Hangul
    (0xD7A4, 3.0),
    (0xFE00, 1.0),  # Variation selectors
    (0xFE10, 3.0),
    (0x10000, 4.0),
    (0x1F000, 3.0),  # Emoji
    (0x1FB00, 4.0),
)
_BLOCK_STARTS: Final[Sequence[int]] = [start for start, _ in _RATES]
_BLOCK_COSTS: Final[Sequence[float]] = [cost for _, cost in _RATES]


def estimate_tokens(text: str) -> int:
    """Return about how many ``cl100k_base`` tokens a text has, in practice never less than nine tenths of them.

    Example:
        >>> estimate_tokens("tiktoken is great!")  # The encoding itself makes 6 of it.
        9
    """
    pieces = list(_PIECE.finditer(text))
    words = [piece.group() for piece in pieces if piece.lastgroup == "word"]
    known_count = sum(word.lower() in _COMMON_WORDS for word in words)
    is_english = known_count >= max(_ENGLISH_COUNT_MIN, _ENGLISH_SHARE_MIN * len(words))
    return math.ceil(sum(_cost(text, piece, is_english=is_english) for piece in pieces))


def _cost(text: str, piece: re.Match[str], *, is_english: bool) -> float:
    chars = piece.group()
    match piece.lastgroup:
        case "word":
            return _word_cost(chars, is_english=is_english)
        case "digits":
            return math.ceil(len(chars) / _DIGITS_PER_TOKEN)
        case "marks":
            return max(1.0, _TOKENS_PER_MARK * len(chars))
        case "space":
            # One space belongs to what follows, unless that is a digit.
            is_free = chars == " " and not text[piece.end() : piece.end() + 1].isdigit()
            return 0.0 if is_free else 1.0 + len(chars) // _SPACES_PER_TOKEN
        case _:
            return sum(_BLOCK_COSTS[bisect_right(_BLOCK_STARTS, ord(char)) - 1] for char in chars)


def _word_cost(word: str, *, is_english: bool) -> float:
    is_plain = word[1:].islower() or len(word) == 1
    if is_plain and word.lower() in _COMMON_WORDS:
        return 1.0
    if not is_plain or _UNPRONOUNCEABLE.search(word):
        return max(1.0, _TOKENS_PER_ODD_LETTER * len(word))
    if is_english:
        return max(1.0, 0.6 + 0.12 * len(word))
    return max(1.0, _TOKENS_PER_LETTER * len(word))
