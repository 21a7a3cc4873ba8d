"""Damaged bytes: cut, flipped, spliced; and JSON documents with one value replaced by something nobody expects."""

import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

from s3_agent_memory.index.column_file import _PREFIX, ALIGNMENT_BYTES

_DEEP_LEVELS = 900


def _nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


# Values that JSON can express and a careless reader trips over. Each is a fixed point of ``json.loads``.
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53, 2**53 + 1, 2**63, 2**64, 10**400, -(10**400), 0.5, 1e308, -0.0),
    *("", " ", "\0", "\ud800", "a/../b", "../../x", "é" * 300, "a" * 70_000, "semantic", "english/1", "==", "$eq"),
    *("2026-01-01", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-23:59", "1969-12-31T23:59:59Z"),
    *([], [[]], [None], [1, 2, 3], ["a", "a"], {}, {"": None}, {"a": {"$eq": 1}}, {"\ud800": "\ud800"}),
    _nested(_DEEP_LEVELS),
)
odd_values = st.sampled_from(ODD_VALUES)

Path = tuple[Any, ...]


def paths(document: Any, above: Path = ()) -> Iterator[Path]:
    """Yield where each value of a document lies, the document itself included."""
    yield above
    items: Any = ()
    if isinstance(document, dict):
        items = document.items()
    elif isinstance(document, list):
        items = enumerate(document)
    for step, value in items:
        yield from paths(value, (*above, step))


def replaced(document: Any, path: Path, value: Any) -> Any:
    """Return a copy of a document with another value at a path."""
    if not path:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = replaced(copy[path[0]], path[1:], value)
    return copy


def _without(document: Any, path: Path) -> Any:
    if len(path) > 1:
        return replaced(document, path[:1], _without(document[path[0]], path[1:]))
    if isinstance(document, dict):
        return {name: value for name, value in document.items() if name != path[0]}
    return [value for index, value in enumerate(document) if index != path[0]]


@st.composite
def odd_documents(draw: st.DrawFn, document: Any, *, change_count_max: int = 2) -> Any:
    """Draw a document with some values replaced or left out."""
    for _ in range(draw(st.integers(1, change_count_max))):
        path = draw(st.sampled_from(list(paths(document))))
        is_left_out = bool(path) and draw(st.booleans()) and draw(st.booleans())
        document = _without(document, path) if is_left_out else replaced(document, path, draw(odd_values))
    return document


def encoded(document: Any) -> bytes:
    """Return a document as JSON, with every lone surrogate as an escape."""
    return json.dumps(document, allow_nan=True).encode()


@st.composite
def damaged(draw: st.DrawFn, body: bytes) -> bytes:
    """Draw some bytes with a few damages."""
    for _ in range(draw(st.integers(1, 3))):
        body = draw(st.sampled_from(_DAMAGES))(draw, body)
    return body


def odd_bodies(body: bytes) -> st.SearchStrategy[bytes]:
    """Draw what may lie where a JSON document should be: damaged, with odd values, or anything at all."""
    return st.one_of(damaged(body), odd_documents(json.loads(body)).map(encoded), st.binary(max_size=200))


def _place(draw: st.DrawFn, body: bytes) -> int:
    return draw(st.integers(0, max(0, len(body) - 1)))


def _flip(draw: st.DrawFn, body: bytes) -> bytes:
    place = _place(draw, body)
    return body[:place] + bytes([draw(st.integers(0, 255))]) + body[place + 1 :]


def _cut(draw: st.DrawFn, body: bytes) -> bytes:
    return body[: _place(draw, body)]


def _splice(draw: st.DrawFn, body: bytes) -> bytes:
    first, second = sorted((_place(draw, body), _place(draw, body)))
    return body[:second] + body[first:]


def _leave_out(draw: st.DrawFn, body: bytes) -> bytes:
    first, second = sorted((_place(draw, body), _place(draw, body)))
    return body[:first] + body[second:]


def _insert(draw: st.DrawFn, body: bytes) -> bytes:
    place = _place(draw, body)
    return body[:place] + draw(st.binary(min_size=1, max_size=16)) + body[place:]


_DAMAGES: tuple[Callable[[st.DrawFn, bytes], bytes], ...] = (_flip, _cut, _splice, _leave_out, _insert)


def repacked(body: bytes, directory: Any) -> bytes:
    """Return a column file with another directory, under a right checksum."""
    text = encoded(directory)
    text += b" " * (-(len(text) + _PREFIX.size) % ALIGNMENT_BYTES)
    magic, size_bytes, _ = _PREFIX.unpack_from(body)
    return _PREFIX.pack(magic, len(text), zlib.crc32(text)) + text + body[_PREFIX.size + size_bytes :]
