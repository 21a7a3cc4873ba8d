"""Ids are found exactly, whatever their hashes do."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.index import id_table
from s3_agent_memory.index.id_table import IdTable, ranges

IDS = st.lists(st.from_regex(r"[a-z0-9][a-z0-9._-]{0,5}", fullmatch=True), unique=True, max_size=30)


@pytest.fixture(params=["own hash", "three hashes", "one hash"])
def hashing(request, monkeypatch):
    """Run a test with the real hash, and with hashes that collide."""
    bounds = {"three hashes": 3, "one hash": 1}
    if request.param in bounds:
        bound = bounds[request.param]
        monkeypatch.setattr(id_table, "id_hash", lambda memory_id: len(memory_id) % bound)


def seeded_ids(rng, count):
    return sorted({f"{rng.randrange(40):x}" * rng.randint(1, 3) for _ in range(count)})


@pytest.mark.usefixtures("hashing")
def test_every_id_is_found_at_its_position():
    ids = seeded_ids(random.Random(1), 40)
    table = IdTable.of(ids)
    assert [table.find(memory_id) for memory_id in ids] == list(range(len(ids)))


@pytest.mark.usefixtures("hashing")
def test_unknown_id_is_not_found():
    assert IdTable.of(seeded_ids(random.Random(2), 20)).find("unknown") is None


@pytest.mark.usefixtures("hashing")
@pytest.mark.parametrize("seed", range(20))
def test_match_pairs_equal_ids_only(seed):
    rng = random.Random(seed)
    left, right = seeded_ids(rng, rng.randrange(30)), seeded_ids(rng, rng.randrange(30))
    here, there = IdTable.of(left).match(IdTable.of(right))
    pairs = sorted((left[a], right[b]) for a, b in zip(here.tolist(), there.tolist(), strict=True))
    assert pairs == [(memory_id, memory_id) for memory_id in sorted(set(left) & set(right))], f"seed {seed}"


def test_match_takes_repeated_ids():
    here, there = IdTable.of(["a", "b", "a"]).match(IdTable.of(["a", "c", "d", "e"]))
    assert (sorted(here.tolist()), there.tolist()) == ([0, 2], [0, 0])


@given(IDS)
def test_texts_come_back(ids):
    assert IdTable.of(ids).texts(np.arange(len(ids))) == ids


@given(IDS)
def test_taken_ids_sort_like_the_texts(ids):
    taken = IdTable.of(ids).take(np.arange(len(ids)))
    assert [ids[position] for position in np.argsort(taken).tolist()] == sorted(ids)


def test_one_id_that_starts_another_is_not_the_same():
    table = IdTable.of(["ab", "abc", "a"])
    assert [table.find(memory_id) for memory_id in ("a", "ab", "abc", "abcd")] == [2, 0, 1, None]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=10))
def test_ranges_are_the_numbers_of_each_range(pairs):
    starts, counts = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    assert ranges(starts, counts).tolist() == [start + step for start, count in pairs for step in range(count)]
