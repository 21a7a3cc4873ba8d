"""Kernels give whole numbers: the same as plain integer arithmetic, however the work is cut."""

import numpy as np
import pytest

from s3_agent_memory.errors import ValidationError
from s3_agent_memory.index.vectors import scan as vector_scan
from s3_agent_memory.index.vectors.layout import DIMENSION_MAX, sign_bits
from s3_agent_memory.index.vectors.scan import QueryVector, dot_products, hamming_distances, radius_of
from tests.unit.index.vectors import unit_vectors


def distances_to(query, vectors):
    bits = np.ascontiguousarray(sign_bits(vectors).T)
    out = np.empty(len(vectors), np.uint16)
    hamming_distances(bits, QueryVector.of(query), out=out)
    return out


@pytest.mark.parametrize("dimension", [1, 3, 384, DIMENSION_MAX])
def test_dot_products_are_exact_for_the_longest_codes(dimension):
    rng = np.random.default_rng(dimension)
    query = QueryVector.of(rng.choice([-1.0, 1.0], dimension))
    signs = np.sign(query.codes).astype(np.int64)
    codes = np.array([np.where(signs > 0, 127, -128), np.where(signs > 0, -128, 127)], np.int8)
    expected = [sum(map(int.__mul__, row, query.codes.astype(np.int64).tolist())) for row in codes.tolist()]
    assert dot_products(codes, np.arange(2), query).tolist() == expected


@pytest.mark.parametrize("block_numbers", [1, 700, 1_000_000])
def test_dot_products_do_not_depend_on_blocks(monkeypatch, block_numbers):
    rng = np.random.default_rng(0)
    codes = rng.integers(-128, 128, (50, 100)).astype(np.int8)
    query, rows = QueryVector.of(rng.standard_normal(100)), rng.permutation(50)
    monkeypatch.setattr(vector_scan, "_BLOCK_NUMBERS", block_numbers)
    expected = codes[rows].astype(np.int64) @ query.codes.astype(np.int64)
    assert dot_products(codes, rows, query).tolist() == expected.tolist()


def test_a_query_counts_by_its_direction_alone():
    vector = unit_vectors(np.random.default_rng(0), 1)[0]
    assert (QueryVector.of(vector).codes == QueryVector.of(vector * np.float32(2**20)).codes).all()


def test_a_query_is_about_codes_times_scale():
    vector = unit_vectors(np.random.default_rng(0), 1, 384)[0]
    query = QueryVector.of(vector)
    assert np.abs(query.codes * query.scale - vector).max() < 1e-4


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_query_that_is_not_finite_is_refused(value):
    with pytest.raises(ValidationError, match="finite"):
        QueryVector.of(np.full(4, value, np.float32))


@pytest.mark.parametrize("block_words", [1, 20, 98_304])
@pytest.mark.parametrize("dimension", [1, 64, 65, 384, 4_000])
def test_distances_count_differing_signs(monkeypatch, dimension, block_words):
    monkeypatch.setattr(vector_scan, "_BLOCK_WORDS", block_words)
    rng = np.random.default_rng(dimension)
    vectors, query = unit_vectors(rng, 23, dimension), unit_vectors(rng, 1, dimension)[0]
    assert distances_to(query, vectors).tolist() == ((vectors > 0) != (query > 0)).sum(axis=1).tolist()


def test_the_opposite_differs_in_every_sign():
    vectors = unit_vectors(np.random.default_rng(1), 1, 4_000)
    assert distances_to(-vectors[0], vectors).tolist() == [4_000]


@pytest.mark.parametrize("count", [1, 2, 10, 99, 100])
@pytest.mark.parametrize("spread", [1, 3, 500])
def test_radius_is_the_smallest_that_holds_enough(count, spread):
    distances = np.random.default_rng(count).integers(0, spread, 100).astype(np.uint16)
    assert radius_of(distances, count, distance_max=512) == np.sort(distances)[count - 1]


def test_radius_is_the_largest_distance_where_there_are_not_enough():
    assert radius_of(np.full(3, 65_535, np.uint16), 1, distance_max=512) == 512
