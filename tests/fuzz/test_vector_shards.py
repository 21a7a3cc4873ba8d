"""Vector shards: whatever a file holds, even under right checksums, it is corrupt or can be searched and merged."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s3_agent_memory.errors import CorruptError
from s3_agent_memory.index.column_file import decode_columns, encode_columns
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.vectors.layout import COLUMN_DTYPES, MAGIC
from s3_agent_memory.index.vectors.merge import merge_shards
from s3_agent_memory.index.vectors.scan import QueryVector
from s3_agent_memory.index.vectors.shard import VectorShard, build_shard
from s3_agent_memory.index.vectors.view import VectorView
from tests.fuzz.damage import damaged, odd_documents, repacked
from tests.unit.index.vectors import DIMENSION, MODEL, keyed, make_shard, segment_of, unit_vectors

KEY = "some.vec"
MORE_EXAMPLES = settings(max_examples=3 * settings().max_examples)
RNG = np.random.default_rng(0)
BODY = build_shard(
    [keyed(key, unit_vectors(RNG, 1 + key % 3)) for key in range(1, 7)], model=MODEL, dimension=DIMENSION
)
HEADER, COLUMNS = decode_columns(BODY, KEY, magic=MAGIC, dtypes=COLUMN_DTYPES)
OTHER = make_shard({key: unit_vectors(RNG, 1) for key in range(5, 9)})
SNAPSHOT = Snapshot(
    [segment_of(*((f"id{key}", 1, key) for key in range(1, 8))), segment_of(("id3", 2, 9), deletions=[("id2", 1)])]
)


def read_and_use(body: bytes) -> None:
    """Read a shard, and do everything with it that readers, embedders and merges do."""
    try:
        shard = VectorShard.decode(body, KEY)
    except CorruptError:
        return
    assert sum(len(item.codes) for item in shard.keyed()) == shard.row_count
    others = [OTHER] if (shard.model, shard.dimension) == (OTHER.model, OTHER.dimension) else []
    for shards in ([shard, *others], [*others, shard]):
        search(VectorView(SNAPSHOT, shards), len(shards))
        VectorShard.decode(merge_shards(shards, keep=lambda keys: keys % np.uint64(2) == 0), KEY)


def search(view: VectorView, shard_count: int) -> None:
    """Score all memories, look for the nearest, and count what is missing and dead."""
    query = np.ones(view._shards[0].dimension, np.float32)
    cosines = view.cosines(query, SNAPSHOT.live_docs())
    assert not np.isinf(cosines).any()
    assert np.isnan(cosines).sum() == len(view.missing_docs()) == SNAPSHOT.live_count - view.vector_count
    assert len(view.nearest(query, count=2, is_eligible=None)) >= min(2, view.vector_count)
    if view.row_count:
        view._near_docs(QueryVector.of(query), view._is_dead_row, 2)
    assert sum(view.dead_row_count(index) for index in range(shard_count)) <= view.row_count


@st.composite
def odd_columns(draw: st.DrawFn) -> dict[str, npt.NDArray[Any]]:
    """Draw the columns of a shard with a few odd elements, or one of another length."""
    columns = dict(COLUMNS)
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from(sorted(columns)))
        columns[name] = _odd_column(draw, columns[name])
    return columns


def _odd_column(draw: st.DrawFn, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    copy = column.copy()
    if not len(copy):
        return copy
    first, second = (draw(st.integers(0, len(copy) - 1)) for _ in range(2))
    change = draw(st.sampled_from(["element", "element", "swap", "repeat", "shorten", "lengthen", "empty"]))
    if change in ("empty", "shorten"):
        return copy[: first if change == "shorten" else 0]
    if change == "lengthen":
        return np.concatenate([copy, copy[: 1 + first]])
    if change == "swap":
        copy[[first, second]] = copy[[second, first]]
    elif change == "repeat":
        copy[first] = copy[second]
    else:
        copy[first] = draw(st.sampled_from(_odd_elements(copy.dtype)))
    return copy


def _odd_elements(dtype: np.dtype[Any]) -> list[Any]:
    if dtype.kind == "f":
        return [0.0, 1.0, -1.0, 2.0, 1e-45, 3e38, float("nan"), float("inf")]
    limits = np.iinfo(dtype)
    return [limits.min, limits.max, *(value for value in (0, 1, 7, 64, 1 << 62) if value <= limits.max)]


def test_an_intact_shard_is_read() -> None:
    assert VectorShard.decode(BODY, KEY).row_count == 12
    read_and_use(BODY)


@MORE_EXAMPLES
@given(damaged(BODY))
def test_damaged_bytes_are_corrupt_or_usable(body: bytes) -> None:
    read_and_use(body)


@given(st.integers(0, 8 * len(BODY) - 1))
def test_no_flipped_bit_goes_unnoticed(bit: int) -> None:
    body = bytearray(BODY)
    body[bit // 8] ^= 1 << (bit % 8)
    with pytest.raises(CorruptError, match=KEY):
        VectorShard.decode(bytes(body), KEY)


@MORE_EXAMPLES
@given(odd_columns())
def test_odd_columns_under_right_checksums_are_corrupt_or_usable(columns: Mapping[str, npt.NDArray[Any]]) -> None:
    header = {name: value for name, value in HEADER.items() if name != "columns"}
    read_and_use(encode_columns(MAGIC, header, columns))


@MORE_EXAMPLES
@given(odd_documents(json.loads(json.dumps(HEADER))))
def test_an_odd_directory_under_a_right_checksum_is_corrupt_or_usable(directory: Any) -> None:
    read_and_use(repacked(BODY, directory))


@given(st.integers(-2, 2**20), st.sampled_from([0, 1, 6, 12]))
def test_any_dimension_and_row_count_are_corrupt_or_usable(dimension: int, row_count: int) -> None:
    columns = {
        "text_keys": COLUMNS["text_keys"][:row_count],
        "scales": COLUMNS["scales"][:row_count],
        "codes": np.ones(min(10**6, max(0, row_count * dimension)), np.int8),
        "bits": np.zeros(min(10**6, max(0, row_count * -(-dimension // 64))), np.uint64),
    }
    read_and_use(encode_columns(MAGIC, {"schema": 1, "model": MODEL, "dimension": dimension}, columns))


@given(st.sampled_from(sorted(COLUMN_DTYPES)), st.sampled_from([-1, 0, 2**31, 2**32, 2**63, 2**64, 10**30]))
def test_absurd_counts_are_corrupt(name: str, count: int) -> None:
    directory = json.loads(json.dumps(HEADER))
    entry = next(item for item in directory["columns"] if item[0] == name)
    entry[2] = count
    with pytest.raises(CorruptError, match=KEY):
        VectorShard.decode(repacked(BODY, directory), KEY)
