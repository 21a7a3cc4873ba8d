"""A vector shard gives vectors back as they were, and refuses bytes that are not a shard."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from s3_agent_memory.errors import CorruptError, ValidationError
from s3_agent_memory.index.column_file import decode_columns, encode_columns
from s3_agent_memory.index.vectors.layout import COLUMN_DTYPES, DIMENSION_MAX, MAGIC
from s3_agent_memory.index.vectors.shard import KeyedVectors, VectorShard, build_shard, quantise
from tests.unit.index.vectors import DIMENSION, MODEL, contents, keyed, make_shard, segment_of, unit_vectors

FLOATS = st.floats(-(2.0**60), 2.0**60, width=32)
KEYS = st.integers(1, 2**64 - 1)
GOOD = build_shard(
    [keyed(key, unit_vectors(np.random.default_rng(key), 1 + key % 2)) for key in range(1, 6)],
    model=MODEL,
    dimension=DIMENSION,
)


@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2), elements=FLOATS))
def test_a_vector_is_about_codes_times_scale(vectors):
    codes, scales = quantise(vectors)
    steps = scales[:, None].astype(np.float64)
    # Half a step, and the rounding of numbers too small for float32 to keep all their digits.
    assert (np.abs(codes * steps - vectors) <= 0.501 * steps + 1e-42).all()


def test_the_largest_number_of_a_vector_becomes_127():
    codes, _ = quantise(np.array([[0.1, -0.5], [0.25, 0.0]], np.float32))
    assert codes.tolist() == [[25, -127], [127, 0]]


def test_zeros_stay_zeros():
    codes, scales = quantise(np.zeros((1, 3), np.float32))
    assert (codes.tolist(), scales.tolist()) == ([[0, 0, 0]], [0.0])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_not_quantised(value):
    with pytest.raises(ValidationError, match="finite"):
        quantise(np.array([[0.5, value]], np.float32))


@pytest.mark.parametrize("dimension", [1, 5, 64, 65, 384])
def test_vectors_come_back_by_ascending_key(dimension):
    rng = np.random.default_rng(dimension)
    items = [keyed(key, unit_vectors(rng, windows, dimension)) for key, windows in [(9, 1), (2**64 - 1, 3), (1, 2)]]
    shard = make_shard(items, dimension=dimension)
    expected = sorted((item.text_key, item.codes.tolist(), item.scales.tolist()) for item in items)
    assert contents(shard) == expected


def test_directory_comes_back():
    shard = VectorShard.decode(GOOD, "some.vec")
    assert (shard.key, shard.size_bytes, shard.model, shard.dimension) == ("some.vec", len(GOOD), MODEL, DIMENSION)


@given(st.lists(KEYS, max_size=8, unique=True), st.randoms())
def test_bytes_do_not_depend_on_the_order_of_vectors(keys, rng):
    items = [keyed(key, unit_vectors(np.random.default_rng(key), 1 + key % 3)) for key in keys]
    shuffled = rng.sample(items, len(items))
    first, second = (build_shard(part, model=MODEL, dimension=DIMENSION) for part in (items, shuffled))
    assert first == second


def test_the_last_of_equal_keys_counts():
    first, last = (unit_vectors(np.random.default_rng(seed), windows) for seed, windows in [(1, 3), (2, 2)])
    assert contents(make_shard([keyed(7, first), keyed(7, last)])) == contents(make_shard({7: last}))


def test_a_shard_may_be_empty():
    assert contents(make_shard({})) == []


def test_columns_are_views_of_the_file():
    shard = VectorShard.decode(GOOD, "some.vec")
    assert [column.flags.owndata for column in (shard.codes, shard.bits)] == [False, False]


@pytest.mark.parametrize("dimension", [1, 63, 64, 65, 200])
def test_bits_are_the_signs_of_the_codes(dimension):
    shard = make_shard({1: unit_vectors(np.random.default_rng(dimension), 4, dimension)}, dimension=dimension)
    for row in range(shard.row_count):
        number = sum(int(word) << (64 * index) for index, word in enumerate(shard.bits[:, row]))
        assert [number >> place & 1 for place in range(dimension)] == (shard.codes[row] > 0).tolist()
        assert number >> dimension == 0


CODES, SCALES = np.ones((1, DIMENSION), np.int8), np.ones(1, np.float32)


@pytest.mark.parametrize(
    "vectors",
    [
        KeyedVectors(0, CODES, SCALES),
        KeyedVectors(1 << 64, CODES, SCALES),
        KeyedVectors(1, CODES[:0], SCALES[:0]),
        KeyedVectors(1, CODES[0], SCALES),
        KeyedVectors(1, CODES[:, 1:], SCALES),
        KeyedVectors(1, CODES.astype(np.int16), SCALES),
        KeyedVectors(1, CODES, np.ones(2, np.float32)),
        KeyedVectors(1, CODES, np.ones(1, np.float16)),
        KeyedVectors(1, CODES, -SCALES),
        KeyedVectors(1, CODES, 2 * SCALES),
        KeyedVectors(1, CODES, SCALES * np.float32("nan")),
    ],
)
def test_vectors_that_no_shard_may_hold_are_refused(vectors):
    with pytest.raises(ValidationError):
        build_shard([vectors], model=MODEL, dimension=DIMENSION)


@pytest.mark.parametrize("dimension", [0, DIMENSION_MAX + 1])
def test_a_dimension_out_of_bounds_is_refused(dimension):
    with pytest.raises(ValidationError, match=str(DIMENSION_MAX)):
        build_shard([], model=MODEL, dimension=dimension)


def changed(**columns):
    """Return the good shard with other columns or another header, under right checksums."""
    header, present = decode_columns(GOOD, "", magic=MAGIC, dtypes=COLUMN_DTYPES)
    plain = {name: value for name, value in header.items() if name != "columns"}
    replaced = {name: columns.pop(name)(value) for name, value in present.items() if name in columns}
    return encode_columns(MAGIC, {**plain, **columns}, {**present, **replaced})


def with_element(index, value):
    """Return a function that copies a column with one element replaced."""

    def replace(column):
        copy = column.copy()
        copy[index] = value
        return copy

    return replace


def test_unchanged_columns_are_read():
    assert VectorShard.decode(changed(), "key").row_count == VectorShard.decode(GOOD, "key").row_count


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": 2},
        {"model": None},
        {"dimension": 0},
        {"dimension": True},
        {"dimension": "70"},
        {"dimension": DIMENSION_MAX + 1},
        {"dimension": DIMENSION - 1},
        {"text_keys": lambda keys: keys[::-1]},
        {"text_keys": lambda keys: keys[1:]},
        {"text_keys": with_element(0, 0)},
        {"scales": lambda scales: scales[1:]},
        {"scales": with_element(1, -0.25)},
        {"scales": with_element(1, 1.5)},
        {"scales": with_element(1, np.nan)},
        {"codes": lambda codes: codes[1:]},
        {"bits": lambda bits: bits[1:]},
        {"bits": with_element(-1, 1 << (DIMENSION - 64))},
    ],
)
def test_columns_that_contradict_each_other_are_corrupt(changes):
    with pytest.raises(CorruptError, match=r"some\.vec"):
        VectorShard.decode(changed(**changes), "some.vec")


@pytest.mark.parametrize("size", [0, 5, 64, len(GOOD) - 64])
def test_a_part_of_a_shard_is_corrupt(size):
    with pytest.raises(CorruptError, match=r"some\.vec"):
        VectorShard.decode(GOOD[:size], "some.vec")


@pytest.mark.parametrize("seed", range(40))
def test_rows_are_matched_with_their_vectors(seed):
    rng = np.random.default_rng(seed)
    # One side is much the larger one in every other case; a text has one to three windows.
    sizes = [int(rng.integers(60)), int(rng.integers(5))][:: 1 - 2 * (seed % 2)]
    segment = segment_of(*((f"id{number}", 1, int(rng.integers(1, 40))) for number in range(sizes[0])))
    shard = make_shard({int(key): unit_vectors(rng, 1 + int(key) % 3) for key in rng.integers(1, 40, sizes[1])})
    keys = shard.text_keys.tolist()
    expected = [(row, keys.index(key)) for row, key in enumerate(segment.text_keys.tolist()) if key in keys]
    positions, rows = shard.match(segment)
    assert list(zip(positions.tolist(), rows.tolist(), strict=True)) == expected, f"seed {seed}"


def test_deletions_match_nothing():
    positions, _ = make_shard({1: CODES.astype(np.float32)}).match(segment_of(deletions=[("a", 1)]))
    assert not len(positions)


def test_a_match_is_remembered():
    shard, segment = VectorShard.decode(GOOD, "key"), segment_of(("a", 1, 3))
    assert shard.match(segment)[0] is shard.match(segment)[0]


@pytest.mark.parametrize("row_count", [1, 9])
def test_a_match_keeps_no_segment_alive(row_count):
    shard = VectorShard.decode(GOOD, "key")
    segment = segment_of(*((f"id{number}", 1, 1 + number) for number in range(row_count)))
    shard.match(segment)
    watched = weakref.ref(segment)
    del segment
    gc.collect()
    assert watched() is None
