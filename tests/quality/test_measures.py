"""Measures against values worked out by hand."""

import math

import pytest

from benchmarks.quality_corpora import Question
from benchmarks.quality_measures import Row, measure, ndcg, summarise, table

GOLD = Question("which?", frozenset({"a", "b"}), "plain")


def test_recall_is_the_share_of_the_answers_among_the_first_hits() -> None:
    found = measure(GOLD, ["a", "x", "x", "x", "x", "b"])
    assert (found.recall_at_5, found.recall_at_10, found.hit_at_10) == (0.5, 1.0, 1.0)


def test_hits_after_the_tenth_do_not_count() -> None:
    found = measure(GOLD, [*"0123456789", "a", "b"])
    assert (found.recall_at_10, found.ndcg_at_10, found.hit_at_10) == (0.0, 0.0, 0.0)


def test_ndcg_of_a_perfect_ranking_is_one_even_with_more_answers_than_places() -> None:
    assert ndcg([True] * 10, 12) == pytest.approx(1.0)


def test_ndcg_discounts_by_the_logarithm_of_the_rank() -> None:
    assert ndcg([False, False, True], 1) == pytest.approx(1 / math.log2(4))


def test_a_summary_averages_over_questions_and_by_type() -> None:
    other = Question("who?", frozenset({"c"}), "other")
    rows = summarise("corpus", "system", [measure(GOLD, ["a", "b"]), measure(other, [])])
    assert [(row.type, row.questions, row.recall_at_10) for row in rows] == [
        ("all", 2, 0.5),
        ("other", 1, 0.0),
        ("plain", 1, 1.0),
    ]


def test_the_table_shows_the_difference_to_the_base() -> None:
    rows: list[Row] = [
        *summarise("corpus", "good", [measure(GOLD, ["a", "b"])]),
        *summarise("corpus", "base", [measure(GOLD, ["a"])]),
    ]
    assert [line.split()[-1] for line in table(rows, base="base").splitlines()[1:]] == ["+0.500", "+0.000"]
