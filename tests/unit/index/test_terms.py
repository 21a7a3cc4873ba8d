"""Filters by equality are posting lists: two values share a term iff a filter calls them equal."""

import string
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.domain.filters import Condition, is_equal, parse_filter
from s3_agent_memory.domain.memory import Attribution
from s3_agent_memory.index.terms import (
    BODY,
    OVERFLOW,
    TAG,
    VALUE_COUNT_MAX,
    condition_term,
    filter_terms,
    term_hash,
    value_terms,
)
from tests.unit.index.rows import make_memory

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.sampled_from([0.0, -0.0, 1.0, 2.5, 1e300, 10.0, 1e-9]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "1", "true", "None", "null", '"', "a.b", "a\\"]),
    st.text(max_size=4),
)
KEYS = st.sampled_from(["a", "b", "a.b", "\\", '"'])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)


def term_of(path, value):
    return condition_term(Condition(path, "$eq", value))


@given(VALUES, VALUES)
def test_values_share_a_term_iff_they_are_equal(left, right):
    if left is not None and right is not None:
        path = ("data", "x")
        assert (term_of(path, left) == term_of(path, right)) == is_equal(left, right)


@given(VALUES)
def test_a_value_is_found_by_the_term_of_its_condition(value):
    if value is not None:
        assert term_of(("data", "x"), value) in value_terms(make_memory(data={"x": value}))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("source", "chat"),
        ("tags", "red"),
        ("user_id", "u"),
        ("agent_id", "g"),
        ("session_id", "s"),
        ("author", "Ann"),
        ("data.city", "Rome"),
        ("data.deep.er", 10.0),
        ("data.deep", {"er": 10}),
        ("data.list", [1, {"a": None}]),
        ("data.yes", True),
        ("metadata.city", "Oslo"),
    ],
)
def test_equality_has_a_posting_list(name, wanted):
    memory = make_memory(
        source="chat",
        tags=("red", "blue"),
        attribution=Attribution(user_id="u", agent_id="g", session_id="s", author="Ann"),
        data={"city": "Rome", "deep": {"er": 10}, "list": [1.0, {"a": None}], "yes": True},
        metadata={"city": "Oslo"},
    )
    (condition,) = parse_filter({name: wanted})
    assert condition_term(condition) in filter_terms(memory)


@pytest.mark.parametrize(
    "wanted",
    [
        {"data.price": {"$gt": 1}},
        {"data.price": {"$ne": 1}},
        {"data.price": None},
        {"user_id": None},
        {"created_at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"importance": 0.5},
        {"kind": "semantic"},
        {"id": "a"},
    ],
)
def test_other_conditions_have_no_posting_list(wanted):
    (condition,) = parse_filter(wanted)
    assert condition_term(condition) is None


@pytest.mark.parametrize("value", [{1, 2}, {1: 2}, b"x", [object()]])
def test_value_that_is_no_json_has_no_posting_list(value):
    assert term_of(("data", "x"), value) is None


def test_key_with_a_dot_is_another_path_than_two_steps():
    dotted, nested = make_memory(data={"a.b": 1}), make_memory(data={"a": {"b": 1}})
    assert term_of(("data", "a", "b"), 1) in value_terms(nested) - value_terms(dotted)


def test_null_has_no_term():
    assert value_terms(make_memory(data={"x": None})) == set()


def test_items_of_arrays_have_no_terms_of_their_own():
    assert len(value_terms(make_memory(data={"x": [1, 2, {"y": 3}]}))) == 1


def test_source_is_not_mixed_up_with_data():
    assert not value_terms(make_memory(source="x")) & value_terms(make_memory(data={"source": "x"}))


@pytest.mark.parametrize("count", [VALUE_COUNT_MAX, VALUE_COUNT_MAX + 1, 2_000])
def test_more_values_than_are_indexed_set_the_overflow_mark(count):
    terms = value_terms(make_memory(data={f"k{number}": number for number in range(count)}))
    assert (OVERFLOW in terms, len(terms - {OVERFLOW})) == (count > VALUE_COUNT_MAX, VALUE_COUNT_MAX)


@given(st.text(string.printable, max_size=5), st.text(string.printable, max_size=5))
def test_fields_do_not_share_terms(left, right):
    assert term_hash(BODY, left) != term_hash(TAG, right)


def test_hashes_are_stored_and_must_never_change():
    assert term_hash(BODY, "pizza") == 0xBB2A2EA989F936CC
