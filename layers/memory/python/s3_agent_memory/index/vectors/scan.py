"""Scoring vectors against a query: exact dot products of int8 codes, and Hamming distances of sign bits.

Both are whole numbers: a memory has the same cosine on every machine, wherever its row lies and whatever is computed
beside it.
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from s3_agent_memory.errors import ValidationError
from s3_agent_memory.index.vectors.layout import sign_bits

# Sums up to this are exact in float32.
_EXACT_MAX: Final = 1 << 24
# The largest absolute value of an int8.
_CODE_BOUND: Final = 128
# Blocks that stay in a core's cache: codes as float32, and words of sign bits.
_BLOCK_NUMBERS: Final = 196_608
_BLOCK_WORDS: Final = 98_304


@dataclass(frozen=True, slots=True, eq=False)
class QueryVector:
    """A query as the kernels want it.

    Attributes:
        codes: whole numbers as float32, (dimension,).
        scale: a unit query is about ``codes * scale``.
        bits: signs, uint64, (words, 1).
    """

    codes: npt.NDArray[np.float32]
    scale: np.float32
    bits: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, vector: npt.NDArray[np.floating]) -> Self:
        """Quantise a query of any length; one of zeros stays one, and resembles nothing.

        The steps are as fine as leaves dot products exact: by Cauchy and Schwarz no partial sum of products exceeds the
        product of both lengths, and int8 codes are at most ``128 * sqrt(dimension)`` long. With 384 numbers the steps
        are 40 times finer than those of the vectors.

        Raises:
            ValidationError: the query holds something infinite or not a number.
        """
        exact = vector.astype(np.float64)
        length = float(np.linalg.norm(exact))
        if not length < np.inf:
            raise ValidationError("a query vector must consist of finite numbers")
        root = len(exact) ** 0.5
        # Rounding may add half a step in every direction.
        unit = _EXACT_MAX / (_CODE_BOUND * root) - root / 2
        codes = np.rint(exact / (length or 1) * unit).astype(np.float32)
        return cls(codes, np.float32(1 / unit), sign_bits(exact[None]).T)


def dot_products(
    codes: npt.NDArray[np.int8], rows: npt.NDArray[np.integer], query: QueryVector
) -> npt.NDArray[np.float32]:
    """Return the exact dot products of some rows of ``codes`` (n, dimension) with the query's codes."""
    products = np.empty(len(rows), np.float32)
    block_rows = max(1, _BLOCK_NUMBERS // codes.shape[1])
    for start in range(0, len(rows), block_rows):
        block = codes.take(rows[start : start + block_rows], axis=0)
        np.dot(block.astype(np.float32), query.codes, out=products[start : start + block_rows])
    return products


def hamming_distances(bits: npt.NDArray[np.uint64], query: QueryVector, *, out: npt.NDArray[np.uint16]) -> None:
    """Write to ``out`` (n,) in how many signs each row of ``bits`` (words, n) differs from the query."""
    words, row_count = bits.shape
    block_rows = max(1, _BLOCK_WORDS // words)
    differing = np.empty((words, min(block_rows, row_count)), np.uint64)
    counts = np.empty(differing.shape, np.uint8)
    for start in range(0, row_count, block_rows):
        block = bits[:, start : start + block_rows]
        width = block.shape[1]
        np.bitwise_xor(block, query.bits, out=differing[:, :width])
        np.bitwise_count(differing[:, :width], out=counts[:, :width])
        np.add.reduce(counts[:, :width], axis=0, dtype=np.uint16, out=out[start : start + width])


def radius_of(distances: npt.NDArray[np.uint16], count: int, *, distance_max: int) -> int:
    """Return the smallest distance within which at least ``count`` of ``distances`` lie, or ``distance_max``.

    Counting a few times is several times faster than a histogram, and does not mind how many distances are equal.
    """
    low, high = 0, distance_max
    while low < high:
        middle = (low + high) // 2
        if np.count_nonzero(distances <= middle) >= count:
            high = middle
        else:
            low = middle + 1
    return low
