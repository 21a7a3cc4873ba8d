"""What a text expresses and a question asks for, apart from its words: the same notions in every language."""

from dataclasses import dataclass
from enum import IntFlag


class TextFlag(IntFlag):
    """Kinds of expression in a text, as bits of one byte that is stored with its row."""

    NONE = 0
    TIME = 1
    NAME = 2
    NUMBER = 4
    FIRST_PERSON = 8


@dataclass(frozen=True, slots=True)
class DateRange:
    """A time that a question names.

    Attributes:
        year: None for the year of each memory itself.
        month: 1 to 12, None for a whole year.
        day: 1 to 31, None for a whole month.
    """

    year: int | None = None
    month: int | None = None
    day: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What a query asks for.

    Attributes:
        answer: the kinds of expression that an answer would have.
        is_first_person: True if it asks about the speaker ("my", "I").
        date: the time it names, or None.
    """

    answer: TextFlag = TextFlag.NONE
    is_first_person: bool = False
    date: DateRange | None = None
