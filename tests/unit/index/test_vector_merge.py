"""Merging shards gives what building one of the surviving vectors gives, byte for byte."""

import numpy as np
import pytest

from s3_agent_memory.errors import ValidationError
from s3_agent_memory.index.vectors import merge as vector_merge
from s3_agent_memory.index.vectors.merge import merge_shards
from s3_agent_memory.index.vectors.shard import VectorShard, build_shard
from tests.unit.index.vectors import DIMENSION, MODEL, contents, keyed, make_shard, unit_vectors


def everything(keys):
    return np.ones(len(keys), np.bool_)


def random_items(rng, key_count):
    keys = rng.integers(1, key_count, int(rng.integers(20))).tolist()
    return [keyed(key, unit_vectors(rng, int(rng.integers(1, 4)))) for key in keys]


@pytest.mark.parametrize("chunk_rows", [3, 16_384])
@pytest.mark.parametrize("seed", range(30))
def test_merge_equals_build(monkeypatch, seed, chunk_rows):
    monkeypatch.setattr(vector_merge, "_CHUNK_ROWS", chunk_rows)
    rng = np.random.default_rng(seed)
    parts = [random_items(rng, 25) for _ in range(int(rng.integers(1, 5)))]
    kept = np.flatnonzero(rng.random(25) < 0.7)
    body = merge_shards([make_shard(part) for part in parts], keep=lambda keys: np.isin(keys, kept))
    survivors = [item for part in parts for item in part if item.text_key in kept]
    assert body == build_shard(survivors, model=MODEL, dimension=DIMENSION), f"seed {seed}"


def test_the_later_shard_wins_with_fewer_windows():
    rng = np.random.default_rng(0)
    older, newer = make_shard({5: unit_vectors(rng, 3)}), make_shard({5: unit_vectors(rng, 1)})
    assert contents(VectorShard.decode(merge_shards([older, newer], keep=everything), "key")) == contents(newer)


def test_keys_are_asked_for_once_in_ascending_order():
    asked: list[int] = []

    def keep(keys):
        asked.extend(keys.tolist())
        return everything(keys)

    rng = np.random.default_rng(0)
    shards = [make_shard({9: unit_vectors(rng, 2), 3: unit_vectors(rng, 1)}), make_shard({3: unit_vectors(rng, 2)})]
    merge_shards(shards, keep=keep)
    assert asked == [3, 9]


def test_a_merge_may_leave_nothing():
    shard = make_shard({1: unit_vectors(np.random.default_rng(0), 1)})
    body = merge_shards([shard], keep=lambda keys: ~everything(keys))
    assert contents(VectorShard.decode(body, "key")) == []


def test_empty_shards_merge():
    assert contents(VectorShard.decode(merge_shards([make_shard({}), make_shard({})], keep=everything), "key")) == []


@pytest.mark.parametrize("shards", [[], [make_shard({}), make_shard({}, model="other")]])
def test_shards_that_do_not_go_together_are_refused(shards):
    with pytest.raises(ValidationError, match="model"):
        merge_shards(shards, keep=everything)
