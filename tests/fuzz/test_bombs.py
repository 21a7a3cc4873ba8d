"""Small inputs that try to become large: memory stays in proportion to what was sent."""

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from s3_agent_memory.bootstrap import MemoryStore, Parts, Settings
from s3_agent_memory.domain.codec import decode_tombstone
from s3_agent_memory.domain.filters import parse_filter
from s3_agent_memory.domain.json_values import decode_json
from s3_agent_memory.domain.timestamps import parse_timestamp
from s3_agent_memory.edge.aws_events import decode_batch
from s3_agent_memory.errors import LimitExceededError, ValidationError
from s3_agent_memory.index.log import decode_entry
from s3_agent_memory.index.manifest import MANIFEST_BYTES_MAX, decode_manifest
from s3_agent_memory.index.segment import Segment
from s3_agent_memory.index.segment_layout import COLUMN_DTYPES
from tests.fuzz.damage import repacked
from tests.fuzz.refusals import refusal
from tests.fuzz.test_segments import BODY, HEADER

MIB = 2**20
NAMESPACE = "users/alice"


def store() -> MemoryStore:
    return Parts(Settings(url="memory://")).memories


def peak_bytes(action: Callable[[], object]) -> int:
    """Return how much memory an action had at once; it may end with an error of the library and with no other."""
    tracemalloc.start()
    try:
        error = refusal(action)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(str(error)) < 1_000
    return peak


def open_brackets(count: int) -> bytes:
    return b"[" * count


def nested_objects(count: int) -> bytes:
    return b'{"a":' * count + b"1" + b"}" * count


def long_number(count: int) -> bytes:
    return b"9" * count


def long_exponent(count: int) -> bytes:
    return b"1e" + b"9" * count


def half_a_text(count: int) -> bytes:
    return b'"' + b"\\u0000" * (count // 6)


BOMBS = [open_brackets, nested_objects, long_number, long_exponent, half_a_text]


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.__name__)
def test_a_document_takes_memory_in_proportion_to_its_bytes(bomb: Callable[[int], bytes]) -> None:
    body = bomb(MIB)
    # A text of Python has up to four bytes a character, and a list that grows is copied.
    assert peak_bytes(lambda: decode_json(body)) < 16 * len(body)


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.__name__)
@pytest.mark.parametrize("decode", [decode_tombstone, decode_entry, decode_manifest])
def test_a_stored_bomb_is_corrupt(decode: Callable[[bytes, str], object], bomb: Callable[[int], bytes]) -> None:
    body = bomb(MANIFEST_BYTES_MAX)
    assert peak_bytes(lambda: decode(body, "the/key")) < 16 * len(body)


def test_a_manifest_as_large_as_allowed_is_read_in_proportion() -> None:
    rows = ",".join(['["a",1,1]'] * (MANIFEST_BYTES_MAX // 10))
    head = f'{{"schema":1,"version":1,"nonce":"","analyzer":"","folds":[],"trash":[],"segments":[{rows}]}}'
    assert peak_bytes(lambda: decode_manifest(head.encode(), "HEAD")) < 64 * MANIFEST_BYTES_MAX


@pytest.mark.parametrize("count", [2**31, 2**40, 2**63, 10**300])
def test_a_segment_that_promises_many_elements_allocates_none_of_them(count: int) -> None:
    directory = json.loads(json.dumps(HEADER))
    for entry in directory["columns"]:
        entry[2] = count
    body = repacked(BODY, directory)
    assert {entry[0] for entry in directory["columns"]} >= set(COLUMN_DTYPES)
    assert peak_bytes(lambda: Segment.decode(body, "some.seg")) < MIB


def test_a_long_line_is_refused_by_its_length_before_it_is_read() -> None:
    line = b'{"content":"' + b"x" * (16 * MIB) + b'"}'
    memories = store()
    assert peak_bytes(lambda: memories.import_(NAMESPACE, [line])) < 2 * MIB
    assert memories.import_(NAMESPACE, [line]).errors[0].code == "limit_exceeded"


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.__name__)
def test_a_line_within_the_limit_cannot_explode(bomb: Callable[[int], bytes]) -> None:
    line = b'{"content":"x","data":' + bomb(100_000) + b"}"
    memories = store()
    assert peak_bytes(lambda: memories.import_(NAMESPACE, [line])) < 8 * MIB
    assert memories.stats(NAMESPACE).memories == 0


def test_an_import_of_many_lines_is_not_gathered_in_memory() -> None:
    lines = (b"not a line" for _ in range(20_000))
    memories = store()
    # Only the report grows: one error for each wrong line.
    assert peak_bytes(lambda: memories.import_(NAMESPACE, lines)) < 16 * MIB


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


REQUESTS: dict[str, Callable[[MemoryStore], object]] = {
    "query": lambda memories: memories.recall(NAMESPACE, "long " * MIB),
    "cursor": lambda memories: memories.list(NAMESPACE, cursor="A" * MIB),
    "content": lambda memories: memories.remember(NAMESPACE, "long " * MIB),
    "nested data": lambda memories: memories.remember(NAMESPACE, "x", data=nested(10_000)),
    "nested change": lambda memories: memories.update(NAMESPACE, "absent", data=nested(10_000)),
    "many tags": lambda memories: memories.remember(NAMESPACE, "x", tags=(str(number) for number in range(100_000))),
    "many conditions": lambda memories: memories.recall(
        NAMESPACE, "x", filter={f"data.{number}": 1 for number in range(20_000)}
    ),
    "deep path": lambda memories: memories.recall(NAMESPACE, "x", filter={"data" + ".a" * 100_000: 1}),
    "deep value": lambda memories: memories.recall(NAMESPACE, "x", filter={"data.a": nested(10_000)}),
    "namespace": lambda memories: memories.list("a/" * MIB),
    "id": lambda memories: memories.get(NAMESPACE, "a" * MIB),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_large_request_takes_little_memory(name: str) -> None:
    memories = store()
    assert peak_bytes(lambda: REQUESTS[name](memories)) < 100 * MIB


def test_a_long_query_is_refused_by_its_limit() -> None:
    with pytest.raises(LimitExceededError) as refused:
        store().recall(NAMESPACE, "x" * 2_001)
    assert refused.value.limit == "query_length_max"


def test_a_long_moment_is_refused() -> None:
    with pytest.raises(ValidationError):
        parse_timestamp("2" * MIB, field="created_at")


def test_a_filter_of_many_conditions_is_refused() -> None:
    with pytest.raises(ValidationError):
        parse_filter({"importance": {"$eq": 1}, **{f"data.{number}": 1 for number in range(32)}})


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.__name__)
def test_a_message_that_is_a_bomb_fails_alone(bomb: Callable[[int], bytes]) -> None:
    # A message of SQS has at most 256 KiB.
    record = {"messageId": "1", "body": bomb(256 * 1024).decode()}
    batches = []
    assert peak_bytes(lambda: batches.append(decode_batch({"Records": [record]}))) < 16 * MIB
    assert batches[0].messages[0].changes is None
