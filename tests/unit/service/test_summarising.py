"""One text for several: nothing is made up, nothing grows."""

import pytest

from s3_agent_memory.errors import GenerationError, UnusableAnswerError, ValidationError
from s3_agent_memory.generation.port import GenerationResult
from s3_agent_memory.service.prompting.grounding import invented_terms
from s3_agent_memory.service.prompting.summarising import TEXT_COUNT_MAX, LongestSummariser, ModelSummariser
from tests.unit.service.test_extraction import ScriptedModel

NOTES = ["Alice lives in Rome", "Alice has lived in Rome since 2019"]


def test_the_longest_text_is_taken():
    assert LongestSummariser().summarise(NOTES) == NOTES[1]


def test_equally_long_texts_give_the_same_in_any_order():
    assert LongestSummariser().summarise(["b", "a"]) == LongestSummariser().summarise(["a", "b"]) == "a"


def test_a_models_summary_is_taken():
    summariser = ModelSummariser(ScriptedModel("Alice lives in Rome since 2019.\n"))
    assert summariser.summarise(NOTES) == "Alice lives in Rome since 2019."
    assert summariser.name == "scripted/1"


@pytest.mark.parametrize(
    "answer",
    [
        "  ",
        "...",
        "Alice lives in Rome. " * 4,
        "Alice lives in Rome since 2020",
        "Alice and Bob live in Rome",
        GenerationResult(text="Alice lives", input_tokens=1, output_tokens=1, is_complete=False),
    ],
)
def test_a_summary_of_no_use_is_refused(answer):
    with pytest.raises(UnusableAnswerError):
        ModelSummariser(ScriptedModel(answer)).summarise(NOTES)


def test_a_model_that_cannot_be_asked_is_an_error():
    with pytest.raises(GenerationError):
        ModelSummariser(ScriptedModel(GenerationError("down"))).summarise(NOTES)


@pytest.mark.parametrize("texts", [[], ["a"] * (TEXT_COUNT_MAX + 1)])
@pytest.mark.parametrize("summariser", [LongestSummariser(), ModelSummariser(ScriptedModel("a"))])
def test_no_texts_and_too_many_are_refused(summariser, texts):
    with pytest.raises(ValidationError):
        summariser.summarise(texts)


@pytest.mark.parametrize(
    ("text", "invented"),
    [
        ("Alice lives in Rome", set()),
        ("She said so. Then alice left", set()),
        ("It cost 1,500 dollars", {"1,500"}),
        ("In Rome Alice's friend met Carol", {"carol"}),
        ("Since 19 she lives there", {"19"}),
        ("- Nobody knows", set()),
    ],
)
def test_names_and_numbers_of_no_source_are_invented(text, invented):
    assert invented_terms(text, NOTES) == invented
