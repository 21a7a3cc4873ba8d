"""Plain JSON: what may enter, and how it merges."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.domain.json_values import check_json_object, decode_json, encode_json, merge_patch
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.errors import LimitExceededError, ValidationError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4))
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=5)


def check(value: object, bytes_max: int = 4_096) -> dict[str, object]:
    return check_json_object(value, field="data", limits=Limits(data_bytes_max=bytes_max), limit="data_bytes_max")


def nested(depth: int) -> dict[str, Any]:
    """Return objects inside each other; the innermost value lies at ``depth``."""
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


# --- what may enter ---------------------------------------------------------------------------------------------------


@given(OBJECTS)
def test_a_checked_object_is_an_equal_copy(value: dict[str, Any]) -> None:
    assert check(value, bytes_max=2**30) == value


def test_a_checked_object_is_private() -> None:
    given_value: dict[str, Any] = {"list": [1], "object": {"a": 1}}
    copy = check(given_value)
    given_value["list"].append(2)
    given_value["object"]["a"] = 2
    assert copy == {"list": [1], "object": {"a": 1}}


@pytest.mark.parametrize(
    "value",
    [
        *[None, [], "text", 1, {1: "a"}, {None: 1}, {"a": {2: 3}}, {"a": {1, 2}}, {"a": b"bytes"}, {"a": object()}],
        *[{"a": float("nan")}, {"a": [float("inf")]}, {"a": {"b": float("-inf")}}, {"a": "\ud800"}, {"\udfff": 1}],
        {"a": 10**5_000},
    ],
)
def test_what_is_not_plain_json_is_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        check(value)


def test_32_levels_are_allowed() -> None:
    assert check(nested(32)) == nested(32)


def test_33_levels_are_refused() -> None:
    with pytest.raises(ValidationError, match="deeper than 32 levels"):
        check(nested(33))


def test_an_object_that_holds_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    with pytest.raises(ValidationError, match="deeper than 32 levels"):
        check(loop)


def test_an_object_may_be_exactly_as_large_as_the_limit() -> None:
    assert check({"a": "x" * 10}, bytes_max=18)


def test_a_byte_more_than_the_limit_is_refused_with_the_limit() -> None:
    with pytest.raises(LimitExceededError, match="data is 18 bytes; at most 17") as caught:
        check({"a": "x" * 10}, bytes_max=17)
    assert (caught.value.limit, caught.value.maximum) == ("data_bytes_max", 17)


def test_size_counts_bytes_not_characters() -> None:
    with pytest.raises(LimitExceededError):
        check({"a": "用" * 10}, bytes_max=18)


# --- bytes ------------------------------------------------------------------------------------------------------------


@given(VALUES)
def test_json_survives_the_round_trip(value: object) -> None:
    assert decode_json(encode_json(value)) == value


@given(st.binary(max_size=64))
def test_any_bytes_decode_or_are_refused(body: bytes) -> None:
    try:
        decode_json(body)
    except ValidationError:
        return
    assert json.loads(body) is not body


@pytest.mark.parametrize("body", [b"", b"NaN", b"-Infinity", b"[1", b"\xff", b"[" * 100_000, b"1" * 5_000])
def test_broken_bytes_are_refused(body: bytes) -> None:
    with pytest.raises(ValidationError, match="not valid JSON"):
        decode_json(body)


# --- RFC 7396, appendix A: the examples whose target and patch are objects --------------------------------------------


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_follows_the_examples_of_rfc_7396(
    target: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]
) -> None:
    assert merge_patch(target, patch) == result


def test_merge_of_the_long_example_of_rfc_7396() -> None:
    target = {
        "title": "Goodbye!",
        "author": {"givenName": "John", "familyName": "Doe"},
        "tags": ["example", "sample"],
        "content": "This will be unchanged",
    }
    patch = {
        "title": "Hello!",
        "phoneNumber": "+01-123-456-7890",
        "author": {"familyName": None},
        "tags": ["example"],
    }
    assert merge_patch(target, patch) == {
        "title": "Hello!",
        "author": {"givenName": "John"},
        "tags": ["example"],
        "content": "This will be unchanged",
        "phoneNumber": "+01-123-456-7890",
    }


@given(OBJECTS, OBJECTS)
def test_merging_twice_is_merging_once(target: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merge_patch(target, patch)
    assert merge_patch(once, patch) == once


@given(OBJECTS, OBJECTS)
def test_merge_leaves_its_arguments_alone(target: dict[str, Any], patch: dict[str, Any]) -> None:
    before = encode_json([target, patch])
    merge_patch(target, patch)
    assert encode_json([target, patch]) == before
