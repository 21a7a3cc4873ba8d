"""Stored JSON: whatever bytes lie under a key, its reader gives the value or says that the key is corrupt."""

import base64
import json
import struct
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s3_agent_memory.domain.codec import (
    Tombstone,
    decode_claim,
    decode_memory,
    decode_tombstone,
    encode_claim,
    encode_memory,
    encode_tombstone,
)
from s3_agent_memory.domain.grants import Grant, Permission
from s3_agent_memory.domain.keys import Namespace, TruthKey
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Attribution, Memory
from s3_agent_memory.domain.validity import MemoryVersion
from s3_agent_memory.errors import CorruptError
from s3_agent_memory.index.log import LogEntry, decode_entry, encode_entry
from s3_agent_memory.index.manifest import FoldRef, Manifest, SegmentRef, TrashRef, decode_manifest, encode_manifest
from s3_agent_memory.index.row import row_of_memory
from s3_agent_memory.index.segment import Segment, build_segment
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.service.tokens import _decode_grant, _encode_grant
from s3_agent_memory.storage.port import StoredObject
from tests.fuzz.damage import ODD_VALUES, encoded, odd_bodies, paths, replaced
from tests.fuzz.refusals import refusal

KEY = "the/key"
MOMENT = datetime(2026, 5, 1, 12, tzinfo=UTC)
EXPECTED = TruthKey(Namespace(("users", "alice")), Kind.EPISODIC, "units")
MEMORY = Memory(
    id="units",
    namespace=EXPECTED.namespace,
    kind=Kind.EPISODIC,
    content="Alice prefers metric units",
    source="chat:1",
    tags=("prefs", "ü"),
    created_at=MOMENT,
    updated_at=MOMENT,
    expires_at=datetime(2030, 1, 1, tzinfo=UTC),
    data={"city": "Rome", "price": [1, 2.5, {"a": None}]},
    metadata={"lang": "en"},
    version=3,
    attribution=Attribution(user_id="u1", author="Ann"),
    valid_from=datetime(2026, 1, 1, tzinfo=UTC),
    valid_to=datetime(2029, 1, 1, tzinfo=UTC),
    supersedes=(MemoryVersion("older", 2), MemoryVersion("oldest", 1)),
    consolidated_from=(MemoryVersion("twin", 1),),
    pinned=True,
)
TOMBSTONE = Tombstone(
    id="units", kind=Kind.EPISODIC, deletes_version=2, forgotten_at="2026-05-01T12:00:00Z", reason="asked", nonce="ab"
)
GRANT = Grant(
    token_id="0" * 64,
    principal="Ann",
    namespace=EXPECTED.namespace,
    covers_children=True,
    permissions=frozenset(Permission),
    created_at=MOMENT,
    expires_at=MOMENT,
)
ENTRY = LogEntry(row_of_memory(MEMORY, etag="e", analyzer=Analyzer()), "english/1")
MANIFEST = Manifest(
    version=7,
    nonce="0123456789abcdef",
    analyzer="english/1",
    segments=(SegmentRef("0001-aa", 5, 700), SegmentRef("0002-bb", 2, 600)),
    folds=(FoldRef("0002-bb", None), FoldRef("0001-aa", 1_700_000_000_000)),
    trash=(TrashRef("0000-cc", 1_700_000_000_000),),
)


def is_escaped(body: bytes) -> bool:
    """Return True if there may be half a character in it, which no writer wrote and none could write again."""
    return b"\\ud" in body.lower()


def read_memory(body: bytes) -> None:
    memory = decode_memory(body, KEY, EXPECTED)
    assert decode_memory(encode_memory(memory), KEY, EXPECTED) == memory


def read_tombstone(body: bytes) -> None:
    tombstone = decode_tombstone(body, KEY)
    assert is_escaped(body) or decode_tombstone(encode_tombstone(tombstone), KEY) == tombstone


def read_claim(body: bytes) -> None:
    kind = decode_claim(body, KEY)
    assert decode_claim(encode_claim(kind), KEY) is kind


def read_grant(body: bytes) -> None:
    grant = _decode_grant(StoredObject(body, "e", is_truncated=False), KEY, GRANT.token_id)
    assert _decode_grant(StoredObject(_encode_grant(grant), "e", is_truncated=False), KEY, GRANT.token_id) == grant


def read_entry(body: bytes) -> None:
    entry = decode_entry(body, KEY)
    assert is_escaped(body) or decode_entry(encode_entry(entry), KEY) == entry
    # A reader makes a segment of the entries it has read, and must be able to.
    Segment.decode(build_segment([entry.row], analyzer_signature="english/1"), KEY)


def read_manifest(body: bytes) -> None:
    manifest = decode_manifest(body, KEY)
    assert is_escaped(body) or decode_manifest(encode_manifest(manifest), KEY) == manifest


FORMATS: dict[str, tuple[bytes, Callable[[bytes], None]]] = {
    "memory": (encode_memory(MEMORY), read_memory),
    "tombstone": (encode_tombstone(TOMBSTONE), read_tombstone),
    "claim": (encode_claim(Kind.EPISODIC), read_claim),
    "grant": (_encode_grant(GRANT), read_grant),
    "log entry": (encode_entry(ENTRY), read_entry),
    "manifest": (encode_manifest(MANIFEST), read_manifest),
}


@pytest.mark.parametrize("name", FORMATS)
def test_an_intact_object_is_read(name: str) -> None:
    body, read = FORMATS[name]
    read(body)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("number", range(len(ODD_VALUES)))
def test_an_odd_value_anywhere_is_read_or_corrupt(name: str, number: int) -> None:
    body, read = FORMATS[name]
    document = json.loads(body)
    for path in paths(document):
        error = refusal(partial(read, encoded(replaced(document, path, ODD_VALUES[number]))))
        assert error is None or isinstance(error, CorruptError), path


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=3 * settings().max_examples)
@given(data=st.data())
def test_any_bytes_are_read_or_corrupt(name: str, data: st.DataObject) -> None:
    body, read = FORMATS[name]
    odd = data.draw(odd_bodies(body))
    error = refusal(lambda: read(odd))
    assert error is None or (isinstance(error, CorruptError) and error.key == KEY)


@given(
    hashes=st.lists(st.integers(0, 2**64 - 1), max_size=4),
    frequencies=st.lists(st.integers(0, 3), max_size=4),
    rest=st.binary(max_size=1),
)
def test_any_packed_terms_are_read_or_corrupt(hashes: list[int], frequencies: list[int], rest: bytes) -> None:
    packed = struct.pack(f"<{len(hashes)}Q", *hashes) + bytes(frequencies) + rest
    document = json.loads(encode_entry(ENTRY)) | {"terms": base64.b64encode(packed).decode()}
    error = refusal(lambda: read_entry(json.dumps(document).encode()))
    assert error is None or "holds no readable log entry" in str(error)


@pytest.mark.parametrize("name", FORMATS)
def test_no_depth_of_nesting_escapes_as_another_error(name: str) -> None:
    body, read = FORMATS[name]
    for field in json.loads(body):
        for depth in range(1, 1_100, 7):
            nested = json.dumps({**json.loads(body), field: "HERE"}).replace('"HERE"', "[" * depth + "]" * depth)
            error = refusal(partial(read, nested.encode()))
            assert error is None or isinstance(error, CorruptError)
