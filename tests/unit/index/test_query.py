"""Reading a query: names select authors, common words are left out, and never everything."""

import pytest

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Attribution
from s3_agent_memory.domain.ranking import Signals
from s3_agent_memory.index.eligibility import Eligibility
from s3_agent_memory.index.query import read_query
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.terms import AUTHOR_WORD, BODY, term_hash
from tests.unit.index.rows import ANALYZER, NOW_US, make_deletion, make_segment, row_of


def memories(count=60):
    """Return turns of two people, of which every third is about a holiday and one about a piano."""
    rows = []
    for number in range(count):
        text = "our holiday" if number % 3 == 0 else "a piano" if number == 1 else "the weather"
        author = "Ann Lee" if number % 2 else "Bob"
        rows.append(row_of(f"m{number}", content=text, attribution=Attribution(author=author)))
    return rows


def reading(text, rows=None, **signals):
    snapshot = Snapshot([make_segment(memories() if rows is None else rows)])
    return read_query(text, snapshot, analyzer=ANALYZER, signals=Signals(**signals))


def terms(*words):
    return tuple(term_hash(BODY, word) for word in words)


def test_the_name_of_an_author_is_no_search_word():
    query = reading("What did Ann's piano cost?")
    assert (query.text, query.terms, query.names) == (
        "What did piano cost?",
        terms("piano", "cost"),
        (term_hash(AUTHOR_WORD, "ann"),),
    )


def test_a_word_of_many_memories_is_left_out():
    assert reading("piano holidays").text == "piano"


def test_a_common_word_stays_where_there_are_few_memories():
    assert reading("piano holidays", memories(49)).text == "piano holidays"


def test_a_query_that_would_be_empty_stays_as_it_is():
    query = reading("Holidays of Ann?")
    assert (query.text, query.terms) == ("Holidays of Ann?", terms("holiday", "ann"))


def test_a_query_whose_other_words_nobody_has_stays_as_it_is():
    assert reading("zeppelins of Ann").terms == terms("zeppelin", "ann")


def test_a_deleted_author_is_nobody():
    rows = [row_of("a", attribution=Attribution(author="Ann")), make_deletion("a", version=2)]
    assert reading("piano of Ann", rows).names == ()


@pytest.mark.parametrize("signals", [{"author": 0, "common_share": 1}])
def test_a_plain_ranking_leaves_nothing_out(signals):
    query = reading("Ann's holiday piano", **signals)
    assert (query.text, query.names) == ("Ann's holiday piano", ())


def test_a_query_whose_other_words_only_memories_outside_the_filter_have_stays_as_it_is():
    eligibility = Eligibility(kind=Kind.EPISODIC, tags=(), conditions=(), now_us=NOW_US)
    snapshot = Snapshot([make_segment([*memories(), row_of("x", content="a holiday", kind=Kind.EPISODIC)])])
    query = read_query("piano holiday", snapshot, analyzer=ANALYZER, signals=Signals(), eligibility=eligibility)
    assert query.terms == terms("piano", "holiday")


def test_a_run_without_spaces_stays_if_one_of_its_terms_is_rare():
    rows = [row_of(f"m{number}", content="我喜欢茶") for number in range(60)]
    query = reading("我喜欢生日", [*rows, row_of("x", content="生日是五月")])
    assert query.text == "我喜欢生日"
