"""The best values are selected with all that equal the last of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.index.top_k import floor_of_top, top_candidates


@given(st.lists(st.integers(0, 20), max_size=600), st.integers(1, 12))
def test_all_of_the_best_are_among_the_candidates(values, count):
    array = np.array(values, np.float64)
    kept = set(top_candidates(array, count).tolist())
    least = sorted(values, reverse=True)[:count][-1] if values else 0
    assert kept >= {index for index, value in enumerate(values) if value >= least}


@pytest.mark.parametrize("size", [11, 100, 319, 320, 321, 5_000])
def test_floor_is_reached_by_as_many_as_asked_for(size):
    values = np.random.default_rng(size).random(size)
    assert (values >= floor_of_top(values, 10)).sum() >= 10


def test_few_more_than_asked_for_are_kept():
    values = np.random.default_rng(0).random(100_000)
    assert len(top_candidates(values, 10)) < 20


def test_indexes_ascend():
    index = top_candidates(np.random.default_rng(0).random(1_000), 10)
    assert index.tolist() == sorted(index.tolist())
