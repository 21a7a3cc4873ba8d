"""English rules: what a text expresses and what a question asks for."""

import pytest

from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.index.text.english import read_question, text_flags
from s3_agent_memory.index.text.expressions import DateRange, Question, TextFlag


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("", TextFlag.NONE),
        ("the blue car", TextFlag.NONE),
        ("we met yesterday", TextFlag.TIME | TextFlag.FIRST_PERSON),
        ("back in 2019", TextFlag.TIME | TextFlag.NUMBER),
        ("a bill of 20190 euro", TextFlag.NUMBER),
        ("went to Lisbon", TextFlag.NAME),
        ("Lisbon is nice", TextFlag.NONE),
        ("twice a week", TextFlag.TIME | TextFlag.NUMBER),
        ("the wine was mine", TextFlag.NONE),
    ],
)
def test_a_text_has_the_expressions_it_has(text, flags):
    assert text_flags(text) == flags


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("When did Ann move?", TextFlag.TIME),
        ("  what year was it", TextFlag.TIME),
        ("How long did it take?", TextFlag.TIME | TextFlag.NUMBER),
        ("Who came?", TextFlag.NAME),
        ("How many cats?", TextFlag.NUMBER),
        ("Tell me when", TextFlag.NONE),
        ("Whenever it rains", TextFlag.NONE),
    ],
)
def test_a_question_asks_for_kinds_of_expression(query, answer):
    assert read_question(query).answer == answer


@pytest.mark.parametrize(
    ("query", "date"),
    [
        ("what happened in June?", DateRange(month=6)),
        ("what happened on 3rd June 2023?", DateRange(2023, 6, 3)),
        ("between June 3 and June 9", DateRange(month=6)),
        ("anything in 2023?", DateRange(2023)),
        ("What 10 books did I read in March 2023?", DateRange(2023, 3)),
        ("what was on the 2nd of May 2021?", DateRange(2021, 5, 2)),
        ("May 2023 trip", DateRange(2023, 5)),
        ("you may go", None),
        ("May I go?", None),
        ("what about May?", DateRange(month=5)),
        ("room 12023", None),
    ],
)
def test_a_question_names_a_time(query, date):
    assert read_question(query).date == date


@pytest.mark.parametrize(("query", "is_first_person"), [("what is my car?", True), ("what is Ann's car?", False)])
def test_a_question_is_in_the_first_person(query, is_first_person):
    assert read_question(query).is_first_person is is_first_person


def test_another_language_has_no_rules():
    german = Analyzer("german")
    assert (german.flags("we met yesterday"), german.question("When did I go in May 2023?")) == (0, Question())
