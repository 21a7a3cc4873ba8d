"""What the library asks of a language model: one prompt in, one text out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

TOKEN_COUNT_MAX_DEFAULT: Final = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """One question to a model.

    Attributes:
        system: what the model is to do; written by the application, never by its users.
        prompt: the data it is to do that with.
        json_schema: the answer is to be a JSON object of this shape; None for plain text.
        token_count_max: most tokens of the answer.
        temperature: 0 for the likeliest answer, higher for more variety.
    """

    system: str
    prompt: str
    json_schema: Mapping[str, Any] | None = None
    token_count_max: int = TOKEN_COUNT_MAX_DEFAULT
    temperature: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationResult:
    """What a model answered.

    Attributes:
        text: never empty.
        input_tokens, output_tokens: as the model's own tokenizer counts them; estimated where it does not say.
        is_complete: False if the answer was cut at ``token_count_max``.
    """

    text: str
    input_tokens: int
    output_tokens: int
    is_complete: bool = True


class TextGenerator(Protocol):
    """A language model."""

    name: str
    """Identifies provider and model, such as ``ollama/llama3.2``; stored with what it wrote."""

    def generate(self, request: GenerationRequest) -> GenerationResult:
        """Return the model's answer.

        Raises:
            UnusableAnswerError: it refused, or answered with nothing.
            BudgetExceededError: the run may spend no more.
            GenerationError: it could not be reached, or failed, as often as was tried.
        """


class Attempts(Protocol):
    """Hands out a bounded number of attempts with waits between them."""

    def attempts(self, what: str) -> Iterator[int]:
        """Yield attempt numbers from 0 and wait before each but the first.

        Raises:
            ThrottledError: the attempts are used up.
        """
