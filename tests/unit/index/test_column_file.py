"""A column file comes back exactly, or not at all."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.errors import CorruptError
from s3_agent_memory.index.column_file import ALIGNMENT_BYTES, decode_columns, encode_columns

MAGIC = b"TESTFILE"
DTYPES = {"numbers": ("u8",), "bytes": ("u1", "u2")}


def encode(numbers=(1, 2, 3), small=(4, 5), header=None):
    columns: dict[str, Any] = {"numbers": np.array(numbers, np.uint64), "bytes": np.array(small, np.uint8)}
    return encode_columns(MAGIC, header or {"name": "x"}, columns)


def decode(body):
    return decode_columns(body, "some.key", magic=MAGIC, dtypes=DTYPES)


@given(st.lists(st.integers(0, 2**64 - 1), max_size=40), st.lists(st.integers(0, 255), max_size=200))
def test_columns_come_back(numbers, small):
    _, columns = decode(encode(numbers, small))
    assert (columns["numbers"].tolist(), columns["bytes"].tolist()) == (numbers, small)


def test_header_comes_back():
    directory, _ = decode(encode(header={"a": [1, "zwei"]}))
    assert directory["a"] == [1, "zwei"]


def test_columns_are_views_of_the_file():
    body = encode()
    _, columns = decode(body)
    offset = columns["numbers"].ctypes.data - np.frombuffer(body, np.uint8).ctypes.data
    assert (offset % ALIGNMENT_BYTES, columns["numbers"].flags.writeable) == (0, False)


@pytest.mark.parametrize("bit", range(8))
def test_every_flipped_bit_is_noticed(bit):
    body = encode()
    for position in range(len(body)):
        damaged = bytearray(body)
        damaged[position] ^= 1 << bit
        with pytest.raises(CorruptError):
            decode(bytes(damaged))


def test_every_truncation_is_noticed():
    body = encode()
    for length in range(len(body)):
        with pytest.raises(CorruptError):
            decode(body[:length])


@pytest.mark.parametrize("extra", [b"\0", bytes(64), b"more"])
def test_bytes_after_the_end_are_noticed(extra):
    with pytest.raises(CorruptError):
        decode(encode() + extra)


@given(st.binary(max_size=200))
def test_foreign_bytes_are_refused(body):
    with pytest.raises(CorruptError):
        decode(body)


@given(st.binary(max_size=200))
def test_foreign_bytes_behind_the_magic_are_refused(body):
    with pytest.raises(CorruptError):
        decode(MAGIC + body)


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"bytes": np.zeros(1, np.uint8), "numbers": np.zeros(1, np.uint64)},
        {"numbers": np.zeros(1, np.uint32), "bytes": np.zeros(1, np.uint8)},
        {"numbers": np.zeros(1, np.uint64), "bytes": np.zeros(1, np.uint8), "more": np.zeros(1, np.uint8)},
    ],
)
def test_other_columns_than_expected_are_refused(columns):
    with pytest.raises(CorruptError):
        decode(encode_columns(MAGIC, {}, columns))


def test_error_names_the_key():
    with pytest.raises(CorruptError, match=r"some\.key") as caught:
        decode(b"nothing of the kind")
    assert caught.value.key == "some.key"
