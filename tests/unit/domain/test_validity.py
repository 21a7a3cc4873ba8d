"""When a memory is true, and what it names: fields that are stored only where they are set."""

from datetime import timedelta
from typing import Any

import pytest

from s3_agent_memory.domain.codec import memory_from_json, memory_to_json
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.memory_change import MemoryChange
from s3_agent_memory.domain.validity import MemoryVersion
from s3_agent_memory.errors import LimitExceededError, ValidationError
from tests.unit.domain.memories import MOMENT, make_memory

LATER = MOMENT + timedelta(days=1)
EARLIER = MOMENT - timedelta(days=1)
NAMED = MemoryVersion("diet", 2)


@pytest.mark.parametrize(
    ("values", "stored"),
    [
        ({"valid_from": MOMENT}, {"valid_from": "2026-10-23T23:37:41.624370Z"}),
        ({"valid_to": LATER}, {"valid_to": "2026-10-24T23:37:41.624370Z"}),
        ({"supersedes": (NAMED,)}, {"supersedes": [{"id": "diet", "version": 2}]}),
        ({"consolidated_from": (NAMED,)}, {"consolidated_from": [{"id": "diet", "version": 2}]}),
        ({"pinned": True}, {"pinned": True}),
        ({}, {}),
    ],
)
def test_a_field_is_stored_only_where_it_is_set(values: dict[str, Any], stored: dict[str, Any]) -> None:
    plain = memory_to_json(make_memory())
    document = memory_to_json(make_memory(**values))
    assert {name: value for name, value in document.items() if name not in plain} == stored


def test_a_memory_is_true_from_its_creation_if_nothing_else_is_said() -> None:
    assert (make_memory().begin, make_memory(valid_from=EARLIER).begin) == (MOMENT, EARLIER)


def test_an_interval_that_ends_as_it_begins_is_never_true_and_allowed() -> None:
    assert make_memory(valid_from=MOMENT, valid_to=MOMENT).valid_to == MOMENT


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"valid_from": LATER, "valid_to": MOMENT}, "valid_to must not be before valid_from"),
        ({"valid_to": EARLIER}, "valid_to must not be before created_at"),
        ({"valid_from": "soon"}, "valid_from must be a timestamp"),
        ({"valid_to": 7}, "valid_to must be a timestamp"),
        ({"supersedes": "diet"}, "supersedes must be a list"),
        ({"supersedes": [("diet", 2)]}, "each of supersedes must be an id and a version"),
        ({"supersedes": [MemoryVersion("diet", 0)]}, "each of supersedes must be an id and a version"),
        ({"supersedes": [MemoryVersion("../diet", 1)]}, "id"),
        ({"consolidated_from": [MemoryVersion("diet", True)]}, "each of consolidated_from must be"),
        ({"id": "diet", "supersedes": [NAMED]}, "must not supersede itself"),
        ({"id": "diet", "consolidated_from": [NAMED]}, "must not supersede itself"),
        ({"pinned": 1}, "pinned must be true or false"),
    ],
)
def test_a_wrong_field_is_refused_by_name(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        make_memory(**values)


def test_a_version_named_twice_counts_once() -> None:
    assert make_memory(supersedes=[NAMED, NAMED]).supersedes == (NAMED,)


def test_a_memory_names_no_more_versions_than_the_limit() -> None:
    named = [MemoryVersion("diet", version) for version in range(1, Limits().named_version_count_max + 2)]
    with pytest.raises(LimitExceededError, match="supersedes names 101 versions"):
        make_memory(supersedes=named)


@pytest.mark.parametrize("field", ["supersedes", "consolidated_from"])
@pytest.mark.parametrize("value", [7, {"id": "diet"}, ["diet"], [{}], [{"id": "diet"}], [{"id": 7, "version": 1}]])
def test_named_versions_that_cannot_be_read_are_refused(field: str, value: object) -> None:
    with pytest.raises(ValidationError):
        memory_from_json({**memory_to_json(make_memory()), field: value})


def test_a_change_can_end_reopen_and_pin() -> None:
    ended = MemoryChange(valid_to=LATER, pinned=True).apply(make_memory(valid_from=EARLIER), Limits())
    reopened = MemoryChange(valid_to=None).apply(ended, Limits())
    assert (ended.valid_to, reopened.valid_to, reopened.valid_from, reopened.pinned) == (LATER, None, EARLIER, True)


def test_a_change_keeps_what_a_memory_names() -> None:
    memory = make_memory(supersedes=(NAMED,), consolidated_from=(NAMED,))
    after = MemoryChange(content="new").apply(memory, Limits())
    assert (after.supersedes, after.consolidated_from) == ((NAMED,), (NAMED,))
