"""Whole rankings are those of brute force: filters, mix, ties and pages."""

import random

import pytest

from s3_agent_memory.domain.filters import Condition
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.ranking import Ranking
from s3_agent_memory.index.query import Query
from s3_agent_memory.index.searcher import latest, search
from s3_agent_memory.index.terms import AUTHOR, BODY, TAG, term_hash
from tests.reference.bm25_oracle import bm25, live_rows, ranked
from tests.reference.corpora import AUTHORS, NOW_US, TAGS, random_corpus, random_query, scattered

SEEDS = range(80)
RANKINGS = [
    Ranking(),
    Ranking(relevance=1, recency=0, importance=0),
    Ranking(relevance=0, recency=0, importance=1),
    Ranking(relevance=0.1, recency=1, importance=1),
    Ranking(half_life_days={Kind.SEMANTIC: 1.0, Kind.EPISODIC: None, Kind.PROCEDURAL: 9.0}, k1=2, b=1),
]


def random_filters(rng):
    """Return kind, tags and conditions, and the test a row must pass to satisfy them."""
    kind = rng.choice([None, None, *Kind])
    tags = tuple(rng.sample(TAGS, rng.choice([0, 0, 1, 2])))
    author = rng.choice([None, *AUTHORS])
    least = rng.choice([None, 0.25, 0.5])
    conditions = [Condition(("author",), "$eq", author)] if author else []
    conditions += [Condition(("importance",), "$gte", least)] if least else []
    needed = {term_hash(TAG, tag) for tag in tags} | ({term_hash(AUTHOR, author)} if author else set())

    def is_eligible(row):
        is_alive = row.expires_us == 0 or row.expires_us > NOW_US
        is_kind = kind is None or row.kind is kind
        return is_alive and is_kind and needed <= row.terms.keys() and row.importance >= (least or 0)

    return {"kind": kind, "tags": tags, "conditions": tuple(conditions)}, is_eligible


def case(seed):
    """Return a random case: the snapshot, its live rows, a query, filters and a ranking."""
    rng = random.Random(seed)
    rows = random_corpus(rng, row_count=rng.choice([3, 120, 900]), id_count=rng.choice([5, 70, 600]))
    filters, is_eligible = random_filters(rng)
    return scattered(rng, rows), live_rows(rows), random_query(rng), filters, is_eligible, rng.choice(RANKINGS)


def assert_same_ranking(found, expected, seed):
    # Scores are compared with a tolerance; where they differ by rounding only, either order will do.
    scores = {memory_id: -negated for negated, _, memory_id in expected}
    assert sorted(candidate.id for candidate in found) == sorted(scores), f"seed {seed}"
    shown = [scores[candidate.id] for candidate in found]
    assert shown == pytest.approx(sorted(shown, reverse=True), abs=1e-6), f"seed {seed}"
    assert [candidate.score for candidate in found] == pytest.approx(shown, abs=1e-5), f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_search_ranks_like_brute_force(seed):
    snapshot, rows, words, filters, is_eligible, ranking = case(seed)
    scores = bm25(rows, [term_hash(BODY, word) for word in words], k1=ranking.k1, b=ranking.b)
    eligible = {row.id: scores[row.id] for row in rows if row.id in scores and is_eligible(row)}
    found = search(snapshot, Query.of_terms(words), meaning=None, ranking=ranking, now_us=NOW_US, **filters)
    expected = ranked(rows, eligible, ranking=ranking, now_us=NOW_US)
    assert_same_ranking(found.top(0, len(rows) + 1), expected, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_empty_query_ranks_like_brute_force(seed):
    snapshot, rows, _, filters, is_eligible, ranking = case(seed)
    eligible = {row.id: 0.0 for row in rows if is_eligible(row)}
    found = search(snapshot, None, meaning=None, ranking=ranking, now_us=NOW_US, **filters)
    expected = ranked(rows, eligible, ranking=ranking, now_us=NOW_US)
    assert [candidate.id for candidate in found.top(0, len(rows) + 1)] == [row[2] for row in expected], f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_few_are_the_head_of_the_whole_ranking(seed):
    snapshot, rows, words, filters, _, ranking = case(seed)
    options = {"query": Query.of_terms(words), "meaning": None, "ranking": ranking, "now_us": NOW_US, **filters}
    whole = search(snapshot, **options).top(0, len(rows) + 1)
    assert [search(snapshot, **options).top(0, count) for count in (1, 3, 10)] == [
        whole[:1],
        whole[:3],
        whole[:10],
    ], f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_refilled_pages_are_the_whole_ranking(seed):
    snapshot, rows, words, filters, _, ranking = case(seed)
    options = {"query": Query.of_terms(words), "meaning": None, "ranking": ranking, "now_us": NOW_US, **filters}
    found = search(snapshot, **options)
    pages = [found.top(start, start + 4) for start in range(0, found.count, 4)]
    whole = search(snapshot, **options).top(0, len(rows) + 1)
    assert [candidate for page in pages for candidate in page] == whole, f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_list_is_that_of_brute_force(seed):
    snapshot, rows, _, filters, is_eligible, _ = case(seed)
    expected = sorted(((row.updated_us, row.id) for row in rows if is_eligible(row)), reverse=True)
    found = latest(snapshot, now_us=NOW_US, before=None, limit=len(rows) + 1, **filters)
    assert [(row.updated_us, row.id) for row in found] == expected, f"seed {seed}"
