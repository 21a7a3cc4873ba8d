"""What one run may spend on a language model."""

import threading
from dataclasses import dataclass

from s3_agent_memory.domain.token_count import estimate_tokens
from s3_agent_memory.errors import BudgetExceededError
from s3_agent_memory.generation.port import (
    GenerationRequest,
    GenerationResult,
    TextGenerator,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a model costs, in US dollars a million tokens."""

    input_usd: float = 0.0
    output_usd: float = 0.0

    def cost_usd(self, input_tokens: int, output_tokens: int) -> float:
        """Return the price of one answer."""
        return (input_tokens * self.input_usd + output_tokens * self.output_usd) / 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits of one run.

    Attributes:
        request_count_max: answers that are asked for.
        token_count_max: tokens of questions and answers together.
        cost_usd_max: None if cost has no limit, as with a model on one's own machine.
        prices: of the model.
    """

    request_count_max: int = 100
    token_count_max: int = 1_000_000
    cost_usd_max: float | None = None
    prices: Prices = Prices()


@dataclass(slots=True)
class Spending:
    """What a run has spent so far."""

    request_count: int = 0
    token_count: int = 0
    cost_usd: float = 0.0


class BudgetedGenerator:
    """A ``TextGenerator`` that asks its model only while the run's budget lasts. Safe for threads.

    Every question is reserved at the most it may cost and settled at what it did cost, so a limit is never passed. One
    that failed stays reserved, for nobody knows what the provider counts of it.

    Attributes:
        name: of the model.
        spent: so far; what is reserved is part of it.
    """

    def __init__(self, generator: TextGenerator, budget: Budget) -> None:
        self.name = generator.name
        self.spent = Spending()
        self._generator = generator
        self._budget = budget
        self._lock = threading.Lock()

    def generate(self, request: GenerationRequest) -> GenerationResult:
        """See ``TextGenerator``."""
        reserved = _most(request)
        self._reserve(*reserved)
        result = self._generator.generate(request)
        with self._lock:
            self._add(result.input_tokens - reserved[0], result.output_tokens - reserved[1])
        return result

    def _reserve(self, input_tokens: int, output_tokens: int) -> None:
        budget, spent = self._budget, self.spent
        with self._lock:
            if spent.request_count >= budget.request_count_max:
                raise BudgetExceededError(f"the run has asked its {budget.request_count_max} questions")
            if spent.token_count + input_tokens + output_tokens > budget.token_count_max:
                raise BudgetExceededError(f"another question may pass the run's {budget.token_count_max} tokens")
            cost_usd = spent.cost_usd + budget.prices.cost_usd(input_tokens, output_tokens)
            if budget.cost_usd_max is not None and cost_usd > budget.cost_usd_max:
                raise BudgetExceededError(f"another question may pass the run's {budget.cost_usd_max} US dollars")
            spent.request_count += 1
            self._add(input_tokens, output_tokens)

    def _add(self, input_tokens: int, output_tokens: int) -> None:
        self.spent.token_count += input_tokens + output_tokens
        self.spent.cost_usd += self._budget.prices.cost_usd(input_tokens, output_tokens)


def _most(request: GenerationRequest) -> tuple[int, int]:
    """Return the most tokens that question and answer may have, about."""
    schema = "" if request.json_schema is None else str(request.json_schema)
    return estimate_tokens(request.system + request.prompt + schema), request.token_count_max
