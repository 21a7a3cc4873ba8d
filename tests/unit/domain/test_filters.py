"""Filters compare by type and value, never guess, and never widen."""

from typing import Any

import pytest
from hypothesis import given

from s3_agent_memory.domain.filters import CONDITION_COUNT_MAX, is_equal, matches, parse_filter
from s3_agent_memory.domain.memory import Attribution
from s3_agent_memory.errors import ValidationError
from tests.unit.domain.memories import make_memory
from tests.unit.domain.test_json_values import VALUES

MISSING: Any = ...
# Every value of the table, by the letter that stands for it below.
VALUE_OF: dict[str, Any] = {
    "2": 2,
    "9": 9,
    "10": 10,
    "10.0": 10.0,
    "10.5": 10.5,
    "-1": -1,
    '"10"': "10",
    "true": True,
    "null": None,
    "missing": MISSING,
}


def found(condition: object, path: str = "data.v") -> set[str]:
    """Return the names of the values whose memory satisfies the condition."""
    conditions = parse_filter({path: condition})
    return {
        name
        for name, value in VALUE_OF.items()
        if matches(make_memory(data={} if value is MISSING else {"v": value}), conditions)
    }


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ({"$gt": 9}, {"10", "10.0", "10.5"}),
        ({"$gte": 10}, {"10", "10.0", "10.5"}),
        ({"$lt": 9}, {"2", "-1"}),
        ({"$lte": 10}, {"2", "9", "10", "10.0", "-1"}),
        ({"$gt": 2, "$lt": 10.5}, {"9", "10", "10.0"}),
        ({"$eq": 10}, {"10", "10.0"}),
        ({"$ne": 10}, {"2", "9", "10.5", "-1", '"10"', "true", "null", "missing"}),
        (10, {"10", "10.0"}),
        (10.0, {"10", "10.0"}),
        ("10", {'"10"'}),
        ({"$gt": "1"}, {'"10"'}),
        ({"$lt": "9"}, {'"10"'}),
        (True, {"true"}),
        (1, set()),
        (None, {"null", "missing"}),
        ({"$ne": None}, {"2", "9", "10", "10.0", "10.5", "-1", '"10"', "true"}),
        ({"$gt": None}, set()),
        ({"$lte": True}, set()),
        ({"$gte": [10]}, set()),
        ([], set()),
        ({}, set()),
    ],
)
def test_values_compare_by_type_and_value(condition: object, names: set[str]) -> None:
    assert found(condition) == names


@pytest.mark.parametrize(
    ("path", "value", "is_match"),
    [
        ("data.profile.city", "Rome", True),
        ("data.profile.city", "rome", False),
        ("data.profile.country", None, True),
        ("data.profile", {"city": "Rome", "zip": [1, 2.0]}, True),
        ("data.profile", {"city": "Rome"}, False),
        ("data.profile.zip", [1.0, 2], True),
        ("data.profile.zip", [2, 1], False),
        ("data.profile.zip.0", 1, False),
        ("metadata.lang", "it", True),
        ("data.lang", "it", False),
        ("source", "chat:1", True),
        ("source", None, False),
        ("id", "01a16b209bf8ad13a72e486e", True),
        ("kind", "semantic", True),
        ("kind", "episodic", False),
        ("tags", "food", True),
        ("tags", "foo", False),
        ("tags", {"$ne": "food"}, False),
        ("tags", {"$ne": "drink"}, True),
        ("importance", {"$gte": 0.5}, True),
        ("importance", {"$gt": 0.5}, False),
        ("user_id", "alice", True),
        ("agent_id", None, True),
        ("author", {"$ne": "bob"}, True),
        ("created_at", "2026-10-24T08:37:41.624370+09:00", True),
        ("created_at", {"$lt": "2026-10-24T00:00:00+09:00"}, False),
        ("created_at", {"$gte": "2026-10-23T00:00:00Z", "$lt": "2026-10-24T00:00:00Z"}, True),
        ("expires_at", None, True),
        ("expires_at", {"$gt": "2026-01-01T00:00:00Z"}, False),
    ],
)
def test_a_field_can_be_filtered_by(path: str, value: object, is_match: bool) -> None:
    memory = make_memory(
        data={"profile": {"city": "Rome", "zip": [1, 2]}},
        metadata={"lang": "it"},
        source="chat:1",
        tags=("food", "italy"),
        attribution=Attribution(user_id="alice"),
    )
    assert matches(memory, parse_filter({path: value})) is is_match


def test_every_condition_must_hold() -> None:
    conditions = parse_filter({"data.a": 1, "data.b": 2})
    assert [matches(make_memory(data={"a": 1, "b": value}), conditions) for value in (2, 3)] == [True, False]


@pytest.mark.parametrize("value", [None, {}])
def test_no_filter_lets_everything_pass(value: object) -> None:
    assert matches(make_memory(), parse_filter(value))


@pytest.mark.parametrize(
    "name",
    [
        *["usr_id", "namespace", "tenant", "content", "version", "__proto__", "__class__", "data", "metadata", "", "."],
        *["data.", "data..a", ".data", "data.a.", "tags.0", "id.a", "$or", "$and", "created", 7, None, ("data", "a")],
        *["attribution.user_id", "User_id", " user_id", "key"],
    ],
)
def test_an_unknown_key_is_refused_by_its_name(name: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        parse_filter({name: "x"})
    assert f"filter key {name!r} is unknown" in str(caught.value)


@pytest.mark.parametrize("operator", ["$in", "$regex", "$GT", "$", "$where", "$not"])
def test_an_unknown_operator_is_refused_by_its_name(operator: str) -> None:
    with pytest.raises(ValidationError, match="is unknown; use one of: \\$eq, \\$ne"):
        parse_filter({"data.a": {operator: 1}})


@pytest.mark.parametrize(
    "value",
    [
        *["text", 7, [], [{"data.a": 1}], {"created_at": "yesterday"}, {"created_at": 7}, {"created_at": {"$gt": ""}}],
        *[{"importance": "high"}, {"importance": True}, {"kind": 7}, {"user_id": ["alice"]}, {"tags": ["a", "b"]}],
        *[{"tags": {"$gt": "a"}}, {"user_id": {}}, {"user_id": {"a": 1}}, {"source": {"$eq": 7}}, {"tags": {}}],
    ],
)
def test_a_filter_of_the_wrong_type_is_refused(value: object) -> None:
    with pytest.raises(ValidationError, match=r"^(filter|created_at) "):
        parse_filter(value)


def test_the_number_of_conditions_is_bounded() -> None:
    with pytest.raises(ValidationError, match="at most 32 conditions"):
        parse_filter({f"data.k{number}": number for number in range(CONDITION_COUNT_MAX + 1)})


@given(VALUES)
def test_a_value_equals_itself(value: object) -> None:
    assert is_equal(value, value)


@given(VALUES, VALUES)
def test_equality_is_symmetric(left: object, right: object) -> None:
    assert is_equal(left, right) == is_equal(right, left)


@given(VALUES.filter(lambda value: value is not None))
def test_a_filter_on_the_stored_value_finds_its_memory(value: object) -> None:
    is_operators = isinstance(value, dict) and value and all(key.startswith("$") for key in value)
    wanted = {"$eq": value} if is_operators else value
    assert matches(make_memory(data={"v": value}), parse_filter({"data.v": wanted}))
