"""Values of the CDK context: each parser takes what was given for a key, and returns it checked, as a setting has it.

A value may come from a command line, as text, or from ``cdk.json``, as JSON.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

_RATE: Final = re.compile(r"rate\((1 (minute|hour|day)|([2-9]|[1-9]\d+) (minutes|hours|days))\)|cron\([^()]{11,100}\)")
_ORIGIN: Final = re.compile(r"\*|https?://[a-z0-9.-]{1,253}(:\d{1,5})?")
_URL: Final = re.compile(r"https://[A-Za-z0-9.-]{1,253}(:\d{1,5})?(/[^\s?#]{0,500})?")
_WORD_COUNT_MAX: Final = 50

Parser = Callable[[str, Any], Any]


def _refuse(key: str, value: Any, allowed: str) -> ValueError:
    return ValueError(f"{key} must be {allowed}, not {value!r}")


def text(pattern: str, allowed: str) -> Parser:
    """Return the parser of texts that match a pattern as a whole."""

    def parse(key: str, value: Any) -> str:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise _refuse(key, value, allowed)
        return value

    return parse


def arn(service: str) -> Parser:
    """Return the parser of ARNs of one service."""
    return text(rf"arn:aws[a-z-]*:{service}:[a-z0-9-]+:\d{{12}}:\S{{1,500}}", f"an ARN of {service}")


def one_of(*allowed: str) -> Parser:
    """Return the parser of some texts."""

    def parse(key: str, value: Any) -> str:
        # A number in cdk.json, as 3.13, is as good as its text.
        if str(value) not in allowed:
            raise _refuse(key, value, f"one of {', '.join(allowed)}")
        return str(value)

    return parse


def whole_number(least: int, most: int) -> Parser:
    """Return the parser of whole numbers between two limits, themselves included."""

    def parse(key: str, value: Any) -> int:
        text = str(value)
        # The length is bounded before a number is made of it.
        is_number = not isinstance(value, bool) and text.isascii() and text.isdigit() and len(text) <= 9
        if not is_number or not least <= int(text) <= most:
            raise _refuse(key, value, f"a whole number from {least} to {most}")
        return int(text)

    return parse


def maximum_concurrency(key: str, value: Any) -> int:
    """Parse how many executions Lambda may start at once for a queue, where 1 is not possible, or 0."""
    return 0 if str(value) == "0" else whole_number(2, 1_000)(key, value)


def one_of_numbers(allowed: tuple[int, ...]) -> Parser:
    """Return the parser of some whole numbers."""

    def parse(key: str, value: Any) -> int:
        return int(one_of(*map(str, allowed))(key, value))

    return parse


def boolean(key: str, value: Any) -> bool:
    """Parse ``true`` or ``false``."""
    text = str(value).lower()
    if text not in {"true", "false"}:
        raise _refuse(key, value, "true or false")
    return text == "true"


def rate(key: str, value: Any) -> str:
    """Parse a schedule expression."""
    if not isinstance(value, str) or not _RATE.fullmatch(value):
        raise _refuse(key, value, "'rate(1 hour)', 'rate(5 minutes)', 'cron(0 3 * * ? *)' or the like")
    return value


def origins(key: str, value: Any) -> tuple[str, ...]:
    """Parse the origins of web pages: a list, or a text with commas."""
    origins = tuple(value.split(",")) if isinstance(value, str) else tuple(value) if isinstance(value, list) else ()
    if not origins or not all(isinstance(origin, str) and _ORIGIN.fullmatch(origin) for origin in origins):
        raise _refuse(key, value, "'*' or origins like https://example.org, separated by commas")
    return origins


def url(key: str, value: Any) -> str:
    """Parse the URL of an identity provider, which has neither query nor fragment."""
    if not isinstance(value, str) or not _URL.fullmatch(value):
        raise _refuse(key, value, "a URL like https://login.example.org/realm")
    return value


def words(pattern: str, allowed: str) -> Parser:
    """Return the parser of lists, as JSON or with commas or spaces between them, whose items match a pattern."""

    def parse(key: str, value: Any) -> tuple[str, ...]:
        listed = value.replace(",", " ").split() if isinstance(value, str) else value
        is_list = isinstance(listed, list) and 0 < len(listed) <= _WORD_COUNT_MAX
        if not is_list or not all(isinstance(word, str) and re.fullmatch(pattern, word) for word in listed):
            raise _refuse(key, value, f"{allowed}, separated by commas")
        return tuple(listed)

    return parse


def by_function(function_names: frozenset[str], least: int, most: int) -> Parser:
    """Return the parser of numbers by the names of functions, each between two limits, themselves included."""

    def parse(key: str, value: Any) -> Mapping[str, int]:
        if isinstance(value, str):
            value = dict(pair.partition("=")[::2] for pair in value.split(","))
        if not isinstance(value, Mapping) or not set(value) <= function_names:
            names = ", ".join(sorted(function_names))
            raise _refuse(key, value, f"like http_api={most},indexer={least}, of the functions {names}")
        return {name: whole_number(least, most)(f"{key} of {name}", count) for name, count in value.items()}

    return parse
