"""Filters: which memories a recall or a list may return at all.

A filter is a JSON object; every condition must hold. A value means equality, an object of operators compares:
``{"data.city": "Rome", "data.price": {"$gte": 2, "$lt": 10}}``. Numbers compare as numbers (10 equals 10.0 and is above
9), text as text, timestamps as moments; values of different types never match an order and are never equal. A missing
field equals null. ``tags`` equals a tag if the memory carries it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from s3_agent_memory.domain.clock import to_us
from s3_agent_memory.domain.json_values import encode_json
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.timestamps import parse_timestamp
from s3_agent_memory.errors import ValidationError

CONDITION_COUNT_MAX: Final = 32
OPERATORS: Final = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")
TIME_FIELDS: Final = ("created_at", "updated_at", "expires_at")
IDENTITY_FIELDS: Final = ("user_id", "agent_id", "session_id", "author")
PLAIN_FIELDS: Final = ("id", "kind", "tags", "source", "importance", *TIME_FIELDS, *IDENTITY_FIELDS)
OBJECT_FIELDS: Final = ("data", "metadata")

_ORDER: Final[Mapping[str, Callable[[int], bool]]] = {
    "$gt": lambda sign: sign > 0,
    "$gte": lambda sign: sign >= 0,
    "$lt": lambda sign: sign < 0,
    "$lte": lambda sign: sign <= 0,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison: the value at ``path`` (``("data", "city")``) against ``value`` by ``operator``."""

    path: tuple[str, ...]
    operator: str
    value: object

    def holds(self, memory: Memory) -> bool:
        """Return True if the memory satisfies this condition."""
        present = _value_at(memory, self.path)
        if self.path == ("tags",):
            return (self.value in memory.tags) == (self.operator == "$eq")
        if self.operator in ("$eq", "$ne"):
            return is_equal(present, self.value) == (self.operator == "$eq")
        sign = _compare(present, self.value)
        return sign is not None and _ORDER[self.operator](sign)


def parse_filter(value: object) -> tuple[Condition, ...]:
    """Return the conditions of a filter; None is the filter that lets everything pass.

    Raises:
        ValidationError: a field or operator is unknown (the message names it), or a value has the wrong type.
    """
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise ValidationError("filter must be a JSON object")
    conditions = [condition for name, wanted in value.items() for condition in _parse_field(name, wanted)]
    if len(conditions) > CONDITION_COUNT_MAX:
        raise ValidationError(f"filter must have at most {CONDITION_COUNT_MAX} conditions")
    return tuple(conditions)


def matches(memory: Memory, conditions: tuple[Condition, ...]) -> bool:
    """Return True if every condition holds."""
    return all(condition.holds(memory) for condition in conditions)


def _parse_field(name: object, wanted: object) -> list[Condition]:
    path = _parse_path(name)
    if not isinstance(wanted, Mapping):
        return [Condition(path, "$eq", _parse_value(path, wanted))]
    if wanted and all(isinstance(key, str) and key.startswith("$") for key in wanted):
        unknown = [key for key in wanted if key not in OPERATORS]
        if unknown:
            raise ValidationError(f"filter operator {unknown[0]!r} is unknown; use one of: " + ", ".join(OPERATORS))
        if path == ("tags",) and not set(wanted) <= {"$eq", "$ne"}:
            raise ValidationError("filter on tags takes a tag, $eq or $ne")
        return [Condition(path, operator, _parse_value(path, item)) for operator, item in wanted.items()]
    if path[0] not in OBJECT_FIELDS:
        raise ValidationError(f"filter on {name} must be a value or an object of operators")
    return [Condition(path, "$eq", _parse_value(path, wanted))]


def _parse_path(name: object) -> tuple[str, ...]:
    path = tuple(name.split(".")) if isinstance(name, str) else ()
    is_plain = len(path) == 1 and path[0] in PLAIN_FIELDS
    is_object = len(path) > 1 and path[0] in OBJECT_FIELDS and all(path)
    if not is_plain and not is_object:
        allowed = ", ".join((*PLAIN_FIELDS, "data.<path>", "metadata.<path>"))
        raise ValidationError(f"filter key {name!r} is unknown; use one of: {allowed}")
    return path


def _parse_value(path: tuple[str, ...], value: object) -> object:
    if path[0] in TIME_FIELDS and value is not None:
        return to_us(parse_timestamp(value, field=path[0]))
    encode_json(value)  # Refuses what is no JSON, lone surrogates included.
    if path == ("importance",) and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise ValidationError("filter on importance must be a number")
    if path[0] not in OBJECT_FIELDS and path != ("importance",) and not (value is None or isinstance(value, str)):
        raise ValidationError(f"filter on {path[0]} must be text or null")
    return value


def _value_at(memory: Memory, path: tuple[str, ...]) -> object:
    if path[0] in IDENTITY_FIELDS:
        return getattr(memory.attribution, path[0])
    value: object = getattr(memory, path[0])
    if isinstance(value, datetime):
        return to_us(value)
    for step in path[1:]:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def is_equal(left: object, right: object) -> bool:
    """Return True if two JSON values are equal by type and value (10 equals 10.0; true does not equal 1)."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(is_equal(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(is_equal, left, right))
    return left == right


def _compare(left: object, right: object) -> int | None:
    if isinstance(left, bool) or isinstance(right, bool):
        return None
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return (left > right) - (left < right)
    if isinstance(left, str) and isinstance(right, str):
        return (left > right) - (left < right)
    return None
