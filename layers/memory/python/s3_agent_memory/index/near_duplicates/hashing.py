"""Locality-sensitive hashing: rows that resemble each other share a bucket, so that nobody compares all with all.

Sets of weighted terms are hashed by a race of exponential variables, in which the shares of equal winners estimate the
weighted Jaccard similarity (the MinHash of Broder 1997, weighted as in Yang et al., "P-MinHash", 2016). Vectors are
hashed by the sides of random hyperplanes that they lie on (Charikar 2002). Both end in bands: rows that agree in one
whole band are neighbours there. In a crowded bucket a row meets only the rows next to it, in the order of another band.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

HASH_COUNT: Final = 32
BAND_HASHES: Final = 2
PLANE_COUNT: Final = 384
BAND_PLANES: Final = 12
# How many rows behind it a row is compared with in each band.
_WINDOW: Final = 16
_SEED: Final = 0x5EED_0F_5A11
_GOLDEN: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
_MIX_1: Final = np.uint64(0xBF58_476D_1CE4_E5B9)
_MIX_2: Final = np.uint64(0x94D0_49BB_1331_11EB)
_BLOCK_ROWS: Final = 8_192


@dataclass(frozen=True, slots=True, eq=False)
class WeightedSets:
    """Sets of terms with weights that belong to the terms.

    Attributes:
        offsets: where each set starts in ``terms``, and one more: where the last one ends; no set is empty.
        terms: indexes into ``hashes`` and ``weights``, set after set.
        hashes: 64 bits of each term.
        weights: above 0.
    """

    offsets: npt.NDArray[np.int64]
    terms: npt.NDArray[np.int64]
    hashes: Keys
    weights: npt.NDArray[np.float64]


def term_signatures(sets: WeightedSets) -> Keys:
    """Return ``HASH_COUNT`` hashes of each set, (sets, hashes): two sets agree in about their Jaccard share of them."""
    signatures = np.empty((len(sets.offsets) - 1, HASH_COUNT), np.uint64)
    for number in range(HASH_COUNT):
        salt = np.uint64((number + 1) * int(_GOLDEN) % 2**64)
        uniform = (_mixed(sets.hashes + salt) >> np.uint64(11)) * 2.0**-53
        arrivals = -np.log1p(-uniform) / sets.weights
        signatures[:, number] = np.minimum.reduceat(arrivals[sets.terms], sets.offsets[:-1]).view(np.uint64)
    return signatures


def term_bands(signatures: Keys) -> Keys:
    """Return one key a band of each row, (bands, rows)."""
    pairs = signatures.reshape(len(signatures), -1, BAND_HASHES)
    keys = pairs[:, :, 0]
    for number in range(1, BAND_HASHES):
        keys = _mixed(keys + _GOLDEN) ^ pairs[:, :, number]
    return np.ascontiguousarray(keys.T)


def plane_sides(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    """Return on which sides of ``PLANE_COUNT`` planes through the centre of all vectors each one lies, packed bits.

    Vectors of one model have much in common; around their centre they spread, and buckets are even.

    Args:
        vectors: (rows, dimension).
    """
    planes = np.random.default_rng(_SEED).standard_normal((vectors.shape[1], PLANE_COUNT)).astype(np.float32)
    thresholds = vectors.mean(axis=0, dtype=np.float64).astype(np.float32) @ planes
    blocks = (vectors[start : start + _BLOCK_ROWS] for start in range(0, len(vectors), _BLOCK_ROWS))
    packed = [np.packbits(block @ planes > thresholds, axis=1, bitorder="little") for block in blocks]
    return np.concatenate(packed) if packed else np.zeros((0, PLANE_COUNT // 8), np.uint8)


def plane_bands(sides: npt.NDArray[np.uint8]) -> Keys:
    """Return one key a band of each row, (bands, rows)."""
    bits = np.unpackbits(sides, axis=1, bitorder="little").reshape(len(sides), -1, BAND_PLANES)
    powers = (1 << np.arange(BAND_PLANES)).astype(np.uint16)
    return np.ascontiguousarray((bits * powers).sum(axis=2, dtype=np.uint64).T)


def neighbours(bands: Keys, *, window: int = _WINDOW) -> Iterator[tuple[Rows, Rows]]:
    """Yield pairs of rows that agree in a band; a pair may come again from another band.

    Args:
        bands: (bands, rows).
        window: how far apart two rows of one bucket may be, in the order of the next band.
    """
    for number, keys in enumerate(bands):
        order = np.lexsort((bands[(number + 1) % len(bands)], keys))
        ordered = keys[order]
        for distance in range(1, min(window, len(order) - 1) + 1):
            is_together = np.flatnonzero(ordered[distance:] == ordered[:-distance])
            if not len(is_together):
                break
            left, right = order[is_together], order[is_together + distance]
            yield np.minimum(left, right), np.maximum(left, right)


def _mixed(values: Keys) -> Keys:
    """Return 64 bits that look random for each number (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * _MIX_1
    values = (values ^ (values >> np.uint64(27))) * _MIX_2
    return values ^ (values >> np.uint64(31))
