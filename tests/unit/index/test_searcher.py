"""Searches give what they promise at the edges; ``tests/reference`` compares whole rankings with brute force."""

import pytest

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.ranking import Ranking
from s3_agent_memory.index.query import Query
from s3_agent_memory.index.searcher import latest, search
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.terms import BODY, term_hash
from tests.unit.index.rows import DAY_US, NOW_US, make_deletion, make_row, make_segment

BLUE = term_hash(BODY, "blue")
RED = term_hash(BODY, "red")


def searching(rows, query_terms=("blue",), **options):
    plain = {"kind": None, "tags": (), "conditions": (), "ranking": Ranking(), "now_us": NOW_US}
    query = None if query_terms is None else Query.of_terms(query_terms)
    return search(Snapshot([make_segment(rows)]), query, meaning=None, **{**plain, **options})


def ids(ranked, start=0, stop=100):
    return [candidate.id for candidate in ranked.top(start, stop)]


def listing(rows, *, before=None, limit=100, now_us=NOW_US):
    snapshot = Snapshot([make_segment(part) for part in rows])
    found = latest(snapshot, kind=None, tags=(), conditions=(), now_us=now_us, before=before, limit=limit)
    return [row.id for row in found]


def test_query_finds_rows_with_one_of_its_terms():
    rows = [make_row("a", terms={BLUE: 1}), make_row("b", terms={RED: 1}), make_row("c", terms={9: 1})]
    assert sorted(ids(searching(rows, ["blue", "red"]))) == ["a", "b"]


def test_query_without_terms_finds_nothing():
    assert searching([make_row(terms={BLUE: 1})], []).count == 0


def test_query_of_an_unknown_term_finds_nothing():
    assert ids(searching([make_row(terms={RED: 1})])) == []


def test_empty_query_ranks_by_recency_and_importance():
    rows = [
        make_row("old", created_us=NOW_US - 400 * DAY_US, importance=0.5),
        make_row("new", created_us=NOW_US, importance=0.5),
        make_row("important", created_us=NOW_US, importance=1),
    ]
    assert ids(searching(rows, None)) == ["important", "new", "old"]


def test_empty_snapshot_finds_nothing():
    assert (searching([], None).count, searching([]).count, listing([])) == (0, 0, [])


def test_best_match_has_the_whole_relevance():
    (best, *_) = searching([make_row("a", terms={BLUE: 3}, length=3), make_row("b", terms={BLUE: 1})]).top(0, 2)
    assert best.relevance == pytest.approx(0.7)


def test_best_match_is_the_best_of_the_eligible():
    rows = [
        make_row("a", terms={BLUE: 9}, kind=Kind.EPISODIC),
        make_row("b", terms={BLUE: 1}, length=9, kind=Kind.SEMANTIC),
    ]
    (found,) = searching(rows, kind=Kind.SEMANTIC).top(0, 9)
    assert found.relevance == pytest.approx(0.7)


def test_parts_add_up_to_the_score():
    rows = [make_row("a", created_us=NOW_US - 7 * DAY_US, terms={BLUE: 1}), make_row("b", terms={BLUE: 2})]
    for candidate in searching(rows).top(0, 2):
        parts = candidate.explain()
        assert parts["relevance"] + parts["recency"] + parts["importance"] == pytest.approx(candidate.score)


@pytest.mark.parametrize(
    ("kind", "age_days", "recency"),
    [
        (Kind.EPISODIC, 0, 1),
        (Kind.EPISODIC, 30, 0.5),
        (Kind.EPISODIC, 60, 0.25),
        (Kind.SEMANTIC, 180, 0.5),
        (Kind.PROCEDURAL, 10_000, 1),
        (Kind.EPISODIC, -5, 1),
    ],
)
def test_recency_halves_with_the_half_life_of_the_kind(kind, age_days, recency):
    rows = [make_row(kind=kind, created_us=NOW_US - age_days * DAY_US, terms={BLUE: 1})]
    (found,) = searching(rows, ranking=Ranking(recency=1)).top(0, 1)
    assert found.recency == pytest.approx(recency)


def test_ties_are_broken_by_creation_then_id():
    rows = [make_row("c", created_us=1), make_row("b", created_us=2), make_row("a", created_us=2)]
    assert ids(searching(rows, None, ranking=Ranking(recency=0))) == ["c", "a", "b"]


def test_pages_of_a_ranking_fit_together():
    rows = [make_row(f"id{number:03}", importance=number / 300, terms={BLUE: 1}) for number in range(300)]
    ranked = searching(rows)
    pages = [ids(ranked, start, start + 7) for start in range(0, 300, 7)]
    assert [memory_id for page in pages for memory_id in page] == ids(searching(rows), 0, 300)


def test_ranking_has_no_more_than_its_count():
    ranked = searching([make_row(f"id{number}", terms={BLUE: 1}) for number in range(5)])
    assert (ranked.count, len(ranked.top(0, 99)), ranked.top(5, 99)) == (5, 5, [])


def test_expired_and_deleted_rows_are_not_found():
    rows = [make_row("a", expires_us=NOW_US, terms={BLUE: 1}), make_deletion("b"), make_row("c", terms={BLUE: 1})]
    assert ids(searching(rows)) == ["c"]


def test_list_is_the_last_update_first():
    rows = [[make_row("a", updated_us=3), make_row("b", updated_us=1)], [make_row("c", updated_us=2)]]
    assert listing(rows) == ["a", "c", "b"]


def test_list_puts_the_greatest_id_first_where_times_are_equal():
    rows = [[make_row("a", updated_us=3), make_row("c", updated_us=3)], [make_row("b", updated_us=3)]]
    assert listing(rows) == ["c", "b", "a"]


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_pages_of_a_list_fit_together(limit):
    rows = [
        [make_row(f"id{number:02}", updated_us=number // 7) for number in range(start, 60, 3)] for start in range(3)
    ]
    updated_us = {row.id: row.updated_us for part in rows for row in part}
    found, before = [], None
    while page := listing(rows, before=before, limit=limit):
        found.extend(page)
        before = (updated_us[page[-1]], page[-1])
    assert found == listing(rows)


def test_list_goes_on_after_a_cursor_that_is_no_row():
    rows = [[make_row("a", updated_us=1), make_row("b", updated_us=3)]]
    assert listing(rows, before=(2, "zürich")) == ["a"]


def test_list_shows_only_the_row_that_counts():
    rows = [[make_row("a", version=1), make_row("b")], [make_row("a", version=2), make_deletion("b")]]
    assert listing(rows) == ["a"]


def test_list_leaves_out_what_has_expired():
    assert listing([[make_row("a", expires_us=NOW_US), make_row("b", expires_us=NOW_US + 1)]]) == ["b"]
