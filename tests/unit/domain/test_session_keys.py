"""Keys of conversations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.keys import parse_namespace, parse_truth_key
from s3_agent_memory.domain.scopes import Contributor
from s3_agent_memory.domain.session_keys import (
    batch_key,
    derived_id,
    digest_key,
    facts_key,
    parse_batch_key,
    parse_derived_id,
    parse_session_key,
    parse_window_key,
    session_of,
    unnamed_session_of,
    window_key,
)

PLACE = parse_namespace("users/alice")
SESSION = session_of(PLACE, "s1")


@given(st.text(), st.text())
def test_different_ids_are_different_sessions(one: str, other: str) -> None:
    pair = [text.encode("utf-8", "replace").decode() for text in (one, other)]
    assert (session_of(PLACE, pair[0]) == session_of(PLACE, pair[1])) == (pair[0] == pair[1])


def test_no_session_is_that_of_turns_without_one() -> None:
    unnamed = unnamed_session_of(PLACE, Contributor(principal="a", agent_client_id="b"))
    others = [
        session_of(PLACE, "a"),
        unnamed_session_of(PLACE, Contributor(principal="a")),
        unnamed_session_of(PLACE, Contributor(principal="b", agent_client_id="a")),
    ]
    assert unnamed not in others


@pytest.mark.parametrize(("make", "is_batch"), [(batch_key, True), (digest_key, False), (facts_key, False)])
def test_a_key_says_what_it_is(make, is_batch) -> None:
    key = make(SESSION, 3, 12)
    found = parse_session_key(key)
    assert found is not None
    assert (found.session, found.epoch, found.number, found.path) == (SESSION, 3, 12, key)
    assert (parse_batch_key(key) == SESSION) == is_batch


def test_a_window_key_says_whose_it_is() -> None:
    assert parse_window_key(window_key(SESSION)) == SESSION


@pytest.mark.parametrize(
    "key",
    [
        "memory/users/alice/semantic/x.json",
        "sessions/users/alice/_windows/short.json",
        "sessions/_windows/" + "0" * 32 + ".json",
        "sessions/users/alice/_batches/" + "0" * 32 + "/1/2.turns.json",
        "sessions/users/alice/_batches/" + "0" * 32 + "/" + "0" * 20 + "/" + "0" * 20 + ".json",
    ],
)
def test_other_keys_say_nothing(key: str) -> None:
    assert (parse_session_key(key), parse_window_key(key)) == (None, None)


def test_no_key_of_a_session_is_taken_for_a_memory() -> None:
    assert [parse_truth_key(key) for key in (window_key(SESSION), batch_key(SESSION, 1, 1))] == [None, None]


def test_a_derived_id_is_an_id_and_can_be_read_back() -> None:
    memory_id = derived_id(SESSION, 2, 31, 4)
    assert (check_id(memory_id), parse_derived_id(memory_id)) == (memory_id, (2, 31, 4))


@pytest.mark.parametrize("memory_id", ["turns-1-2-3", "diet", "turns-" + "0" * 32 + "-1-2"])
def test_other_ids_are_no_derived_ones(memory_id: str) -> None:
    assert parse_derived_id(memory_id) is None
