"""Plain JSON values: checked when they enter, merged by the rule of RFC 7396."""

import json
import math
from collections.abc import Mapping
from typing import Final

from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.errors import ValidationError

DEPTH_MAX: Final = 32


def encode_json(document: object) -> bytes:
    """Return compact UTF-8 JSON; keys stay in the order given.

    Raises:
        ValidationError: the document holds something that is not JSON (NaN, a lone surrogate, an object).
    """
    try:
        return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError("text must be valid Unicode and values must be plain JSON") from error


def decode_json(body: bytes) -> object:
    """Return the JSON document in ``body``.

    Raises:
        ValidationError: the bytes are not JSON (NaN and Infinity are not JSON either), or nested too deeply.
    """
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValidationError("not valid JSON") from error


def _refuse_constant(name: str) -> object:
    raise ValueError(name)


def check_json_object(value: object, *, field: str, limits: Limits, limit: str) -> dict[str, object]:
    """Return a private copy of a JSON object.

    Args:
        field: name of the field, for the error.
        limit: which of ``limits`` bounds its bytes of compact JSON.

    Raises:
        ValidationError: it is not a JSON object, or nested deeper than 32 levels.
        LimitExceededError: it is larger than the limit.
    """
    if not isinstance(value, Mapping):
        raise ValidationError(f"{field} must be a JSON object")
    copy = {key: _copy_value(item, field, 1) for key, item in _string_items(value, field)}
    size_bytes = len(encode_json(copy))
    limits.check(limit, size_bytes, f"{field} is {size_bytes} bytes")
    return copy


def _copy_value(value: object, field: str, depth: int) -> object:
    if depth > DEPTH_MAX:
        raise ValidationError(f"{field} must not be nested deeper than {DEPTH_MAX} levels")
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValidationError(f"{field} must not hold NaN or Infinity")
        return value
    if isinstance(value, Mapping):
        return {key: _copy_value(item, field, depth + 1) for key, item in _string_items(value, field)}
    if isinstance(value, (list, tuple)):
        return [_copy_value(item, field, depth + 1) for item in value]
    raise ValidationError(f"{field} must hold plain JSON values, not {type(value).__name__}")


def _string_items(value: Mapping[object, object], field: str) -> list[tuple[str, object]]:
    items = [(key, item) for key, item in value.items() if isinstance(key, str)]
    if len(items) != len(value):
        raise ValidationError(f"{field} must have text as keys")
    return items


def merge_patch(target: Mapping[str, object], patch: Mapping[str, object], *, depth: int = 1) -> dict[str, object]:
    """Return ``target`` changed by ``patch`` (RFC 7396): null removes a key, objects merge, all else replaces.

    Raises:
        ValidationError: the patch is nested deeper than 32 levels.

    Example:
        >>> merge_patch({"a": 1, "b": {"c": 2, "d": 3}}, {"a": None, "b": {"c": 4}})
        {'b': {'c': 4, 'd': 3}}
    """
    if depth > DEPTH_MAX:
        raise ValidationError(f"a change must not be nested deeper than {DEPTH_MAX} levels")
    merged = dict(target)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            present = merged.get(key)
            merged[key] = merge_patch(present if isinstance(present, Mapping) else {}, value, depth=depth + 1)
        else:
            merged[key] = value
    return merged
