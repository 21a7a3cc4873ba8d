"""Stored forms: readable JSON that survives the round trip, and broken bytes that are reported with their key."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.domain.codec import (
    Tombstone,
    decode_claim,
    decode_memory,
    decode_tombstone,
    encode_claim,
    encode_memory,
    encode_tombstone,
    memory_from_json,
    memory_to_json,
)
from s3_agent_memory.domain.keys import TruthKey, parse_truth_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Attribution, Memory
from s3_agent_memory.domain.validity import MemoryVersion
from s3_agent_memory.errors import CorruptError, ValidationError
from tests.unit.domain.memories import MOMENTS, make_memory
from tests.unit.domain.test_json_values import OBJECTS

# The example of the specification, on one line.
SPECIFIED = (
    b'{"schema":1,"id":"01a16b209bf8ad13a72e486e","namespace":["users","alice"],"kind":"procedural",'
    b'"content":"Alice prefers metric units","source":"chat:42","importance":0.9,"tags":["prefs"],'
    b'"created_at":"2026-10-23T23:37:41.624370Z","updated_at":"2026-10-23T23:37:41.624370Z",'
    b'"expires_at":null,"data":null,"metadata":{},"version":1}'
)
SPECIFIED_KEY = "memory/users/alice/procedural/01a16b209bf8ad13a72e486e.json"

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
LABELS = st.none() | TEXTS
# Such an id is longer than those of the memories that name it.
NAMED = st.lists(
    st.builds(MemoryVersion, st.from_regex(r"[A-Za-z0-9]{22,30}", fullmatch=True), st.integers(1, 2**53)), max_size=3
)
MEMORIES = st.builds(
    make_memory,
    id=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,20}", fullmatch=True),
    kind=st.sampled_from(Kind),
    content=TEXTS.filter(str.strip),
    source=LABELS,
    importance=st.floats(min_value=0, max_value=1),
    tags=st.lists(TEXTS.filter(lambda tag: tag == tag.strip()), max_size=4).map(tuple),
    created_at=MOMENTS,
    updated_at=MOMENTS,
    expires_at=st.none() | MOMENTS,
    data=st.none() | OBJECTS,
    metadata=OBJECTS,
    version=st.integers(min_value=1, max_value=2**53),
    attribution=st.builds(Attribution, user_id=LABELS, agent_id=LABELS, session_id=LABELS, author=LABELS),
    valid_from=st.none() | MOMENTS,
    supersedes=NAMED,
    consolidated_from=NAMED,
    pinned=st.booleans(),
)


def truth_key(key: str) -> TruthKey:
    """Return what a key says."""
    parsed = parse_truth_key(key)
    assert parsed is not None
    return parsed


def decode(body: bytes, key: str = SPECIFIED_KEY) -> Memory:
    return decode_memory(body, key, truth_key(key))


def specified(**changes: Any) -> bytes:
    """Return the specified object with other values; ``...`` removes one."""
    document = {**json.loads(SPECIFIED), **changes}
    return json.dumps({name: value for name, value in document.items() if value is not ...}).encode()


# --- memories ---------------------------------------------------------------------------------------------------------


def test_the_specified_object_is_stored_byte_for_byte() -> None:
    assert encode_memory(decode(SPECIFIED)) == SPECIFIED


@given(MEMORIES)
def test_a_memory_survives_the_round_trip(memory: Memory) -> None:
    assert decode(encode_memory(memory), memory.key) == memory


def test_attribution_is_written_only_where_it_is_set() -> None:
    document = memory_to_json(make_memory(attribution=Attribution(user_id="alice")))
    assert document["attribution"] == {"user_id": "alice"}


def test_a_plain_memory_has_no_field_beyond_the_specified_ones() -> None:
    assert list(memory_to_json(make_memory())) == list(json.loads(SPECIFIED))


def test_a_memory_with_the_fewest_fields_is_completed() -> None:
    names = ("schema", "updated_at", "expires_at", "source", "importance", "tags", "data", "metadata", "version")
    memory = decode(specified(**dict.fromkeys(names, ...)))
    assert (memory.updated_at, memory.importance, memory.tags, memory.version) == (memory.created_at, 0.5, (), 1)


def test_unknown_fields_are_ignored() -> None:
    assert decode(specified(later_addition={"a": 1})) == decode(SPECIFIED)


def test_what_was_stored_under_higher_limits_stays_readable() -> None:
    assert len(decode(specified(content="x" * 100_000, tags=[str(n) for n in range(100)])).content) == 100_000


@pytest.mark.parametrize(
    "body",
    [
        *[b"", b"{}", b"null", b"[]", b"7", b'"text"', b"not json", b"\x00\xff", b"<xml/>", b"[" * 50_000],
        *[SPECIFIED[:-1], SPECIFIED[: len(SPECIFIED) // 2], SPECIFIED + b"x", SPECIFIED.replace(b"0.9", b"NaN")],
        *[
            specified(schema=2),
            specified(schema="1"),
            specified(id=...),
            specified(content=...),
            specified(kind="fact"),
        ],
        *[
            specified(content=""),
            specified(content=7),
            specified(importance=7),
            specified(tags="a"),
            specified(version=0),
        ],
        *[specified(created_at="no"), specified(expires_at=7), specified(data=[1]), specified(metadata=[1])],
        *[specified(attribution="alice"), specified(attribution={"user_id": 7}), specified(source=7)],
    ],
)
def test_broken_or_foreign_bytes_are_reported_with_their_key(body: bytes) -> None:
    with pytest.raises(CorruptError) as caught:
        decode(body)
    assert caught.value.key == SPECIFIED_KEY


@pytest.mark.parametrize(
    "body", [specified(id="other"), specified(namespace=["users", "bob"]), specified(kind="semantic")]
)
def test_a_memory_under_the_key_of_another_is_refused(body: bytes) -> None:
    with pytest.raises(CorruptError, match="belongs under another key"):
        decode(body)


@given(st.integers(min_value=0, max_value=len(SPECIFIED) - 1))
def test_an_object_cut_anywhere_is_corrupt(length: int) -> None:
    with pytest.raises(CorruptError):
        decode(SPECIFIED[:length])


@given(st.binary(max_size=40))
def test_random_bytes_are_corrupt(body: bytes) -> None:
    with pytest.raises(CorruptError):
        decode(body)


@pytest.mark.parametrize("document", [None, [], "text", {}, {"schema": 1}, {"id": "a"}])
def test_json_that_is_no_memory_says_what_is_missing(document: object) -> None:
    with pytest.raises(ValidationError, match=r"a memory (must be|needs the fields)"):
        memory_from_json(document)


# --- tombstones and claims --------------------------------------------------------------------------------------------

TOMBSTONE = Tombstone(
    id="a",
    kind=Kind.SEMANTIC,
    deletes_version=3,
    forgotten_at="2026-10-23T23:37:41.624370Z",
    reason="asked to",
    nonce="0123456789abcdef",
)


def test_a_tombstone_survives_the_round_trip() -> None:
    assert decode_tombstone(encode_tombstone(TOMBSTONE), "key") == TOMBSTONE


@pytest.mark.parametrize(
    "body",
    [
        *[b"", b"{}", b"[]", encode_tombstone(TOMBSTONE)[:-1], SPECIFIED],
        *[encode_tombstone(TOMBSTONE).replace(b":3,", b":0,"), encode_tombstone(TOMBSTONE).replace(b"2026", b"later")],
    ],
)
def test_what_is_no_tombstone_is_reported_with_its_key(body: bytes) -> None:
    with pytest.raises(CorruptError) as caught:
        decode_tombstone(body, "key")
    assert caught.value.key == "key"


@pytest.mark.parametrize("kind", Kind)
def test_a_claim_survives_the_round_trip(kind: Kind) -> None:
    assert decode_claim(encode_claim(kind), "key") is kind


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"kind":"fact"}', b"semantic"])
def test_what_is_no_claim_is_reported_with_its_key(body: bytes) -> None:
    with pytest.raises(CorruptError) as caught:
        decode_claim(body, "key")
    assert caught.value.key == "key"
