"""Exact look-up of ids by 64-bit hash: equal hashes are told apart by the ids themselves."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Final, Self

import numpy as np
import numpy.typing as npt

_CHUNK_ROWS: Final = 16_384

Positions = npt.NDArray[np.int64]


def id_hash(memory_id: str) -> int:
    """Return the 64-bit hash by which an id is looked up."""
    return int.from_bytes(blake2b(memory_id.encode(), digest_size=8).digest(), "little")


def hash_ids(ids: Iterable[str], count: int) -> npt.NDArray[np.uint64]:
    """Return the hashes of ``count`` ids."""
    return np.fromiter(map(id_hash, ids), np.uint64, count)


class IdTable:
    """ASCII ids by position, and positions by id.

    Attributes:
        hashes: uint64 hashes, ascending.
        order: position of each hash, uint32.
        offsets: where each id starts in ``blob`` (and, one more, where the last one ends), uint32.
        blob: all ids, uint8.
    """

    def __init__(
        self,
        *,
        hashes: npt.NDArray[np.uint64],
        order: npt.NDArray[np.uint32],
        offsets: npt.NDArray[np.uint32],
        blob: npt.NDArray[np.uint8],
    ) -> None:
        self.hashes = hashes
        self.order = order
        self.offsets = offsets
        self.blob = blob

    @classmethod
    def of(cls, ids: Sequence[str]) -> Self:
        """Return the table of some ids, which may repeat."""
        return cls.of_hashed([memory_id.encode("ascii") for memory_id in ids], hash_ids(ids, len(ids)))

    @classmethod
    def of_hashed(cls, ids: Sequence[bytes], hashes: npt.NDArray[np.uint64]) -> Self:
        """Return the table of some ids whose hashes are known, both by position."""
        order = np.argsort(hashes, kind="stable").astype(np.uint32)
        offsets = np.zeros(len(ids) + 1, np.uint32)
        np.cumsum(np.fromiter(map(len, ids), np.uint32, len(ids)), out=offsets[1:])
        return cls(hashes=hashes[order], order=order, offsets=offsets, blob=np.frombuffer(b"".join(ids), np.uint8))

    def __len__(self) -> int:
        return len(self.hashes)

    def text(self, position: int) -> str:
        """Return the id at a position."""
        return self.blob[self.offsets[position] : self.offsets[position + 1]].tobytes().decode("ascii")

    def take(self, positions: npt.NDArray[np.integer]) -> npt.NDArray[np.bytes_]:
        """Return ids as an array of NUL-padded bytes, which compares and sorts like the ids."""
        width = self._fixed_width
        if width is not None:
            return _as_bytes(self.blob.reshape(-1, width)[positions])
        starts = self.offsets[positions].astype(np.int64)
        lengths = self.offsets[positions.astype(np.int64) + 1].astype(np.int64) - starts
        padded: npt.NDArray[np.uint8] = np.zeros((len(starts), int(lengths.max(initial=1))), np.uint8)
        for first in range(0, len(starts), _CHUNK_ROWS):
            chunk = slice(first, first + _CHUNK_ROWS)
            columns = np.arange(padded.shape[1])
            is_inside = columns < lengths[chunk, None]
            padded[chunk][is_inside] = self.blob[(starts[chunk, None] + columns)[is_inside]]
        return _as_bytes(padded)

    def texts(self, positions: npt.NDArray[np.integer]) -> list[str]:
        """Return the ids at some positions."""
        return [memory_id.decode("ascii") for memory_id in self.take(positions).tolist()]

    def find(self, memory_id: str) -> int | None:
        """Return the position of an id, or None."""
        wanted = id_hash(memory_id)
        index = int(np.searchsorted(self.hashes, np.uint64(wanted)))
        while index < len(self) and int(self.hashes[index]) == wanted:
            position = int(self.order[index])
            if self.text(position) == memory_id:
                return position
            index += 1
        return None

    def match(self, other: "IdTable") -> tuple[Positions, Positions]:
        """Return the positions of ids that both tables have: here, and there, in pairs.

        The smaller table is looked up in the larger one.
        """
        if len(self) > len(other):
            theirs, mine = other.match(self)
            return mine, theirs
        first = np.searchsorted(other.hashes, self.hashes)
        is_hit = other.hashes.take(first, mode="clip") == self.hashes if len(other) else np.zeros(len(self), bool)
        hits = np.flatnonzero(is_hit)
        counts = np.searchsorted(other.hashes, self.hashes[hits], "right") - first[hits]
        mine = self.order[np.repeat(hits, counts)].astype(np.int64)
        theirs = other.order[ranges(first[hits], counts)].astype(np.int64)
        is_same = self.take(mine) == other.take(theirs)
        return mine[is_same], theirs[is_same]

    @cached_property
    def _fixed_width(self) -> int | None:
        widths = np.diff(self.offsets)
        is_fixed = len(widths) > 0 and widths.min() == widths.max() > 0
        return int(widths[0]) if is_fixed else None


def _as_bytes(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.bytes_]:
    texts: npt.NDArray[np.bytes_] = rows.view(f"S{rows.shape[1]}").reshape(-1)
    return texts


def ranges(starts: npt.NDArray[np.integer], counts: npt.NDArray[np.integer]) -> Positions:
    """Return ``start, start + 1, ...`` for each start and count, one after the other.

    Example:
        >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
        [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - counts), counts).astype(np.int64)
