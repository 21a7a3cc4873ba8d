"""Generates with any server that has the chat completions API of OpenAI.

Servers differ in what they take: some know no JSON schema, newer models of OpenAI want the limit of tokens under
another name and no temperature. What a server refuses is left out from then on.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from s3_agent_memory.domain.clock import Clock
from s3_agent_memory.domain.token_count import estimate_tokens
from s3_agent_memory.errors import UnusableAnswerError
from s3_agent_memory.generation.json_answer import ask_for_json
from s3_agent_memory.generation.json_endpoint import JsonEndpoint, RefusedError
from s3_agent_memory.generation.port import Attempts, GenerationRequest, GenerationResult

PATH: Final = "/chat/completions"
_FORMATS: Final = ("json_schema", "json_object", "text")
_DIALECT_COUNT_MAX: Final = 5
# What servers answer with to a field that they do not know or do not take.
_FIELD_STATUSES: Final = frozenset({400, 415, 422, 501})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialect:
    """What a server is known to take."""

    format: str = _FORMATS[0]
    limit_name: str = "max_tokens"
    has_temperature: bool = True

    def without(self, parameter: str | None, *, wants_json: bool) -> "_Dialect | None":
        """Return the dialect to try next after ``parameter`` was refused, None if there is none."""
        root = (parameter or "").partition(".")[0]
        if root == "max_tokens" and self.limit_name == root:
            return replace(self, limit_name="max_completion_tokens")
        if root == "temperature" and self.has_temperature:
            return replace(self, has_temperature=False)
        if root in {"", "response_format"} and wants_json and self.format != _FORMATS[-1]:
            return replace(self, format=_FORMATS[_FORMATS.index(self.format) + 1])
        return None


class OpenAiGenerator:
    """A ``TextGenerator`` behind ``<base_url>/chat/completions``.

    Args:
        model: its name on that server.
        base_url: such as ``https://api.openai.com/v1``.
        api_key: sent as a bearer token; None sends none.
        attempts, clock: how often and how patiently a failure is met.

    Raises:
        ValidationError: the base URL is no URL.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        attempts: Attempts,
        clock: Clock,
        api_key: str | None = None,
        timeout_seconds: float = 60.0,
    ) -> None:
        self.name = f"openai/{model}"
        self._model = model
        self._dialect = _Dialect()
        self._endpoint = JsonEndpoint(
            base_url.rstrip("/") + PATH,
            attempts=attempts,
            clock=clock,
            headers={} if api_key is None else {"Authorization": f"Bearer {api_key}"},
            timeout_seconds=timeout_seconds,
        )

    def generate(self, request: GenerationRequest) -> GenerationResult:
        """See ``TextGenerator``."""
        dialect = self._dialect
        for _ in range(_DIALECT_COUNT_MAX - 1):
            try:
                return self._generate(request, dialect)
            except RefusedError as error:
                is_field = error.status in _FIELD_STATUSES
                wants_json = request.json_schema is not None
                following = dialect.without(error.parameter, wants_json=wants_json) if is_field else None
                if following is None:
                    raise
                dialect = following
        return self._generate(request, dialect)

    def _generate(self, request: GenerationRequest, dialect: _Dialect) -> GenerationResult:
        result = _decode(self._endpoint.post(_document(self._model, request, dialect)), request)
        # Only a dialect that worked is kept: the server may have refused for another reason.
        self._dialect = dialect
        return result


def _document(model: str, request: GenerationRequest, dialect: _Dialect) -> dict[str, Any]:
    schema = request.json_schema
    system = request.system
    if schema is not None and dialect.format != "json_schema":
        system = ask_for_json(system, schema)
    document: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": request.prompt}],
        dialect.limit_name: request.token_count_max,
        "stream": False,
    }
    if dialect.has_temperature:
        document["temperature"] = request.temperature
    if schema is not None and dialect.format == "json_schema":
        document["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)},
        }
    elif schema is not None and dialect.format == "json_object":
        document["response_format"] = {"type": "json_object"}
    return document


def _decode(answer: dict[str, Any], request: GenerationRequest) -> GenerationResult:
    try:
        choice = answer["choices"][0]
        text, reason = choice["message"].get("content"), choice.get("finish_reason")
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise UnusableAnswerError("the model's answer has no message") from error
    if reason == "content_filter" or choice["message"].get("refusal"):
        raise UnusableAnswerError("the model refused to answer")
    if not isinstance(text, str) or not text.strip():
        raise UnusableAnswerError("the model answered with no text")
    usage = answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return GenerationResult(
        text=text,
        input_tokens=_count(usage.get("prompt_tokens"), request.system + request.prompt),
        output_tokens=_count(usage.get("completion_tokens"), text),
        is_complete=reason != "length",
    )


def _count(value: object, text: str) -> int:
    return value if type(value) is int and value >= 0 else estimate_tokens(text)
