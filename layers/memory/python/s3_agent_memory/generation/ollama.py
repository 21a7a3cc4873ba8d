"""Generates with a model that Ollama serves, usually on this machine."""

from typing import Any, Final

from s3_agent_memory.domain.clock import Clock
from s3_agent_memory.domain.token_count import estimate_tokens
from s3_agent_memory.errors import UnusableAnswerError
from s3_agent_memory.generation.json_endpoint import JsonEndpoint
from s3_agent_memory.generation.port import Attempts, GenerationRequest, GenerationResult

PATH: Final = "/api/chat"
CONTEXT_TOKEN_COUNT_MIN: Final = 4_096
CONTEXT_TOKEN_COUNT_MAX: Final = 65_536


class OllamaGenerator:
    """A ``TextGenerator`` behind ``<host>/api/chat``.

    Args:
        model: its name in Ollama, with or without a tag.
        host: a URL, or host and port alone as in the variable ``OLLAMA_HOST``.
        timeout_seconds: long, because the first question loads the model.

    Raises:
        ValidationError: the host is none.
    """

    def __init__(
        self, model: str, *, host: str, attempts: Attempts, clock: Clock, timeout_seconds: float = 120.0
    ) -> None:
        self.name = f"ollama/{model}"
        self._model = model
        base_url = host if "://" in host else f"http://{host}"
        self._endpoint = JsonEndpoint(
            base_url.rstrip("/") + PATH, attempts=attempts, clock=clock, timeout_seconds=timeout_seconds
        )

    def generate(self, request: GenerationRequest) -> GenerationResult:
        """See ``TextGenerator``."""
        document: dict[str, Any] = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.prompt},
            ],
            "stream": False,
            "options": {
                "temperature": request.temperature,
                "num_predict": request.token_count_max,
                "num_ctx": _context_token_count(request),
            },
        }
        if request.json_schema is not None:
            document["format"] = dict(request.json_schema)
        return _decode(self._endpoint.post(document), request)


def _context_token_count(request: GenerationRequest) -> int:
    """Return how many tokens question and answer need: Ollama silently drops the beginning of what does not fit.

    A power of two, because the model is loaded anew whenever the number changes.
    """
    needed = estimate_tokens(request.system + request.prompt) + request.token_count_max
    return min(CONTEXT_TOKEN_COUNT_MAX, max(CONTEXT_TOKEN_COUNT_MIN, 1 << (needed - 1).bit_length()))


def _decode(answer: dict[str, Any], request: GenerationRequest) -> GenerationResult:
    message = answer.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise UnusableAnswerError("the model answered with no text")
    if answer.get("done") is not True:
        raise UnusableAnswerError("the model's answer stops in the middle")
    return GenerationResult(
        text=text,
        # Left out by Ollama if the whole question was in its cache.
        input_tokens=_count(answer.get("prompt_eval_count"), request.system + request.prompt),
        output_tokens=_count(answer.get("eval_count"), text),
        is_complete=answer.get("done_reason") != "length",
    )


def _count(value: object, text: str) -> int:
    return value if type(value) is int and value >= 0 else estimate_tokens(text)
