"""What the index decides about a filter never shuts out a memory that satisfies it."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from s3_agent_memory.domain.clock import to_datetime, to_us
from s3_agent_memory.domain.filters import matches, parse_filter
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Attribution
from s3_agent_memory.index.eligibility import Eligibility
from s3_agent_memory.index.row import row_of_memory
from s3_agent_memory.index.snapshot import Snapshot
from tests.unit.index.rows import ANALYZER, MOMENT, make_memory, make_segment

DAY = timedelta(days=1)
NOW_US = to_us(MOMENT)
MEMORIES = [
    make_memory("plain"),
    make_memory("tagged", tags=("red", "blue"), kind=Kind.EPISODIC, importance=0.7),
    make_memory("red", tags=("red",), importance=0.1, source="chat"),
    make_memory("old", created_at=MOMENT - DAY, updated_at=MOMENT - DAY, importance=0),
    make_memory("new", updated_at=MOMENT + DAY, importance=1, data={"city": "Rome", "price": 10}),
    make_memory("later", expires_at=MOMENT + 9 * DAY, data={"city": "Oslo", "price": 2.5, "deep": {"er": [1]}}),
    make_memory("ann", attribution=Attribution(user_id="u", author="Ann"), metadata={"city": "Rome"}),
    make_memory("bob", attribution=Attribution(user_id="v", author="Bob"), kind=Kind.PROCEDURAL),
    make_memory("epoch", created_at=to_datetime(0), updated_at=to_datetime(0)),
    make_memory("rich", data={**{f"k{number}": number for number in range(400)}, "city": "Rome"}),
]
ROWS = [row_of_memory(memory, etag="e", analyzer=ANALYZER) for memory in MEMORIES]
SNAPSHOT = Snapshot([make_segment(ROWS[:4]), make_segment(ROWS[4:])])

# Filters that the index decides completely, and those of which it decides a part or nothing.
DECIDED = [
    {"tags": "red"},
    {"source": "chat"},
    {"kind": "episodic"},
    {"kind": {"$ne": "semantic"}},
    {"kind": "unknown"},
    {"id": "ann"},
    {"id": {"$ne": "ann"}},
    {"id": "unknown"},
    {"user_id": "u"},
    {"author": "Bob", "user_id": "v"},
    {"created_at": MOMENT},
    {"created_at": {"$lt": MOMENT}},
    {"created_at": {"$gte": MOMENT}, "updated_at": {"$lte": MOMENT}},
    {"updated_at": {"$gt": MOMENT}},
    {"created_at": {"$ne": MOMENT}},
    {"created_at": None},
    {"expires_at": None},
    {"expires_at": {"$ne": None}},
    {"expires_at": {"$gt": MOMENT}},
    {"expires_at": {"$lt": datetime(2100, 1, 1, tzinfo=UTC)}},
    {"expires_at": {"$ne": MOMENT}},
    {"expires_at": {"$gt": None}},
    {"importance": 0.7},
    {"importance": {"$gte": 0.7}},
    {"importance": {"$lte": 0.1}},
    {"importance": {"$gt": 10**400}},
]
HALF_DECIDED = [
    {"metadata.city": "Rome"},
    {"data.city": "Rome"},
    {"data.deep": {"er": [1]}},
    {"data.deep.er": [1]},
    {"data.price": 10.0},
    {"data.k399": 399},
    {"data.price": {"$gte": 3}},
    {"data.city": {"$ne": "Rome"}},
    {"data.city": None},
    {"user_id": None},
    {"tags": {"$ne": "red"}},
    {"importance": {"$gt": 0.7}},
    {"importance": {"$lt": 0.1}},
    {"importance": {"$ne": 0.7}},
]


def eligible(*, now_us=NOW_US, kind=None, tags=(), conditions=()):
    docs = Eligibility(kind=kind, tags=tags, conditions=conditions, now_us=now_us).docs(SNAPSHOT)
    return {row.id for row in SNAPSHOT.rows_at(docs)}


def kept(conditions):
    docs = np.arange(SNAPSHOT.doc_count)
    mask = Eligibility(kind=None, tags=(), conditions=conditions, now_us=NOW_US).keep(SNAPSHOT, docs)
    return {row.id for row in SNAPSHOT.rows_at(docs if mask is None else docs[mask])}


def satisfying(conditions):
    return {memory.id for memory in MEMORIES if matches(memory, conditions)}


@pytest.mark.parametrize("wanted", DECIDED, ids=str)
def test_filter_is_decided_by_the_index(wanted):
    conditions = parse_filter(wanted)
    assert eligible(conditions=conditions) == satisfying(conditions)


@pytest.mark.parametrize("wanted", HALF_DECIDED, ids=str)
def test_filter_lets_every_memory_pass_that_satisfies_it(wanted):
    conditions = parse_filter(wanted)
    assert eligible(conditions=conditions) >= satisfying(conditions)


@pytest.mark.parametrize("wanted", [*DECIDED, *HALF_DECIDED], ids=str)
def test_eligible_rows_are_those_kept_of_all(wanted):
    conditions = parse_filter(wanted)
    assert eligible(conditions=conditions) == kept(conditions)


def test_value_is_narrowed_down_to_its_list_and_to_memories_with_too_many_values():
    assert eligible(conditions=parse_filter({"data.city": "Rome"})) == {"new", "rich"}


def test_all_tags_are_needed():
    assert eligible(tags=("red", "blue")) == {"tagged"}


def test_kind_is_needed():
    assert eligible(kind=Kind.PROCEDURAL) == {"bob"}


def test_everything_is_needed_together():
    assert eligible(kind=Kind.SEMANTIC, tags=("red",), conditions=parse_filter({"source": "chat"})) == {"red"}


@pytest.mark.parametrize(("microseconds", "is_found"), [(-1, True), (0, False), (1, False)])
def test_memory_is_not_eligible_from_its_expiry_on(microseconds, is_found):
    now_us = to_us(MOMENT + 9 * DAY) + microseconds
    assert ("later" in eligible(now_us=now_us)) == is_found


def test_nothing_to_decide_is_said_without_a_mask():
    eligibility = Eligibility(kind=None, tags=(), conditions=(), now_us=0)
    assert eligibility.keep(Snapshot([make_segment(ROWS[:4])]), np.arange(4)) is None
