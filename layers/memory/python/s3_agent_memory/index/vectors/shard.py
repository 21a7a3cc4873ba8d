"""Vector shards: immutable files with the quantised vectors of memories, each under the key of the text it is made of.

A vector belongs to a row of a segment if both have the same text key, which stands for id and embedded text: a vector
of an outdated text matches nothing. A long text has several vectors, one for each of its windows. See ``column_file``
for the bytes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, Self
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from s3_agent_memory.errors import CorruptError, ValidationError
from s3_agent_memory.index.column_file import Column, decode_columns
from s3_agent_memory.index.id_table import Positions
from s3_agent_memory.index.segment import Segment
from s3_agent_memory.index.vectors.layout import (
    COLUMN_DTYPES,
    DIMENSION_MAX,
    MAGIC,
    SCHEMA_VERSION,
    WORD_BITS,
    encode_shard,
    word_count,
)
from s3_agent_memory.index.vectors.match import match_text_keys

CODE_MAX: Final = 127


@dataclass(frozen=True, slots=True, eq=False)
class KeyedVectors:
    """The quantised vectors of one memory's text, one for each window of it.

    Attributes:
        text_key: 64 bits that stand for id and embedded text, not 0.
        codes: int8, (windows, dimension).
        scales: float32, (windows,); a vector is about ``codes * scale``.
    """

    text_key: int
    codes: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]


def quantise(vectors: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Return int8 codes and a float32 scale for each row, so that a row is about ``codes * scale``.

    The quantisation is symmetric: the largest absolute value of a row becomes 127 or -127.

    Args:
        vectors: (n, dimension).

    Raises:
        ValidationError: a value is infinite or not a number.
    """
    magnitudes = np.abs(vectors).max(axis=1, initial=0)
    if not np.isfinite(magnitudes).all():
        raise ValidationError("a vector must consist of finite numbers")
    scales = (magnitudes / CODE_MAX).astype(np.float32)
    divisors = np.where(scales > 0, scales, np.float32(1))
    codes = np.rint(vectors / divisors[:, None])
    return codes.clip(-CODE_MAX, CODE_MAX).astype(np.int8), scales


class VectorShard:
    """One shard as read: its columns are views of the file's bytes.

    Attributes:
        key: where it was found.
        size_bytes: size of the file.
        model: name of the embedder; vectors of different models have nothing to do with each other.
        dimension: numbers of a vector.
        row_count: vectors.
        text_keys: uint64, ascending; the vectors of one text are neighbours and share its key.
        scales: float32, 0 to 1.
        codes: int8, (row_count, dimension).
        bits: signs of the codes, uint64, (words, row_count): bit ``j`` of word ``i`` is set where number ``64 i + j``
            is positive. One word of all rows lies in one piece, so that a scan reads memory from front to back.
    """

    def __init__(self, directory: Mapping[str, object], columns: Mapping[str, Column], *, key: str, size_bytes: int):
        self.key = key
        self.size_bytes = size_bytes
        self.model = str(directory["model"])
        self.dimension = int(str(directory["dimension"]))
        self.row_count = len(columns["text_keys"])
        self.text_keys: npt.NDArray[np.uint64] = columns["text_keys"]
        self.scales: npt.NDArray[np.float32] = columns["scales"]
        self.codes: npt.NDArray[np.int8] = columns["codes"].reshape(self.row_count, self.dimension)
        self.bits: npt.NDArray[np.uint64] = columns["bits"].reshape(word_count(self.dimension), self.row_count)
        self._matches: WeakKeyDictionary[Segment, tuple[Positions, Positions]] = WeakKeyDictionary()

    @classmethod
    def decode(cls, body: bytes, key: str) -> Self:
        """Return the shard stored in ``body``, which it keeps and reads from.

        Raises:
            CorruptError: the bytes are not a shard, not all of one, or not as it was written.
        """
        directory, columns = decode_columns(body, key, magic=MAGIC, dtypes=COLUMN_DTYPES)
        if not (_is_directory_sound(directory) and _are_columns_sound(columns, int(str(directory["dimension"])))):
            raise CorruptError(f"{key} holds columns that contradict each other", key=key)
        return cls(directory, columns, key=key, size_bytes=len(body))

    @cached_property
    def starts(self) -> Positions:
        """The first row of each text, and one more: the number of rows."""
        is_first = np.ones(self.row_count + 1, np.bool_)
        np.not_equal(self.text_keys[1:], self.text_keys[:-1], out=is_first[1:-1])
        return np.flatnonzero(is_first)

    @cached_property
    def is_further_window(self) -> npt.NDArray[np.bool_]:
        """Which rows are second or later windows: the row before each is of the same text."""
        is_further = np.ones(self.row_count, np.bool_)
        is_further[self.starts[:-1]] = False
        return is_further

    @cached_property
    def further_windows(self) -> tuple[Positions, Positions]:
        """Rows of second and later windows, ascending, and the first row of each one's text."""
        rows = np.flatnonzero(self.is_further_window)
        return rows, self.starts[self.starts.searchsorted(rows, "right") - 1]

    def keyed(self) -> Iterator[KeyedVectors]:
        """Yield the vectors of each text, by ascending key; they are views of the file's bytes."""
        for start, end in pairwise(self.starts.tolist()):
            yield KeyedVectors(int(self.text_keys[start]), self.codes[start:end], self.scales[start:end])

    def match(self, segment: Segment) -> tuple[Positions, Positions]:
        """Return the rows of a segment that have vectors here, ascending, and the first row each has here.

        The answer is remembered as long as the segment is in use.
        """
        found = self._matches.get(segment)
        if found is None:
            positions, texts = match_text_keys(segment, self.text_keys[self.starts[:-1]])
            found = self._matches[segment] = positions, self.starts[texts]
        return found


def build_shard(vectors: Iterable[KeyedVectors], *, model: str, dimension: int) -> bytes:
    """Return the shard of some vectors; of a key that occurs twice the last one counts.

    Raises:
        ValidationError: an element has no vector, another shape or type, a key of 0, or a scale that is not 0 to 1;
            or there are too many.
    """
    kept = {item.text_key: item for item in vectors}
    for item in kept.values():
        _check_vectors(item, dimension)
    ordered = [kept[key] for key in sorted(kept)]
    counts = [len(item.codes) for item in ordered]
    return encode_shard(
        np.repeat(np.array([item.text_key for item in ordered], np.uint64), counts),
        np.concatenate([np.zeros(0, np.float32), *(item.scales for item in ordered)]),
        np.concatenate([np.zeros((0, dimension), np.int8), *(item.codes for item in ordered)]),
        model=model,
    )


def _check_vectors(vectors: KeyedVectors, dimension: int) -> None:
    codes, scales = vectors.codes, vectors.scales
    if not 0 < vectors.text_key < 1 << 64:
        raise ValidationError("the key of a text is a number of 64 bits above 0")
    if codes.dtype != np.int8 or codes.ndim != 2 or codes.shape[1] != dimension or not len(codes):
        raise ValidationError(f"the codes of a text are int8 of the shape (windows, {dimension}), at least one window")
    if scales.dtype != np.float32 or scales.shape != codes.shape[:1] or not _are_scales(scales):
        raise ValidationError("the scales of a text are float32, 0 to 1, one for each window")


def _are_scales(scales: Column) -> bool:
    # A unit vector has no number above 1, so its scale is far below 1; NaN fails both comparisons.
    return bool(((scales >= 0) & (scales <= 1)).all())


def _is_directory_sound(directory: Mapping[str, object]) -> bool:
    dimension = directory.get("dimension")
    is_dimension = isinstance(dimension, int) and not isinstance(dimension, bool) and 1 <= dimension <= DIMENSION_MAX
    return directory.get("schema") == SCHEMA_VERSION and isinstance(directory.get("model"), str) and is_dimension


def _are_columns_sound(columns: Mapping[str, Column], dimension: int) -> bool:
    """Return True if no look-up can leave the columns and no distance or product exceeds its type."""
    keys, bits, count = columns["text_keys"], columns["bits"], len(columns["text_keys"])
    used_bits = np.uint64((dimension - 1) % WORD_BITS + 1)
    return (
        len(columns["scales"]) == count
        and len(columns["codes"]) == count * dimension
        and len(bits) == count * word_count(dimension)
        and (count == 0 or int(keys[0]) > 0)
        and bool((keys[1:] >= keys[:-1]).all())
        and _are_scales(columns["scales"])
        and (used_bits == WORD_BITS or not (bits[len(bits) - count :] >> used_bits).any())
    )
