"""Vectors, shards and the segments they belong to, to test with."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from s3_agent_memory.index.segment import Segment
from s3_agent_memory.index.vectors.shard import KeyedVectors, VectorShard, build_shard, quantise
from tests.unit.index.rows import make_deletion, make_row, make_segment

MODEL = "model/1"
DIMENSION = 70

Vectors = npt.NDArray[np.float32]


def unit_vectors(rng: np.random.Generator, count: int, dimension: int = DIMENSION) -> Vectors:
    """Return vectors of length 1 in random directions."""
    vectors = rng.standard_normal((count, dimension), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def keyed(text_key: int, vectors: Vectors) -> KeyedVectors:
    """Return vectors, one for each window of a text, as they enter a shard."""
    return KeyedVectors(text_key, *quantise(vectors))


def make_shard(
    items: Mapping[int, Vectors] | Iterable[KeyedVectors], *, model: str = MODEL, dimension: int = DIMENSION
) -> VectorShard:
    """Return a shard, by way of its bytes."""
    vectors = [keyed(*item) for item in items.items()] if isinstance(items, Mapping) else items
    return VectorShard.decode(build_shard(vectors, model=model, dimension=dimension), "some.vec")


def segment_of(*rows: tuple[str, int, int], deletions: Iterable[tuple[str, int]] = (), **values: Any) -> Segment:
    """Return a segment of rows (id, version, text key) and deletions (id, version)."""
    live = [make_row(memory_id, version=version, text_key=key, **values) for memory_id, version, key in rows]
    return make_segment([*live, *(make_deletion(*item) for item in deletions)])


def contents(shard: VectorShard) -> list[tuple[int, list[list[int]], list[float]]]:
    """Return all that a shard holds as plain values."""
    return [(item.text_key, item.codes.tolist(), item.scales.tolist()) for item in shard.keyed()]
