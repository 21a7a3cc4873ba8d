"""What an update changes, and what it leaves alone."""

from typing import Any

import pytest

from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.memory_change import MemoryChange
from s3_agent_memory.errors import LimitExceededError, ValidationError
from tests.unit.domain.memories import MOMENT, make_memory

LIMITS = Limits()
NESTED = {"profile": {"name": "Alice", "city": "Rome"}, "score": 7}


def changed(field_name: str, before: Any, after: Any) -> Any:
    """Return the field after it was changed from ``before``."""
    memory = make_memory(**{field_name: before})
    return getattr(MemoryChange(**{field_name: after}).apply(memory, LIMITS), field_name)


def test_a_change_of_nothing_is_empty() -> None:
    assert MemoryChange().is_empty()


@pytest.mark.parametrize("field_name", ["source", "expires_at", "data", "metadata"])
def test_none_is_a_change(field_name: str) -> None:
    nothing: Any = None
    assert not MemoryChange(**{field_name: nothing}).is_empty()


@pytest.mark.parametrize(
    ("field_name", "before", "after"),
    [
        ("content", "old", "new"),
        ("source", "chat:1", None),
        ("importance", 0.1, 0.9),
        ("tags", ("old",), ("new",)),
        ("expires_at", MOMENT, None),
    ],
)
def test_a_plain_field_is_replaced(field_name: str, before: Any, after: Any) -> None:
    assert changed(field_name, before, after) == after


@pytest.mark.parametrize("field_name", ["data", "metadata"])
@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ({"profile": {"city": "Bonn"}}, {"profile": {"name": "Alice", "city": "Bonn"}, "score": 7}),
        ({"score": None}, {"profile": {"name": "Alice", "city": "Rome"}}),
        ({"new": [1]}, {**NESTED, "new": [1]}),
        ({"profile": "gone"}, {"profile": "gone", "score": 7}),
        ({}, NESTED),
    ],
)
def test_json_fields_merge(field_name: str, patch: dict[str, Any], result: dict[str, Any]) -> None:
    assert changed(field_name, NESTED, patch) == result


def test_none_for_the_whole_of_data_removes_it() -> None:
    assert changed("data", NESTED, None) is None


def test_none_for_the_whole_of_metadata_empties_it() -> None:
    assert changed("metadata", NESTED, None) == {}


def test_data_can_be_given_where_there_was_none() -> None:
    assert changed("data", None, {"a": {"b": None, "c": 1}}) == {"a": {"c": 1}}


def test_what_is_not_named_stays() -> None:
    memory = make_memory(data=NESTED, metadata={"k": 1}, tags=("t",), source="chat:1", importance=0.9)
    after = MemoryChange(content="new").apply(memory, LIMITS)
    kept = ("data", "metadata", "tags", "source", "importance", "created_at", "id", "kind", "version")
    assert [getattr(after, name) for name in kept] == [getattr(memory, name) for name in kept]


@pytest.mark.parametrize("field_name", ["data", "metadata"])
@pytest.mark.parametrize("value", [[1], "text", 7, {"a": float("nan")}, {1: 2}])
def test_a_patch_that_is_no_json_object_is_refused(field_name: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        MemoryChange(**{field_name: value}).apply(make_memory(), LIMITS)


def test_the_merged_whole_must_be_within_the_limit() -> None:
    memory = make_memory(metadata={"a": "x" * 3_000})
    with pytest.raises(LimitExceededError):
        MemoryChange(metadata={"b": "x" * 3_000}).apply(memory, LIMITS)


@pytest.mark.parametrize("field_name", ["data", "metadata"])
@pytest.mark.parametrize("depth", [33, 990, 100_000])
def test_a_patch_nested_too_deeply_is_refused(field_name: str, depth: int) -> None:
    patch: Any = {}
    for _ in range(depth):
        patch = {"a": patch}
    with pytest.raises(ValidationError, match="nested deeper than 32 levels"):
        MemoryChange(**{field_name: patch}).apply(make_memory(), LIMITS)
