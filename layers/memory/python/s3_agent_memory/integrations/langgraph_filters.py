"""Filters on both sides: LangGraph's own rule for one value, and as much of it as the index can decide beforehand."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from s3_agent_memory.domain.filters import is_equal

Filter = Mapping[str, Any]

_ORDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": lambda left, right: left > right,
    "$gte": lambda left, right: left >= right,
    "$lt": lambda left, right: left < right,
    "$lte": lambda left, right: left <= right,
}
_OPERATORS: Final = ("$eq", "$ne", *_ORDER)


def check_filter(filters: Filter) -> None:
    """Do nothing if every operator in a filter is known.

    Raises:
        ValueError: one is not; the message names those there are.
    """
    for wanted in filters.values():
        _check_operators(wanted)


def passes(value: Mapping[str, Any], filters: Filter) -> bool:
    """Return True if a value satisfies a filter that ``check_filter`` accepted.

    Values compare by type: 10 equals 10.0 and is above 9, text compares as text, and what differs in type is never
    equal and never in an order. A missing field equals null. An object asks only for the members it names.
    """
    return all(_matches(value.get(key), wanted) for key, wanted in filters.items())


def index_conditions(filters: Filter, *, count_max: int) -> tuple[dict[str, object], bool]:
    """Return conditions on ``data`` that every value within the filter satisfies; and whether they say all of it.

    Args:
        count_max: at most so many conditions; the others are left to ``passes``.
    """
    found: dict[str, object] = {}
    count, is_complete = 0, True
    for name, condition in _leaves((), filters):
        count += len(condition) if isinstance(condition, Mapping) else 1
        if name is None or count > count_max:
            is_complete = False
        else:
            found[name] = condition
    return found, is_complete


def _check_operators(wanted: object) -> None:
    below: Iterable[object] = ()
    if isinstance(wanted, (list, tuple)):
        below = wanted
    elif isinstance(wanted, Mapping) and not _has_operators(wanted):
        below = wanted.values()
    elif isinstance(wanted, Mapping):
        unknown = [name for name in wanted if name not in _OPERATORS]
        if unknown:
            raise ValueError(f"Unsupported operator: {unknown[0]}; use one of: " + ", ".join(_OPERATORS))
    for item in below:
        _check_operators(item)


def _matches(present: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        if _has_operators(wanted):
            return all(_compares(present, operator, operand) for operator, operand in wanted.items())
        return isinstance(present, Mapping) and all(_matches(present.get(key), item) for key, item in wanted.items())
    if isinstance(wanted, (list, tuple)):
        return isinstance(present, list) and len(present) == len(wanted) and all(map(_matches, present, wanted))
    return is_equal(present, wanted)


def _compares(present: object, operator: str, operand: object) -> bool:
    if operator in ("$eq", "$ne"):
        return is_equal(present, operand) == (operator == "$eq")
    is_ordered = (isinstance(present, str) and isinstance(operand, str)) or (
        _is_number(present) and _is_number(operand)
    )
    return is_ordered and _ORDER[operator](present, operand)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _has_operators(wanted: Mapping[str, Any]) -> bool:
    return any(str(key).startswith("$") for key in wanted)


def _leaves(path: tuple[str, ...], wanted: Mapping[str, Any]) -> Iterator[tuple[str | None, object]]:
    """Yield field and condition for each leaf; None in place of the field if the index cannot express it."""
    for key, item in wanted.items():
        below = (*path, key)
        is_nested = isinstance(item, Mapping) and not _has_operators(item)
        if is_nested and item:
            yield from _leaves(below, item)
        elif is_nested or not _is_plain(below) or not _is_simple(item):
            yield None, None
        else:
            yield ".".join(("data", *below)), item
            if path and _matches(None, item):
                # It lets a missing field pass, but there has to be an object for the field to be missing in.
                yield None, None


def _is_plain(path: tuple[object, ...]) -> bool:
    return all(isinstance(key, str) and key and "." not in key for key in path) and not str(path[0]).startswith("$")


def _is_simple(item: object) -> bool:
    """Return True if the condition means the same on the stored form: it compares with nothing that holds nulls."""
    operands = item.values() if isinstance(item, Mapping) else [item]
    return all(
        operand is None or isinstance(operand, (str, int)) or (isinstance(operand, float) and math.isfinite(operand))
        for operand in operands
    )
