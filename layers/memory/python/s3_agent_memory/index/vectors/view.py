"""What one reader sees of the vectors: those of a snapshot's live memories, in several shards of one model.

A small namespace is scored exactly. In a large one sign bits choose the candidates, by Hamming distance, and the int8
codes decide among them.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from s3_agent_memory.errors import ValidationError
from s3_agent_memory.index.id_table import Positions
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.top_k import top_candidates
from s3_agent_memory.index.vectors.layout import WORD_BITS, word_count
from s3_agent_memory.index.vectors.scan import QueryVector, dot_products, hamming_distances, radius_of
from s3_agent_memory.index.vectors.shard import VectorShard

Mask = npt.NDArray[np.bool_]
Vector = npt.NDArray[np.floating]

# Up to so many memories the exact scores cost less than choosing candidates first.
EXACT_COUNT_MAX: Final = 16_384
# How many vectors are scored exactly: a share of all, a multiple of the results, and never fewer than these.
# `benchmarks/vectors.py` measures what they miss.
_CANDIDATE_COUNT_MIN: Final = 4_096
_CANDIDATE_SHARE: Final = 1 / 64
_CANDIDATES_PER_RESULT: Final = 2
# Equal distances may exceed the candidates by this factor before some of them are left out.
_TIES_FACTOR: Final = 4
_FAR: Final = np.iinfo(np.uint16).max


class VectorView:
    """The vectors of a snapshot's live memories.

    A vector belongs to a row with the same text key. Where several shards hold one key, the vectors of the last one
    count. Making a view of known segments and shards costs a few milliseconds for a million memories; what a segment
    and a shard have in common is remembered by the shard.

    Attributes:
        vector_count: live memories that have a vector.
        row_count: vectors of all shards, used or not.
        dimension: numbers of one vector; 0 without a shard.
    """

    def __init__(self, snapshot: Snapshot, shards: Sequence[VectorShard]) -> None:
        """Join a snapshot with shards, in which later ones count more.

        Raises:
            ValidationError: the shards come from different models, or have different dimensions.
        """
        if len({(shard.model, shard.dimension) for shard in shards}) > 1:
            raise ValidationError("vectors of different models cannot be searched together")
        self._snapshot = snapshot
        self._shards = tuple(shards)
        self.dimension = shards[0].dimension if shards else 0
        self._bases: list[int] = np.cumsum([0, *(shard.row_count for shard in shards)]).tolist()
        self._row_of_doc = self._join()
        self._has_vector: Mask = self._row_of_doc >= 0
        self.row_count = self._bases[-1]
        self.vector_count = int(np.count_nonzero(self._has_vector))

    def missing_docs(self) -> Positions:
        """Return the live rows without a vector, as ascending document numbers."""
        return np.flatnonzero(self._snapshot.is_live & ~self._has_vector)

    def dead_row_count(self, shard_index: int) -> int:
        """Return how many rows of a shard belong to no live memory, or are superseded by a later shard."""
        rows = slice(self._bases[shard_index], self._bases[shard_index + 1])
        return int(np.count_nonzero(self._doc_of_row[rows] < 0))

    def first_windows(self, docs: Positions) -> tuple[Positions, npt.NDArray[np.float32]]:
        """Return which of some memories have a vector, as indexes into ``docs``, and that of each one's first window.

        Args:
            docs: document numbers.

        Returns:
            The indexes, and unit vectors, float32, (indexes, dimension).
        """
        places = np.flatnonzero(self._row_of_doc[docs] >= 0)
        rows = self._row_of_doc[docs[places]]
        vectors = np.empty((len(rows), self.dimension), np.float32)
        for shard, start, end in zip(self._shards, self._bases, self._bases[1:], strict=False):
            index = np.flatnonzero((rows >= start) & (rows < end))
            vectors[index] = shard.codes[rows[index] - start]
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        vectors /= np.maximum(lengths, np.float32(1))[:, None]
        return places, vectors

    def cosines(self, query: Vector, docs: Positions) -> npt.NDArray[np.float32]:
        """Return the cosine of a query and each of some memories: of several windows the best; NaN without a vector.

        Args:
            query: (dimension,), of any length; zeros have the cosine 0 to everything.
            docs: document numbers.

        Raises:
            ValidationError: the query has another dimension, or is not finite.
        """
        return self._cosines(self._quantised(query), docs)

    def nearest(self, query: Vector, *, count: int, is_eligible: Mask | None) -> Positions:
        """Return memories with the highest cosines, as ascending document numbers: ``count`` of them, or a few more.

        Beyond ``EXACT_COUNT_MAX`` memories a few may be missed: about one in a thousand of the best ten, and more of
        those far behind.

        Args:
            query: (dimension,), of any length; nothing is near to zeros.
            count: at least 1.
            is_eligible: which document numbers may be returned; None allows all. The others take nobody's place.

        Raises:
            ValidationError: the query has another dimension, or is not finite.
        """
        quantised = self._quantised(query)
        if not quantised.codes.any():
            return np.zeros(0, np.int64)
        is_open = self._has_vector if is_eligible is None else self._has_vector & is_eligible
        docs = self._candidates(quantised, is_open, count)
        if len(docs) <= count:
            return docs
        return docs[top_candidates(self._cosines(quantised, docs), count)]

    def _candidates(self, query: QueryVector, is_open: Mask, count: int) -> Positions:
        """Return all documents that are open if they are few, else those that signs tell to be near."""
        open_count = int(np.count_nonzero(is_open))
        candidate_count = max(_CANDIDATE_COUNT_MIN, int(open_count * _CANDIDATE_SHARE), count * _CANDIDATES_PER_RESULT)
        if open_count <= max(EXACT_COUNT_MAX, candidate_count):
            return np.flatnonzero(is_open)
        is_closed = self._is_dead_row if is_open is self._has_vector else ~np.append(is_open, False)[self._doc_of_row]
        return self._near_docs(query, is_closed, candidate_count)

    def _join(self) -> npt.NDArray[np.int32]:
        """Return the first row of each document's vectors, counted over all shards; -1 if it is dead or has none."""
        snapshot = self._snapshot
        row_of_doc = np.full(snapshot.doc_count, -1, np.int32)
        for shard, row_base in zip(self._shards, self._bases, strict=False):
            for segment, doc_base in zip(snapshot.segments, snapshot.bases.tolist(), strict=False):
                positions, rows = shard.match(segment)
                row_of_doc[doc_base : doc_base + segment.row_count][positions] = rows + row_base
        row_of_doc[snapshot.dead] = -1
        return row_of_doc

    @cached_property
    def _doc_of_row(self) -> npt.NDArray[np.int32]:
        """The document of each row, all shards one after the other; -1 if it is no live memory's."""
        # Documents without a vector, whose row is -1, write to one more element behind the last row.
        doc_of_row = np.full(self.row_count + 1, -1, np.int32)
        doc_of_row[self._row_of_doc] = np.arange(len(self._row_of_doc), dtype=np.int32)
        doc_of_row = doc_of_row[:-1]
        for shard, base in zip(self._shards, self._bases, strict=False):
            rows, first_rows = shard.further_windows
            doc_of_row[rows + base] = doc_of_row[first_rows + base]
        return doc_of_row

    @cached_property
    def _is_dead_row(self) -> Mask:
        return self._doc_of_row < 0

    @cached_property
    def _is_further_window(self) -> Mask:
        """Which rows continue the text of the row before; one more row, which does not, ends the last text."""
        return np.concatenate([*(shard.is_further_window for shard in self._shards), np.zeros(1, np.bool_)])

    def _quantised(self, query: Vector) -> QueryVector:
        if self._shards and query.shape != (self._shards[0].dimension,):
            raise ValidationError(f"a query vector here has {self._shards[0].dimension} numbers, not {query.shape}")
        return QueryVector.of(query)

    def _cosines(self, query: QueryVector, docs: Positions) -> npt.NDArray[np.float32]:
        cosines = np.full(len(docs), np.nan, np.float32)
        rows = self._row_of_doc[docs].astype(np.int64)
        index = np.flatnonzero(rows >= 0)
        rows = rows[index]
        while len(rows):
            # The maximum of a number and NaN is here the number.
            cosines[index] = np.fmax(cosines[index], self._row_cosines(query, rows))
            has_next = self._is_further_window[rows + 1]
            index, rows = index[has_next], rows[has_next] + 1
        return cosines

    def _row_cosines(self, query: QueryVector, rows: Positions) -> npt.NDArray[np.float32]:
        cosines = np.empty(len(rows), np.float32)
        for shard, start, end in zip(self._shards, self._bases, self._bases[1:], strict=False):
            index = np.flatnonzero((rows >= start) & (rows < end))
            if len(index):
                here = rows[index] - start
                cosines[index] = dot_products(shard.codes, here, query) * (shard.scales[here] * query.scale)
        return cosines

    def _near_docs(self, query: QueryVector, is_closed: Mask, count: int) -> Positions:
        """Return the documents of at least ``count`` rows at the smallest Hamming distances, closed rows left out."""
        distances = np.empty(self.row_count, np.uint16)
        for shard, start, end in zip(self._shards, self._bases, self._bases[1:], strict=False):
            hamming_distances(shard.bits, query, out=distances[start:end])
        np.putmask(distances, is_closed, _FAR)
        distance_max = word_count(self._shards[0].dimension) * WORD_BITS
        radius = radius_of(distances, count, distance_max=distance_max)
        rows = np.flatnonzero(distances <= radius)
        if len(rows) > _TIES_FACTOR * count:
            rows = np.concatenate((np.flatnonzero(distances < radius), np.flatnonzero(distances == radius)[:count]))
        docs = np.sort(self._doc_of_row[rows].astype(np.int64))
        # Windows of one text are several rows of one document. (numpy's unique would take longer than all the rest.)
        return docs[np.diff(docs, prepend=-1) > 0]
