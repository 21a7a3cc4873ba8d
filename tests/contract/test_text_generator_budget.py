"""What a run may spend on a language model is never passed."""

import threading
from dataclasses import replace

import pytest

from s3_agent_memory.errors import BudgetExceededError, GenerationError
from s3_agent_memory.generation.budget import Budget, BudgetedGenerator, Prices
from s3_agent_memory.generation.port import GenerationRequest, GenerationResult

QUESTION = GenerationRequest(system="Be brief.", prompt="What is it?", token_count_max=100)


class Counting:
    """A model that answers with a fixed number of tokens, or fails."""

    name = "counting/1"

    def __init__(self, input_tokens=10, output_tokens=10, *, fails=False):
        self.asked_count = 0
        self._result = GenerationResult(text="fine", input_tokens=input_tokens, output_tokens=output_tokens)
        self._fails = fails

    def generate(self, _):
        self.asked_count += 1
        if self._fails:
            raise GenerationError("down")
        return self._result


def ask_until_refused(generator, count_max=1_000):
    for number in range(count_max):
        try:
            generator.generate(QUESTION)
        except BudgetExceededError:
            return number
    return count_max


def test_a_budget_bounds_the_questions():
    model = Counting()
    assert ask_until_refused(BudgetedGenerator(model, Budget(request_count_max=3))) == 3
    assert model.asked_count == 3


def test_a_budget_bounds_the_tokens():
    generator = BudgetedGenerator(Counting(), Budget(request_count_max=1_000, token_count_max=500))
    assert ask_until_refused(generator) > 1
    assert generator.spent.token_count <= 500


def test_a_budget_bounds_the_cost():
    prices = Prices(input_usd=3, output_usd=15)
    generator = BudgetedGenerator(Counting(), Budget(cost_usd_max=0.002, prices=prices))
    assert ask_until_refused(generator) > 1
    assert generator.spent.cost_usd <= 0.002


def test_an_answer_costs_what_it_did_cost():
    generator = BudgetedGenerator(Counting(7, 5), Budget(prices=Prices(input_usd=1, output_usd=2)))
    generator.generate(QUESTION)
    assert generator.spent.token_count == 12
    assert generator.spent.cost_usd == pytest.approx(17e-6)


def test_a_failed_question_stays_charged():
    generator = BudgetedGenerator(Counting(fails=True), Budget())
    with pytest.raises(GenerationError):
        generator.generate(QUESTION)
    assert generator.spent.token_count >= QUESTION.token_count_max


def test_a_question_that_may_pass_the_budget_is_not_asked():
    model = Counting()
    generator = BudgetedGenerator(model, Budget(token_count_max=150))
    with pytest.raises(BudgetExceededError):
        generator.generate(replace(QUESTION, token_count_max=200))
    assert model.asked_count == 0


def test_threads_share_one_budget():
    model = Counting()
    generator = BudgetedGenerator(model, Budget(request_count_max=50))
    threads = [threading.Thread(target=ask_until_refused, args=(generator,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.asked_count == 50


def test_the_name_is_that_of_the_model():
    assert BudgetedGenerator(Counting(), Budget()).name == "counting/1"
