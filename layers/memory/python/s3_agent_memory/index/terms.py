"""Terms of the index as 64-bit hashes: words of the text, and values that a filter can select by.

A posting list is found by the hash of ``field NUL text``. Two terms with one hash would share a list; at 64 bits that
is rarer than a memory error, and a filter is verified on the memory itself anyway.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from typing import Final

from s3_agent_memory.domain.filters import IDENTITY_FIELDS, OBJECT_FIELDS, Condition
from s3_agent_memory.domain.json_values import DEPTH_MAX
from s3_agent_memory.domain.memory import Memory

BODY: Final = "w"
TAG: Final = "tag"
USER: Final = "user"
AGENT: Final = "agent"
SESSION: Final = "session"
AUTHOR: Final = "author"
AUTHOR_WORD: Final = "by"
VALUE: Final = "value"

VALUE_COUNT_MAX: Final = 256
_CACHE_SIZE: Final = 1 << 16
_IDENTITY: Final = dict(zip(IDENTITY_FIELDS, (USER, AGENT, SESSION, AUTHOR), strict=True))


@lru_cache(maxsize=_CACHE_SIZE)
def term_hash(field: str, text: str) -> int:
    """Return the 64-bit hash of a term (blake2b of field, NUL and text)."""
    name = f"{field}\0{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "little")


OVERFLOW: Final = term_hash("overflow", "")
"""Marks a memory with more values than are indexed; every condition on a value must let it pass."""


def filter_terms(memory: Memory) -> set[int]:
    """Return the terms by which filters select a memory: tags, attribution and values (the kind is a column)."""
    terms = {term_hash(TAG, tag) for tag in memory.tags}
    for name, field in _IDENTITY.items():
        value = getattr(memory.attribution, name)
        if value is not None:
            terms.add(term_hash(field, value))
    return terms | value_terms(memory)


def value_terms(memory: Memory) -> set[int]:
    """Return a term for ``source`` and for each value in ``data`` and ``metadata``, or 256 of them and ``OVERFLOW``.

    Objects and arrays are values too; arrays are not descended into. A null has no term: a filter on null matches a
    missing field as well.
    """
    texts = list(islice(_value_texts(memory), VALUE_COUNT_MAX + 1))
    terms = {term_hash(VALUE, text) for text in texts[:VALUE_COUNT_MAX]}
    return terms if len(texts) <= VALUE_COUNT_MAX else terms | {OVERFLOW}


def condition_term(condition: Condition) -> int | None:
    """Return the posting list that holds every memory the condition lets pass, or None if there is no such list.

    Lists exist for equality of tags, attribution, source and values. Memories that carry ``OVERFLOW`` stay candidates
    for every condition that ``may_overflow``.
    """
    if condition.operator != "$eq" or condition.value is None:
        return None
    name = condition.path[0]
    if name == "source" or may_overflow(condition):
        text = _canonical(condition.value, 0)
        return None if text is None else term_hash(VALUE, f"{_path_text(condition.path)}={text}")
    if isinstance(condition.value, str) and (name == "tags" or name in _IDENTITY):
        return term_hash(_IDENTITY.get(name, TAG), condition.value)
    return None


def may_overflow(condition: Condition) -> bool:
    """Return True if the condition is on a value inside ``data`` or ``metadata``, of which not all may be indexed."""
    return condition.path[0] in OBJECT_FIELDS and len(condition.path) > 1


def _value_texts(memory: Memory) -> Iterator[str]:
    if memory.source is not None:
        yield f"source={_canonical(memory.source, 0)}"
    yield from _texts_below(("data",), memory.data or {})
    yield from _texts_below(("metadata",), memory.metadata)


def _texts_below(path: tuple[str, ...], values: Mapping[str, object]) -> Iterator[str]:
    for key, value in values.items():
        below = (*path, key)
        text = None if value is None else _canonical(value, 0)
        if text is not None:
            yield f"{_path_text(below)}={text}"
        if isinstance(value, Mapping) and len(below) <= DEPTH_MAX:
            yield from _texts_below(below, value)


def _path_text(path: tuple[str, ...]) -> str:
    # A key may contain a dot, which separates the steps; escaping keeps different paths different.
    return ".".join(step.replace("\\", "\\\\").replace(".", "\\.") for step in path)


def _canonical(value: object, depth: int) -> str | None:
    """Return a text that two JSON values share iff they are equal, or None if it is not plain JSON."""
    if isinstance(value, (list, tuple)) and depth <= DEPTH_MAX:
        items = [_canonical(item, depth + 1) for item in value]
        return None if None in items else f"[{','.join(map(str, items))}]"
    if isinstance(value, Mapping) and depth <= DEPTH_MAX and all(isinstance(key, str) for key in value):
        members = {key: _canonical(value[key], depth + 1) for key in sorted(value)}
        if None in members.values():
            return None
        return f"{{{','.join(f'{json.dumps(key)}:{text}' for key, text in members.items())}}}"
    return _canonical_scalar(value)


def _canonical_scalar(value: object) -> str | None:
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value)
    if isinstance(value, float):
        # Hexadecimal, because Python refuses to write very long decimals.
        return f"{int(value):x}" if value.is_integer() else repr(value)
    return f"{value:x}" if isinstance(value, int) else None
