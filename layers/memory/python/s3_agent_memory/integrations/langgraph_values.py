"""Values on both sides: an item's value as the ``data`` of a memory, and the text in it that is searched.

``data`` changes by merging (RFC 7396), where a null stands for "remove". So nulls inside objects are noted beside the
value, and a change is written as the difference that leaves exactly the new value.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from langgraph.store.base import get_text_at_path

JsonObject = dict[str, Any]
Path = tuple[str, ...]

NULLS: Final = "$nulls"


def pack_value(value: Mapping[str, Any]) -> JsonObject:
    """Return the ``data`` that stands for a value: the value itself, its nulls listed by path under ``$nulls``.

    A top-level key that begins with ``$`` gets another one, so that none can be mistaken for that list.

    Example:
        >>> pack_value({"city": "Rome", "zip": None})
        {'city': 'Rome', '$nulls': [['zip']]}
    """
    nulls = [list(path) for path in _null_paths(value)]
    packed = {f"${key}" if key.startswith("$") else key: item for key, item in _without_nulls(value).items()}
    return {**packed, NULLS: nulls} if nulls else packed


def unpack_value(data: Mapping[str, Any]) -> JsonObject:
    """Return the value that ``pack_value`` made ``data`` of; what somebody else changed in it since counts."""
    value = {key.removeprefix("$"): item for key, item in data.items() if key != NULLS}
    noted = data.get(NULLS)
    for path in noted if isinstance(noted, list) else ():
        if isinstance(path, list) and path and all(isinstance(step, str) for step in path):
            value = _with_null(value, path)
    return value


def replacing_patch(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> JsonObject:
    """Return the merge patch that turns ``present`` into ``wanted``, which holds no null outside lists.

    Example:
        >>> replacing_patch({"a": 1, "b": {"c": 2}}, {"b": {"d": 3}})
        {'a': None, 'b': {'c': None, 'd': 3}}
    """
    patch: JsonObject = {key: None for key in present if key not in wanted}
    for key, item in wanted.items():
        if isinstance(item, Mapping):
            before = present.get(key)
            patch[key] = replacing_patch(before if isinstance(before, Mapping) else {}, item)
        else:
            patch[key] = item
    return patch


def searched_text(value: Mapping[str, Any], fields: Sequence[str] | None, *, size_bytes_max: int) -> str:
    """Return the text an item is found by, cut after ``size_bytes_max`` bytes of UTF-8; empty if there is none.

    Args:
        fields: paths as LangGraph writes them (``"text"``, ``"sections[*].title"``, ``"$"`` for all of it as JSON);
            None takes every string in the value.
    """
    texts = _strings(value) if fields is None else (text for path in fields for text in get_text_at_path(value, path))
    joined = "\n".join(texts).encode()[:size_bytes_max]
    return joined.decode(errors="ignore").strip()


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _null_paths(value: Mapping[str, Any], path: Path = ()) -> Iterator[Path]:
    for key, item in value.items():
        if item is None:
            yield (*path, key)
        elif isinstance(item, Mapping):
            yield from _null_paths(item, (*path, key))


def _without_nulls(value: Mapping[str, Any]) -> JsonObject:
    return {
        key: _without_nulls(item) if isinstance(item, Mapping) else item
        for key, item in value.items()
        if item is not None
    }


def _with_null(value: JsonObject, path: Sequence[str]) -> JsonObject:
    """Return the value with a null at ``path``, unless there is something else by now, or nothing around it."""
    key, *below = path
    if not below:
        return {key: None, **value}
    inner = value.get(key)
    return {**value, key: _with_null(inner, below)} if isinstance(inner, dict) else value
