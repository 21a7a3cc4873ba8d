"""The BM25 kernel gives the scores of a plain second implementation, however the rows are stored."""

import random

import numpy as np
import pytest

from s3_agent_memory.index.bm25 import inverse_document_frequency, saturation, score
from s3_agent_memory.index.segment import Segment
from s3_agent_memory.index.segment_merge import merge_segments
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.terms import BODY, term_hash
from tests.reference.bm25_oracle import bm25, live_rows
from tests.reference.corpora import random_corpus, random_query, scattered, snapshot_of

SEEDS = range(60)


def hashes(words):
    return [term_hash(BODY, word) for word in words]


def scores_by_id(snapshot, words, *, k1=0.9, b=0.4):
    scores = score(snapshot, hashes(words), k1=k1, b=b)
    return dict(zip([row.id for row in snapshot.rows_at(scores.docs)], scores.values.tolist(), strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_scores_are_those_of_the_oracle(seed):
    rng = random.Random(seed)
    rows, words = random_corpus(rng), random_query(rng)
    parameters = {"k1": rng.choice([0.0, 0.9, 1.2, 2.0]), "b": rng.choice([0.0, 0.4, 0.75, 1.0])}
    expected = bm25(live_rows(rows), hashes(words), **parameters)
    found = scores_by_id(scattered(rng, rows), words, **parameters)
    assert found == pytest.approx(expected, rel=1e-5), f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_grown_index_scores_exactly_like_a_rebuilt_one(seed):
    rng = random.Random(seed)
    rows, words = random_corpus(rng), random_query(rng)
    grown, rebuilt = scattered(rng, rows), snapshot_of(live_rows(rows))
    assert scores_by_id(grown, words) == scores_by_id(rebuilt, words), f"seed {seed}"


@pytest.mark.parametrize("seed", range(20))
def test_merged_index_scores_exactly_like_a_grown_one(seed):
    rng = random.Random(seed)
    rows, words = random_corpus(rng), random_query(rng)
    grown = scattered(rng, rows)
    body = merge_segments(grown.segments, analyzer_signature="english/1", deletion_horizon_us=1)
    assert scores_by_id(Snapshot([Segment.decode(body, "key")]), words) == scores_by_id(grown, words), f"seed {seed}"


@pytest.mark.parametrize("seed", range(20))
def test_documents_ascend_and_occur_once(seed):
    rng = random.Random(seed)
    docs = score(scattered(rng, random_corpus(rng)), hashes(random_query(rng)), k1=0.9, b=0.4).docs.tolist()
    assert docs == sorted(set(docs)), f"seed {seed}"


def test_repeated_term_counts_for_each_time():
    snapshot = snapshot_of(random_corpus(random.Random(0)))
    once, twice = scores_by_id(snapshot, ["word3"]), scores_by_id(snapshot, ["word3", "word3"])
    assert twice == pytest.approx({memory_id: 2 * value for memory_id, value in once.items()})


def test_term_that_every_document_has_still_counts():
    assert inverse_document_frequency(np.array([10]), 10)[0] > 0


def test_saturation_approaches_k1_plus_1():
    value = saturation(np.array([1e9], np.float32), np.array([5]), average_length=5, k1=1.2, b=0.75)
    assert value[0] == pytest.approx(2.2)


def test_saturation_of_one_word_in_a_text_of_average_length_is_1():
    value = saturation(np.ones(1, np.float32), np.array([5]), average_length=5, k1=1.2, b=0.75)
    assert value[0] == pytest.approx(1)
