"""Every field of a memory has bounds, and an error that names them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from s3_agent_memory.domain import memory as rules
from s3_agent_memory.domain.clock import to_datetime, to_us
from s3_agent_memory.domain.kinds import Kind, check_kind
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.memory import Attribution, check_memory
from s3_agent_memory.errors import LimitExceededError, ValidationError
from tests.unit.domain.memories import MOMENT, make_memory

LIMITS = Limits()


# --- content ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, "", "   ", "\n\t\u3000", 7, b"text", ["text"], "\ud800", "half \udfff"])
def test_content_that_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(ValidationError, match=r"^content must be"):
        rules.check_content(value, LIMITS)


@pytest.mark.parametrize("value", ["a", " a ", "用户身份", "cafe\u0301", "🙂", "a\0b", "x" * 16 * 1024, "é" * 8 * 1024])
def test_content_is_kept_as_it_came(value: str) -> None:
    assert rules.check_content(value, LIMITS) == value


@pytest.mark.parametrize("value", ["x" * (16 * 1024 + 1), "é" * (8 * 1024 + 1)])
def test_content_above_16_kib_is_refused(value: str) -> None:
    with pytest.raises(LimitExceededError, match=r"content is 1638[56] bytes; at most 16384") as caught:
        rules.check_content(value, LIMITS)
    assert caught.value.limit == "content_bytes_max"


# --- tags -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", ["food", None, 7, {"food": 1}, ["food", 7], ["", "food"], [" food"], ["food "], ["\ud800"]]
)
def test_what_is_no_list_of_tags_is_refused(value: object) -> None:
    with pytest.raises(ValidationError, match="tag"):
        rules.check_tags(value, LIMITS)


def test_tags_are_kept_once_and_in_order() -> None:
    assert rules.check_tags(["b", "a", "b", "A"], LIMITS) == ("b", "a", "A")


def test_repeated_tags_do_not_count_against_the_limit() -> None:
    assert rules.check_tags(["a"] * 100, LIMITS) == ("a",)


@pytest.mark.parametrize(
    ("tags", "limit"), [([str(number) for number in range(33)], "tag_count_max"), (["x" * 129], "tag_length_max")]
)
def test_too_many_or_too_long_tags_are_refused(tags: list[str], limit: str) -> None:
    with pytest.raises(LimitExceededError) as caught:
        rules.check_tags(tags, LIMITS)
    assert caught.value.limit == limit


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [-0.001, 1.001, float("nan"), float("inf"), True, "0.5", None, [0.5]])
def test_importance_outside_0_to_1_is_refused(value: object) -> None:
    with pytest.raises(ValidationError, match="importance must be a number from 0 to 1"):
        rules.check_importance(value)


@pytest.mark.parametrize("value", [0, 0.5, 1])
def test_importance_becomes_a_float(value: float) -> None:
    assert isinstance(rules.check_importance(value), float)


@pytest.mark.parametrize("value", [0, -1, 2**53 + 1, 1.0, True, "1", None])
def test_a_version_that_is_no_count_is_refused(value: object) -> None:
    with pytest.raises(ValidationError, match="version must be a whole number from 1"):
        rules.check_version(value)


@pytest.mark.parametrize("value", [0, -1, float("nan"), True, "60", float("inf"), 1e18, [60]])
def test_a_time_to_live_that_ends_nowhere_is_refused(value: object) -> None:
    with pytest.raises(ValidationError, match=r"^ttl must"):
        rules.expiry_after(to_us(MOMENT), value)


@pytest.mark.parametrize("value", [1, 0.5, 86_400])
def test_expiry_is_now_and_the_time_to_live(value: float) -> None:
    assert rules.expiry_after(to_us(MOMENT), value) == MOMENT + timedelta(seconds=value)


# --- labels and kinds -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["", 7, ["chat"], "\ud800"])
def test_a_source_that_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(ValidationError, match=r"^source must be"):
        rules.check_label(value, LIMITS, field_name="source")


def test_a_source_above_512_characters_is_refused() -> None:
    with pytest.raises(LimitExceededError, match="source has 513 characters; at most 512"):
        rules.check_label("x" * 513, LIMITS, field_name="source")


@pytest.mark.parametrize("field_name", ["user_id", "agent_id", "session_id", "author"])
def test_each_field_of_an_attribution_is_checked(field_name: str) -> None:
    with pytest.raises(ValidationError, match=f"attribution.{field_name} must be"):
        rules.check_attribution(Attribution(**{field_name: ""}), LIMITS)


@pytest.mark.parametrize("value", ["semantic", Kind.EPISODIC])
def test_a_kind_may_be_its_name(value: str) -> None:
    assert check_kind(value) is Kind(value)


@pytest.mark.parametrize("value", ["", "fact", "SEMANTIC", None, 0, "semantic "])
def test_an_unknown_kind_is_refused_with_those_there_are(value: object) -> None:
    with pytest.raises(ValidationError, match="semantic, episodic, procedural"):
        check_kind(value)


# --- the whole --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field_name", "value"),
    [
        *[
            ("id", "../a"),
            ("namespace", ("users", "..")),
            ("kind", "fact"),
            ("content", ""),
            ("source", ""),
            ("version", 0),
        ],
        *[("importance", 2), ("tags", "food"), ("created_at", "no"), ("updated_at", 7), ("expires_at", "no")],
        *[
            ("data", [1]),
            ("metadata", None),
            ("attribution", Attribution(author="")),
            ("attribution", {"author": "Ann"}),
        ],
    ],
)
def test_every_field_is_checked(field_name: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        check_memory(replace(make_memory(), **{field_name: value}), LIMITS)


@pytest.mark.parametrize(("field_name", "size"), [("data", 32 * 1024), ("metadata", 4 * 1024)])
def test_data_and_metadata_have_limits_of_their_own(field_name: str, size: int) -> None:
    with pytest.raises(LimitExceededError, match=f"^{field_name} is .* at most {size} "):
        make_memory(**{field_name: {"a": "x" * size}})


def test_a_memory_expires_at_its_very_moment() -> None:
    memory = make_memory(expires_at=MOMENT)
    now_us = to_us(MOMENT)
    assert [memory.is_expired(moment) for moment in (now_us - 1, now_us, now_us + 1)] == [False, True, True]


def test_a_memory_without_expiry_stays() -> None:
    assert not make_memory().is_expired(to_us(to_datetime(0).replace(year=9999)))


def test_a_memory_knows_its_key() -> None:
    assert make_memory(id="a").key == "memory/users/alice/semantic/a.json"
