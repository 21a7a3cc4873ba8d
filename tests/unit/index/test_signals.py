"""Signals: one number from 0 to 1 for each memory, 0 where its input is absent."""

from datetime import UTC, datetime

import numpy as np
import pytest

from s3_agent_memory.domain.memory import Attribution
from s3_agent_memory.index import signals
from s3_agent_memory.index.bm25 import Scores
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.terms import AUTHOR_WORD, term_hash
from s3_agent_memory.index.text.expressions import DateRange, TextFlag
from tests.unit.index.rows import make_row, make_segment, row_of

ANN = term_hash(AUTHOR_WORD, "ann")


def snapshot_of(*rows):
    return Snapshot([make_segment(rows)])


def said(memory_id, author, text="something"):
    return row_of(memory_id, content=text, attribution=Attribution(author=author))


def created(memory_id, year, month, day):
    return row_of(memory_id, created_at=datetime(year, month, day, tzinfo=UTC))


def everything(snapshot):
    return np.arange(snapshot.doc_count)


def test_an_author_is_named_by_a_part_of_the_name():
    snapshot = snapshot_of(said("a", "Ann Lee"), said("b", "Bob"), row_of("c"))
    assert signals.has_author(snapshot, everything(snapshot), [ANN]).tolist() == [1, 0, 0]


def test_the_author_of_everything_says_nothing():
    snapshot = snapshot_of(said("a", "Ann"), said("b", "Ann"))
    assert signals.has_author(snapshot, everything(snapshot), [ANN]).tolist() == [0, 0]


def test_no_name_is_nobody():
    snapshot = snapshot_of(said("a", "Ann"), said("b", "Bob"))
    assert signals.has_author(snapshot, everything(snapshot), []).tolist() == [0, 0]


def test_an_answer_counts_by_how_rare_its_kind_is():
    rows = [row_of("a", content="it took 3 days"), row_of("b", content="long"), row_of("c"), row_of("d")]
    snapshot = snapshot_of(*rows)
    assert signals.may_answer(snapshot, everything(snapshot), TextFlag.NUMBER).tolist() == [0.75, 0, 0, 0]


def test_of_several_kinds_of_answer_the_best_counts():
    rows = [row_of("a", content="3 days of June"), row_of("b", content="in June"), row_of("c"), row_of("d")]
    snapshot = snapshot_of(*rows)
    both = signals.may_answer(snapshot, everything(snapshot), TextFlag.NUMBER | TextFlag.TIME)
    assert both.tolist() == [0.75, 0.5, 0, 0]


def test_a_month_of_a_year_fades_outside():
    rows = [created("a", 2023, 5, 15), created("b", 2023, 6, 14), created("c", 2024, 5, 15)]
    snapshot = snapshot_of(*rows)
    near = signals.is_from(snapshot, everything(snapshot), DateRange(2023, 5))
    assert near == pytest.approx([1, np.exp(-(30 - 16) / 14), 0], abs=1e-9)


def test_a_month_without_a_year_is_that_of_every_year():
    snapshot = snapshot_of(created("a", 2019, 5, 2), created("b", 2023, 5, 29), created("c", 2023, 10, 1))
    near = signals.is_from(snapshot, everything(snapshot), DateRange(month=5))
    assert near == pytest.approx([1, 1, 0], abs=1e-3)


def test_a_day_is_narrower_than_a_month():
    snapshot = snapshot_of(created("a", 2023, 5, 1), created("b", 2023, 5, 20))
    near = signals.is_from(snapshot, everything(snapshot), DateRange(2023, 5, 20))
    assert near == pytest.approx([np.exp(-(19 - 3) / 14), 1])


def test_a_year_is_all_or_nothing():
    snapshot = snapshot_of(created("a", 2022, 12, 31), created("b", 2023, 1, 1), created("c", 2023, 12, 31))
    assert signals.is_from(snapshot, everything(snapshot), DateRange(2023)).tolist() == [0, 1, 1]


def test_a_conversation_has_the_score_of_its_best_turn():
    rows = [make_row("a", session=1), make_row("b", session=1), make_row("c", session=2), make_row("d")]
    scores = Scores(np.array([0, 2, 3]), np.array([2.0, 1.0, 4.0]))
    snapshot = snapshot_of(*rows)
    assert signals.best_of_session(snapshot, everything(snapshot), scores).tolist() == [0.5, 0.5, 0.25, 0]


def test_without_a_scored_turn_no_conversation_has_a_score():
    snapshot = snapshot_of(make_row("a", session=1), make_row("b"))
    nothing = Scores(np.zeros(0, np.int64), np.zeros(0))
    alone = Scores(np.array([1]), np.array([3.0]))
    found = [signals.best_of_session(snapshot, everything(snapshot), scores).tolist() for scores in (nothing, alone)]
    assert found == [[0, 0], [0, 0]]
