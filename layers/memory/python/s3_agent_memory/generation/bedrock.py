"""Generates with a model of Amazon Bedrock, by its Converse operation."""

import json
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    NoRegionError,
    ParamValidationError,
)

from s3_agent_memory.errors import GenerationError, ThrottledError, UnusableAnswerError, ValidationError
from s3_agent_memory.generation.json_answer import ask_for_json
from s3_agent_memory.generation.port import Attempts, GenerationRequest, GenerationResult

CONNECT_SECONDS: Final = 5.0
_PASSING_CODES: Final = frozenset(
    {
        "InternalServerException",
        "ModelErrorException",
        "ModelNotReadyException",
        "ModelTimeoutException",
        "ServiceUnavailableException",
        "ThrottlingException",
    }
)
_REFUSALS: Final = frozenset({"content_filtered", "guardrail_intervened"})
_CUTS: Final = frozenset({"max_tokens", "model_context_window_exceeded"})


class BedrockGenerator:
    """A ``TextGenerator`` in Amazon Bedrock; credentials come from the SDK's usual chain. Safe for threads.

    Args:
        model: id or ARN of a model or of an inference profile.
        region, endpoint_url: None leaves them to the SDK.
        timeout_seconds: that Bedrock may stay silent in one attempt.

    Raises:
        ValidationError: no region is set.
    """

    def __init__(
        self,
        model: str,
        *,
        attempts: Attempts,
        region: str | None = None,
        endpoint_url: str | None = None,
        timeout_seconds: float = 60.0,
    ) -> None:
        self.name = f"bedrock/{model}"
        self._model = model
        self._attempts = attempts
        self._takes_schema = True
        # One attempt, because the attempts are counted here.
        config = Config(
            connect_timeout=min(CONNECT_SECONDS, timeout_seconds),
            read_timeout=timeout_seconds,
            retries={"total_max_attempts": 1},
        )
        try:
            self._client: Any = boto3.session.Session().client(
                "bedrock-runtime", region_name=region, endpoint_url=endpoint_url, config=config
            )
        except (NoRegionError, ValueError) as error:
            raise ValidationError(f"Amazon Bedrock cannot be reached: {error}") from error

    def generate(self, request: GenerationRequest) -> GenerationResult:
        """See ``TextGenerator``."""
        if request.json_schema is not None and self._takes_schema:
            try:
                return self._converse(request, with_schema=True)
            except _ParameterError:
                result = self._converse(request, with_schema=False)
                # Only now is it clear that the schema was what the model, or this version of the SDK, does not take.
                self._takes_schema = False
                return result
        return self._converse(request, with_schema=False)

    def _converse(self, request: GenerationRequest, *, with_schema: bool) -> GenerationResult:
        arguments = _arguments(self._model, request, with_schema=with_schema)
        failure: _PassingError | None = None
        try:
            for _ in self._attempts.attempts("reach Amazon Bedrock"):
                try:
                    return _decode(self._converse_once(arguments))
                except _PassingError as error:
                    failure = error
        except ThrottledError:
            raise GenerationError(f"Amazon Bedrock failed at each attempt; at last: {failure}") from failure
        raise GenerationError("no attempt was made to reach Amazon Bedrock")

    def _converse_once(self, arguments: dict[str, Any]) -> Any:
        try:
            answer = self._client.converse(**arguments)
        except ClientError as error:
            raise _translated(error) from error
        except ParamValidationError as error:
            raise _ParameterError("the installed AWS SDK does not know a field of the request") from error
        except HTTPClientError as error:
            raise _PassingError(type(error).__name__) from error
        except BotoCoreError as error:
            # Such as missing credentials.
            raise GenerationError(f"Amazon Bedrock cannot be asked: {type(error).__name__}") from error
        if "stopReason" not in answer:
            # The SDK makes an empty answer of one that was cut on its way.
            raise _PassingError("an answer that is not complete")
        return answer


class _PassingError(Exception):
    """A failure after which the same request may well succeed."""


class _ParameterError(GenerationError):
    """Bedrock, or the SDK, does not take a field of the request."""


def _translated(error: ClientError) -> Exception:
    """Return the error that an answer of Bedrock means; its message is left out, because it may repeat the request."""
    code = error.response.get("Error", {}).get("Code", "an unknown error")
    if code in _PASSING_CODES:
        return _PassingError(code)
    kind = _ParameterError if code == "ValidationException" else GenerationError
    return kind(f"Amazon Bedrock refused the request: {code}")


def _arguments(model: str, request: GenerationRequest, *, with_schema: bool) -> dict[str, Any]:
    schema = request.json_schema
    system = request.system if schema is None or with_schema else ask_for_json(request.system, schema)
    arguments: dict[str, Any] = {
        "modelId": model,
        "system": [{"text": system}],
        "messages": [{"role": "user", "content": [{"text": request.prompt}]}],
        "inferenceConfig": {"maxTokens": request.token_count_max, "temperature": request.temperature},
    }
    if schema is not None and with_schema:
        json_schema = {"name": "answer", "schema": json.dumps(schema)}
        arguments["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": json_schema}}}
    return arguments


def _decode(answer: Any) -> GenerationResult:
    stop_reason = answer.get("stopReason")
    if stop_reason in _REFUSALS:
        raise UnusableAnswerError("the model refused to answer")
    blocks = answer.get("output", {}).get("message", {}).get("content", [])
    # Blocks of another kind hold the model's reasoning.
    text = "".join(block["text"] for block in blocks if "text" in block)
    if not text.strip():
        raise UnusableAnswerError("the model answered with no text")
    usage = answer.get("usage", {})
    return GenerationResult(
        text=text,
        input_tokens=usage.get("inputTokens", 0),
        output_tokens=usage.get("outputTokens", 0),
        is_complete=stop_reason not in _CUTS,
    )
