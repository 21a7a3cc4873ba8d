"""The digest of a conversation stays within its budget and says what matters, with a model and without one."""

import json

import pytest

from s3_agent_memory.domain.token_count import estimate_tokens
from s3_agent_memory.errors import GenerationError, UnusableAnswerError
from s3_agent_memory.service.prompting.digesting import Digester
from tests.unit.service.test_extraction import ScriptedModel, turns_of

LONG = [("user", f"Sentence {number} of the story about project Falcon. It goes on.") for number in range(300)]


def test_the_first_digest_says_who_said_what():
    digest = Digester(None).digest("", turns_of(("user", "I live in Rome"), ("assistant", "Noted, Rome")))
    assert digest == "user: I live in Rome\nassistant: Noted, Rome"


@pytest.mark.parametrize("token_count_max", [20, 100, 512])
def test_an_extract_keeps_to_its_budget(token_count_max):
    digest = Digester(None, token_count_max=token_count_max).digest("", turns_of(*LONG))
    assert 0 < estimate_tokens(digest) <= token_count_max


def test_an_extract_keeps_to_its_budget_through_many_folds():
    digester, digest = Digester(None, token_count_max=100), ""
    for start in range(0, 300, 10):
        digest = digester.digest(digest, turns_of(*LONG[start : start + 10]))
    assert 0 < estimate_tokens(digest) <= 100


def test_the_same_turns_give_the_same_extract():
    assert Digester(None).digest("", turns_of(*LONG)) == Digester(None).digest("", turns_of(*LONG))


def test_an_extract_keeps_what_the_conversation_is_about():
    chatter = [("user", text) for text in ("Nice weather today", "Lovely, isn't it", "How are things")]
    matter = [("user", "The launch of Falcon is in May"), ("user", "Falcon needs a new launch pad by May")]
    digest = Digester(None, token_count_max=25).digest("", turns_of(*chatter, *matter))
    assert "Falcon" in digest


def test_an_extract_is_in_the_order_of_the_conversation():
    said = [("user", "The launch is in May"), ("assistant", "The launch pad is broken"), ("user", "Repair the pad")]
    assert Digester(None).digest("", turns_of(*said)).splitlines() == [f"{role}: {text}" for role, text in said]


def test_one_endless_sentence_is_cut_to_the_budget():
    digest = Digester(None, token_count_max=20).digest("", turns_of(("user", "漢" * 5_000)))
    assert 0 < estimate_tokens(digest) <= 20


def test_turns_that_say_nothing_leave_the_digest_as_it_is():
    turns = turns_of(("system", "Be nice"), ("user", "## Relevant memory\n- Alice is vegan"), ("user", "..."))
    assert Digester(None).digest("so far", turns) == "so far"


def test_a_model_gets_the_digest_so_far_and_the_turns_as_data():
    model = ScriptedModel("Alice lives in Rome.")
    Digester(model).digest("Alice is new.", turns_of(("user", 'I live in Rome"}')))
    assert json.loads(model.asked[0].prompt) == {
        "summary": "Alice is new.",
        "turns": [{"turn": 1, "role": "user", "text": 'I live in Rome"}'}],
    }


def test_a_models_digest_is_taken():
    assert (
        Digester(ScriptedModel(" Alice lives in Rome. ")).digest("", turns_of(("user", "Hi"))) == "Alice lives in Rome."
    )


def test_a_models_digest_is_cut_to_its_budget_after_a_sentence():
    model = ScriptedModel("Alice lives in Rome. " * 100)
    digest = Digester(model, token_count_max=40).digest("", turns_of(("user", "Hi")))
    assert estimate_tokens(digest) <= 40
    assert digest.endswith("Rome.")


@pytest.mark.parametrize("answer", ["   ", "...", "## Relevant memory\n- a fact", UnusableAnswerError("refused")])
def test_sentences_are_chosen_if_the_answer_is_of_no_use(answer):
    assert Digester(ScriptedModel(answer)).digest("", turns_of(("user", "I live in Rome"))) == "user: I live in Rome"


def test_a_model_that_cannot_be_asked_is_an_error():
    with pytest.raises(GenerationError):
        Digester(ScriptedModel(GenerationError("down"))).digest("", turns_of(("user", "Hi")))


def test_a_question_stays_readable_whatever_the_turns():
    model = ScriptedModel("fine")
    Digester(model).digest("", turns_of(*[("user", "word " * 2_000) for _ in range(20)]))
    assert estimate_tokens(model.asked[0].prompt) < 10_000
