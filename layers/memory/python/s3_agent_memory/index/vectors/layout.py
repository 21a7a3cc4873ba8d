"""How vectors become the columns of a shard file; building and merging both end here."""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from s3_agent_memory.errors import ValidationError
from s3_agent_memory.index.column_file import Column, encode_columns

MAGIC: Final = b"S3AMVEC\x01"
SCHEMA_VERSION: Final = 1
DIMENSION_MAX: Final = 16_384
ROW_COUNT_MAX: Final = 1 << 24
WORD_BITS: Final = 64

COLUMN_DTYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "text_keys": ("u8",),
    "scales": ("f4",),
    "codes": ("i1",),
    "bits": ("u8",),
}

# Rows whose signs are packed at a time, so that a shard needs no second copy of its codes.
_CHUNK_ROWS: Final = 16_384


def encode_shard(
    text_keys: npt.NDArray[np.uint64], scales: npt.NDArray[np.float32], codes: npt.NDArray[np.int8], *, model: str
) -> bytes:
    """Return the bytes of a shard; the keys ascend and the columns agree.

    Raises:
        ValidationError: there are more vectors than a shard can hold, or they are too long.
    """
    row_count, dimension = codes.shape
    if row_count > ROW_COUNT_MAX:
        raise ValidationError(f"a vector shard holds at most {ROW_COUNT_MAX} vectors")
    if not 1 <= dimension <= DIMENSION_MAX:
        raise ValidationError(f"a vector has 1 to {DIMENSION_MAX} numbers, not {dimension}")
    columns: dict[str, Column] = {
        "text_keys": text_keys,
        "scales": scales,
        "codes": codes.reshape(-1),
        "bits": _signs_by_word(codes).reshape(-1),
    }
    return encode_columns(MAGIC, {"schema": SCHEMA_VERSION, "model": model, "dimension": dimension}, columns)


def word_count(dimension: int) -> int:
    """Return how many 64-bit words hold the signs of one vector."""
    return -(-dimension // WORD_BITS)


def sign_bits(vectors: npt.NDArray[np.number]) -> npt.NDArray[np.uint64]:
    """Return the signs of vectors (n, dimension) as bits, (n, words); what is missing from the last word is 0."""
    packed: npt.NDArray[np.uint8] = np.zeros((len(vectors), word_count(vectors.shape[1]) * 8), np.uint8)
    signs = np.packbits(vectors > 0, axis=1, bitorder="little")
    packed[:, : signs.shape[1]] = signs
    return packed.view("<u8")


def _signs_by_word(codes: npt.NDArray[np.int8]) -> npt.NDArray[np.uint64]:
    bits = np.empty((word_count(codes.shape[1]), len(codes)), np.uint64)
    for start in range(0, len(codes), _CHUNK_ROWS):
        chunk = slice(start, start + _CHUNK_ROWS)
        bits[:, chunk] = sign_bits(codes[chunk]).T
    return bits
