"""Log entries survive the round trip; anything else is reported with its key."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.memory import Attribution
from s3_agent_memory.errors import CorruptError
from s3_agent_memory.index.log import (
    ENTRY_BYTES_MAX,
    WINDOW_COUNT_MAX,
    EntryVectors,
    LogEntry,
    decode_entry,
    encode_entry,
)
from s3_agent_memory.index.row import Row, row_of_memory
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.index.vectors.shard import KeyedVectors
from tests.unit.domain.memories import make_memory

MICROSECONDS = st.integers(min_value=0, max_value=2**63 - 1)
ROWS = st.builds(
    Row,
    id=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,20}", fullmatch=True),
    kind=st.sampled_from(Kind),
    version=st.integers(min_value=1, max_value=2**53),
    is_deleted=st.booleans(),
    etag_hash=st.integers(min_value=0, max_value=2**64 - 1),
    created_us=MICROSECONDS,
    updated_us=MICROSECONDS,
    expires_us=MICROSECONDS,
    importance=st.floats(min_value=0, max_value=1),
    length=st.integers(min_value=0, max_value=2**32 - 1),
    terms=st.dictionaries(
        st.integers(min_value=0, max_value=2**64 - 1), st.integers(min_value=1, max_value=255), max_size=8
    ),
)
ENTRY = LogEntry(row_of_memory(make_memory(), etag='"etag"', analyzer=Analyzer()), Analyzer().signature)
BODY = encode_entry(ENTRY)


def changed(**values: Any) -> bytes:
    """Return the entry with other values."""
    return json.dumps({**json.loads(BODY), **values}).encode()


@given(ROWS, st.sampled_from(["english/1", "german/2"]))
def test_an_entry_survives_the_round_trip(row: Row, signature: str) -> None:
    entry = LogEntry(row, signature)
    assert decode_entry(encode_entry(entry), "key") == entry


def test_an_entry_holds_no_text() -> None:
    words = ("vegetarian", "secret", "alice@x.co")
    memory = make_memory(
        content="Alice is vegetarian", data={"k": "secret"}, attribution=Attribution(user_id="alice@x.co")
    )
    body = encode_entry(LogEntry(row_of_memory(memory, etag="e", analyzer=Analyzer()), "english/1")).decode()
    assert not [word for word in words if word in body]


def test_the_largest_memory_stays_far_below_the_limit_of_an_entry() -> None:
    limits = Limits()
    text = " ".join(f"w{number:x}" for number in range(limits.content_bytes_max))[: limits.content_bytes_max]
    data = {f"k{number}": number for number in range(2_000)}
    memory = make_memory(content=text, data=data, tags=[str(number) for number in range(limits.tag_count_max)])
    body = encode_entry(LogEntry(row_of_memory(memory, etag="e", analyzer=Analyzer()), "english/1"))
    assert len(body) < ENTRY_BYTES_MAX // 4


@pytest.mark.parametrize(
    "body",
    [
        *[b"", b"{}", b"null", b"[]", BODY[:-1], BODY[: len(BODY) // 2], b"\xff" + BODY, changed(schema=9)],
        *[changed(id="../a"), changed(kind="fact"), changed(version=0), changed(version=True), changed(updated_us=-1)],
        *[changed(expires_us=2**63), changed(etag_hash=2**64), changed(length=1.5), changed(importance=2)],
        *[changed(terms=None), changed(terms="!"), changed(terms="AAAA"), changed(terms="ü"), changed(created_us="1")],
    ],
)
def test_what_is_no_entry_is_reported_with_its_key(body: bytes) -> None:
    with pytest.raises(CorruptError) as caught:
        decode_entry(body, "memory/users/alice/_index/log/1-a")
    assert caught.value.key == "memory/users/alice/_index/log/1-a"


@given(st.integers(min_value=0, max_value=len(BODY) - 1))
def test_an_entry_cut_anywhere_is_corrupt(length: int) -> None:
    with pytest.raises(CorruptError):
        decode_entry(BODY[:length], "key")


# --- vectors ----------------------------------------------------------------------------------------------------------


def entry_with_vectors(window_count: int = 2, dimension: int = 3) -> LogEntry:
    codes = np.arange(window_count * dimension, dtype=np.int8).reshape(window_count, dimension)
    scales = np.linspace(0, 1, window_count, dtype=np.float32)
    keyed = KeyedVectors(text_key=ENTRY.row.text_key, codes=codes, scales=scales)
    return LogEntry(ENTRY.row, ENTRY.analyzer_signature, EntryVectors("model/1", keyed))


def with_vectors(**values: Any) -> bytes:
    """Return an entry whose vectors have other values."""
    document = json.loads(encode_entry(entry_with_vectors()))
    return json.dumps({**document, "vectors": {**document["vectors"], **values}}).encode()


@pytest.mark.parametrize("window_count", [1, 4, WINDOW_COUNT_MAX])
def test_vectors_survive_the_round_trip(window_count: int) -> None:
    entry = entry_with_vectors(window_count, 384)
    found = decode_entry(encode_entry(entry), "key").vectors
    assert found is not None
    assert entry.vectors is not None
    assert (found.model, found.keyed.text_key) == ("model/1", ENTRY.row.text_key)
    assert np.array_equal(found.keyed.codes, entry.vectors.keyed.codes)
    assert np.array_equal(found.keyed.scales, entry.vectors.keyed.scales)


def test_an_entry_without_vectors_does_not_mention_them() -> None:
    assert b"vectors" not in BODY


def test_all_windows_of_a_text_fit_into_an_entry() -> None:
    assert len(encode_entry(entry_with_vectors(WINDOW_COUNT_MAX, 1_024))) < ENTRY_BYTES_MAX // 4


@pytest.mark.parametrize(
    "body",
    [
        *[with_vectors(model=""), with_vectors(model=None), with_vectors(model="m" * 257), changed(vectors=[])],
        *[with_vectors(scales=""), with_vectors(scales="AAAA"), with_vectors(scales="!"), with_vectors(scales=None)],
        *[with_vectors(codes=""), with_vectors(codes="AAAA"), with_vectors(codes="!"), with_vectors(codes=7)],
        # Scales that are NaN, negative, above 1.
        *[
            with_vectors(scales="AADAfwAAwH8="),
            with_vectors(scales="AACAvwAAgL8="),
            with_vectors(scales="AAAAQAAAAEA="),
        ],
        json.dumps({**json.loads(encode_entry(entry_with_vectors())), "text_key": 0}).encode(),
    ],
)
def test_vectors_that_are_none_make_the_entry_unreadable(body: bytes) -> None:
    with pytest.raises(CorruptError):
        decode_entry(body, "key")
