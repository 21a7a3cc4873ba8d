"""Vector search gives what a plain float64 computation over all memories gives, however vectors are stored."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from s3_agent_memory.index.row import Row
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.vectors import view as vector_view
from s3_agent_memory.index.vectors.merge import merge_shards
from s3_agent_memory.index.vectors.shard import KeyedVectors, VectorShard, build_shard, quantise
from s3_agent_memory.index.vectors.view import VectorView
from tests.unit.index.rows import make_deletion, make_row, make_segment, winners

DIMENSION = 96
MODEL = "model/1"
SEEDS = range(25)


@dataclass(frozen=True)
class Corpus:
    """Rows of memories, some of them updated or deleted, and the vectors of most texts; both in order of age."""

    rows: list[Row]
    items: list[KeyedVectors]
    queries: npt.NDArray[np.float32]

    def vectors_by_id(self) -> dict[str, npt.NDArray[np.float64]]:
        """Return the vectors that count, of live memories only: (windows, dimension)."""
        by_key = {item.text_key: item.codes.astype(np.float64) * item.scales[:, None] for item in self.items}
        live = (row for row in winners(self.rows).values() if not row.is_deleted)
        return {row.id: by_key[row.text_key] for row in live if row.text_key in by_key}


def clustered(rng: np.random.Generator, count: int, topics: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return unit vectors around topics, as texts lie around what they are about."""
    vectors = (
        topics[rng.integers(0, len(topics), count)] + 0.8 * rng.standard_normal((count, DIMENSION)) / DIMENSION**0.5
    )
    unit: npt.NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def random_corpus(seed: int, id_count: int = 150) -> Corpus:
    rng = np.random.default_rng(seed)
    topics = clustered(rng, 12, np.zeros((1, DIMENSION), np.float32))
    rows, items = [], []
    for number in range(2 * id_count):
        memory_id, version = f"id{rng.integers(id_count):04}", 1 + number // id_count
        if rng.random() < 0.1:
            rows.append(make_deletion(memory_id, version=version))
            continue
        key = int(rng.integers(1, 2**63))
        rows.append(make_row(memory_id, version=version, text_key=key))
        if rng.random() < 0.9:
            vectors = clustered(rng, int(rng.choice([1, 1, 1, 2, 4])), topics)
            items.append(KeyedVectors(key, *quantise(vectors)))
    # Some texts were embedded a second time, by a process that knew nothing of the first.
    again = [item.text_key for item in items[::7]]
    items.extend(KeyedVectors(key, *quantise(clustered(rng, 1, topics))) for key in again)
    return Corpus(rows, items, clustered(rng, 10, topics))


def scattered(corpus: Corpus, seed: int, *, shard_count_max: int = 5) -> VectorView:
    """Return a view of the corpus in several segments and shards, as folds would have left them."""
    rng = np.random.default_rng(seed)
    segments = [make_segment(part) for part in pieces(rng, corpus.rows, 6)]
    return VectorView(Snapshot(segments), shards_of(corpus, rng, shard_count_max))


def shards_of(corpus: Corpus, rng: np.random.Generator, count_max: int) -> list[VectorShard]:
    parts = pieces(rng, corpus.items, count_max)
    return [VectorShard.decode(build_shard(part, model=MODEL, dimension=DIMENSION), "key") for part in parts]


def pieces(rng: np.random.Generator, items: list, count_max: int) -> list[list]:
    cuts = np.sort(rng.integers(0, len(items) + 1, int(rng.integers(count_max))))
    return [items[start:end] for start, end in zip([0, *cuts], [*cuts, len(items)], strict=True)]


def live_docs(view: VectorView) -> npt.NDArray[np.int64]:
    return view._snapshot.live_docs()


def cosines_by_id(view: VectorView, query: npt.NDArray[np.float32]) -> dict[str, float]:
    docs = live_docs(view)
    cosines = view.cosines(query, docs).tolist()
    ids = [memory_id.decode() for memory_id in view._snapshot.ids(docs).tolist()]
    return {memory_id: value for memory_id, value in zip(ids, cosines, strict=True) if not math.isnan(value)}


def expected_cosines(corpus: Corpus, query: npt.NDArray[np.float32]) -> dict[str, float]:
    return {memory_id: float((vectors @ query).max()) for memory_id, vectors in corpus.vectors_by_id().items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_cosines_are_those_of_plain_arithmetic(seed):
    corpus = random_corpus(seed)
    view = scattered(corpus, seed)
    for query in corpus.queries:
        assert cosines_by_id(view, query) == pytest.approx(expected_cosines(corpus, query), abs=1e-4), f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_nearest_holds_the_best_eligible_memories(seed):
    corpus = random_corpus(seed)
    view = scattered(corpus, seed)
    rng = np.random.default_rng(seed)
    for query in corpus.queries:
        is_eligible = rng.random(view._snapshot.doc_count) < rng.choice([0.02, 0.3, 1.0])
        count = int(rng.integers(1, 30))
        found = view.nearest(query, count=count, is_eligible=is_eligible)
        docs = np.flatnonzero(is_eligible & view._has_vector)
        best = np.sort(view.cosines(query, docs))[::-1][:count]
        assert set(found.tolist()) <= set(docs.tolist()), f"seed {seed}"
        assert np.sort(view.cosines(query, found))[::-1][:count].tolist() == best.tolist(), f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_cosines_do_not_depend_on_segments_and_shards(seed):
    corpus = random_corpus(seed)
    grown, rebuilt = scattered(corpus, seed), scattered(corpus, seed + 1_000, shard_count_max=1)
    for query in corpus.queries:
        assert cosines_by_id(grown, query) == cosines_by_id(rebuilt, query), f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_merge_of_what_is_needed_changes_no_cosine_and_leaves_no_dead_row(seed):
    corpus = random_corpus(seed)
    view = scattered(corpus, seed)
    (needed,) = view._snapshot.columns(live_docs(view), "text_keys")
    body = merge_shards(view._shards, keep=lambda keys: np.isin(keys, needed))
    merged = VectorView(view._snapshot, [VectorShard.decode(body, "key")])
    assert merged.dead_row_count(0) == 0, f"seed {seed}"
    for query in corpus.queries:
        assert cosines_by_id(merged, query) == cosines_by_id(view, query), f"seed {seed}"


def test_choosing_candidates_first_misses_few_of_the_best(monkeypatch):
    corpus = random_corpus(0, id_count=2_000)
    view = scattered(corpus, 0)
    docs = np.flatnonzero(view._has_vector)
    monkeypatch.setattr(vector_view, "EXACT_COUNT_MAX", 0)
    monkeypatch.setattr(vector_view, "_CANDIDATE_COUNT_MIN", len(docs) // 5)
    hits = 0
    for query in corpus.queries:
        best = docs[np.argsort(-view.cosines(query, docs))[:10]]
        hits += len(np.intersect1d(best, view.nearest(query, count=10, is_eligible=None)))
    assert hits >= 0.97 * 10 * len(corpus.queries), hits
