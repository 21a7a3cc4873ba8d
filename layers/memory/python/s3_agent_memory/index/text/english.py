"""English rules: time, name and number expressions of a text, and what a question asks for."""

import re
from typing import Final

from s3_agent_memory.index.text.expressions import DateRange, Question, TextFlag

_MONTHS: Final = "january february march april may june july august september october november december".split()
_WEEKDAYS: Final = "monday tuesday wednesday thursday friday saturday sunday".split()
_TIME_WORDS: Final = (
    "yesterday today tonight tomorrow ago last next week weekend month year day morning recently just".split()
)
_NUMBER_WORDS: Final = "one two three four five six seven eight nine ten once twice couple few several many".split()


def _any_of(words: list[str]) -> str:
    return "|".join(words)


_TIME: Final = re.compile(rf"\b(?:{_any_of(_TIME_WORDS + _WEEKDAYS + _MONTHS)}|(?:19|20)\d\d)\b", re.IGNORECASE)
# A capital inside a sentence: after a lower-case word or a comma.
_NAME: Final = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_NUMBER: Final = re.compile(rf"\d|\b(?:{_any_of(_NUMBER_WORDS)})\b", re.IGNORECASE)
_FIRST_PERSON: Final = re.compile(r"\b(?:i|my|me|we|our)\b", re.IGNORECASE)
_TEXT_RULES: Final = (
    (_TIME, TextFlag.TIME),
    (_NAME, TextFlag.NAME),
    (_NUMBER, TextFlag.NUMBER),
    (_FIRST_PERSON, TextFlag.FIRST_PERSON),
)

_QUESTION_RULES: Final = (
    (re.compile(r"(?:when|how long|(?:what|which) (?:date|day|month|year))\b", re.IGNORECASE), TextFlag.TIME),
    (re.compile(r"(?:who|where|which)\b", re.IGNORECASE), TextFlag.NAME),
    (re.compile(r"how (?:many|much|long|often|old)\b", re.IGNORECASE), TextFlag.NUMBER),
)
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_MONTH: Final = re.compile(rf"\b(?:{_any_of(_MONTHS)})\b", re.IGNORECASE)
# A number is a day only beside a month: "10 books in March" names none.
_DAY: Final = re.compile(
    rf"\b(?:{_any_of(_MONTHS)})\s+([0-9]{{1,2}})(?:st|nd|rd|th)?\b"
    rf"|\b([0-9]{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{_any_of(_MONTHS)})\b",
    re.IGNORECASE,
)
_NUMBER_AHEAD: Final = re.compile(r"\s+\d")


def text_flags(text: str) -> TextFlag:
    """Return what kinds of expression a text has.

    Example:
        >>> text_flags("We moved to Boston last year")
        <TextFlag.TIME|NAME|FIRST_PERSON: 11>
    """
    flags = TextFlag.NONE
    for pattern, flag in _TEXT_RULES:
        if pattern.search(text):
            flags |= flag
    return flags


def read_question(text: str) -> Question:
    """Return what a query asks for.

    Example:
        >>> read_question("When did I move in May 2023?").date
        DateRange(year=2023, month=5, day=None)
    """
    text = text.strip()
    answer = TextFlag.NONE
    for pattern, flag in _QUESTION_RULES:
        if pattern.match(text):
            answer |= flag
    return Question(answer, _FIRST_PERSON.search(text) is not None, _read_date(text))


def _read_date(text: str) -> DateRange | None:
    years = [int(year) for year in _YEAR.findall(text)]
    year = years[0] if years else None
    months = [match for match in _MONTH.finditer(text) if _is_month(match)]
    if not months:
        return None if year is None else DateRange(year)
    month = _MONTHS.index(months[0].group().lower()) + 1
    days = [day for pair in _DAY.findall(text) for day in map(int, filter(None, pair)) if 1 <= day <= 31]
    return DateRange(year, month, days[0] if len(days) == 1 else None)


def _is_month(match: re.Match[str]) -> bool:
    """Return False for "may" as a verb: not capitalised, or the first word of a question and no number after it."""
    if match.group().lower() != "may":
        return True
    is_first = match.start() == 0 and not _NUMBER_AHEAD.match(match.string, match.end())
    return match.group()[0] == "M" and not is_first
