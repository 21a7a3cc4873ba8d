"""One HTTP endpoint that takes and answers JSON, with time limits, size limits and a bounded number of attempts.

It uses urllib3, which the AWS SDK brings: a function that talks to a model needs no more packages than one that does
not.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import urllib3
from urllib3.exceptions import HTTPError

from s3_agent_memory.domain.clock import Clock
from s3_agent_memory.errors import GenerationError, ThrottledError, ValidationError
from s3_agent_memory.generation.port import Attempts

ANSWER_BYTES_MAX: Final = 4 * 1024 * 1024
CONNECT_SECONDS: Final = 5.0
RETRY_AFTER_SECONDS_MAX: Final = 30.0
_CHUNK_BYTES: Final = 64 * 1024
# 529 is how some providers say that they are overloaded.
_PASSING_STATUSES: Final = frozenset({408, 429, 500, 502, 503, 504, 529})
_NAME = re.compile(r"[A-Za-z0-9_.\-]{1,64}")


class RefusedError(GenerationError):
    """The endpoint says that the request itself is wrong; sending it again is of no use.

    Attributes:
        status: of HTTP.
        parameter: the field of the request that the endpoint names, or None.
    """

    def __init__(self, message: str, *, status: int, parameter: str | None) -> None:
        super().__init__(message)
        self.status = status
        self.parameter = parameter


class _PassingError(Exception):
    """A failure after which the same request may well succeed."""

    def __init__(self, reason: str, *, wait_seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.wait_seconds = wait_seconds


class JsonEndpoint:
    """Posts JSON documents to one URL and returns the JSON objects it answers with. Safe for threads.

    Redirects are not followed, so that headers with a key reach no other host.

    Args:
        url: of the endpoint, with ``http`` or ``https``.
        headers: sent with each request; never part of an error.
        timeout_seconds: of one attempt, from its first byte to its last.

    Raises:
        ValidationError: the URL is none.
    """

    def __init__(
        self,
        url: str,
        *,
        attempts: Attempts,
        clock: Clock,
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float = 60.0,
    ) -> None:
        parts = urllib3.util.parse_url(url)
        if parts.scheme not in {"http", "https"} or not parts.host:
            raise ValidationError("the address of a model must be a URL that begins with http:// or https://")
        if not all(value.isascii() and value.isprintable() for value in (headers or {}).values()):
            # Said here, without the value: the HTTP library would show the key that it cannot send.
            raise ValidationError("the API key of a model must consist of printable ASCII characters")
        self._url = url
        self._place = f"{parts.host}{parts.path or ''}"
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
        self._attempts = attempts
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._pool = urllib3.PoolManager(retries=False)

    def post(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return the object that the endpoint answers with.

        Raises:
            RefusedError: the endpoint says the request is wrong.
            GenerationError: no attempt brought an answer.
        """
        body = json.dumps(document).encode()
        failure: _PassingError | None = None
        try:
            for _ in self._attempts.attempts(f"reach the model at {self._place}"):
                if failure is not None and failure.wait_seconds:
                    self._clock.sleep(failure.wait_seconds)
                try:
                    return self._post_once(body)
                except _PassingError as error:
                    failure = error
        except ThrottledError:
            raise GenerationError(f"the model at {self._place} failed at each attempt; at last: {failure}") from failure
        raise GenerationError(f"no attempt was made to reach the model at {self._place}")

    def _post_once(self, body: bytes) -> dict[str, Any]:
        deadline_s = self._clock.monotonic_s() + self._timeout_seconds
        timeout = urllib3.Timeout(connect=min(CONNECT_SECONDS, self._timeout_seconds), read=self._timeout_seconds)
        try:
            response = self._pool.request(
                "POST",
                self._url,
                body=body,
                headers=self._headers,
                timeout=timeout,
                redirect=False,
                preload_content=False,
            )
            try:
                answer = self._read(response, deadline_s)
            finally:
                # Also after a complete answer: what is left of it must not be taken for the next one.
                response.close()
        except HTTPError as error:
            raise _PassingError(f"{type(error).__name__}") from error
        return _decode(answer, response.status, response.headers, place=self._place)

    def _read(self, response: urllib3.BaseHTTPResponse, deadline_s: float) -> bytes:
        answer = bytearray()
        for chunk in response.stream(_CHUNK_BYTES):
            answer += chunk
            if len(answer) > ANSWER_BYTES_MAX:
                raise GenerationError(f"the model at {self._place} answered with more than {ANSWER_BYTES_MAX} bytes")
            # The time limit of the socket starts anew with every byte that drips in.
            if self._clock.monotonic_s() > deadline_s:
                raise _PassingError(f"no complete answer within {self._timeout_seconds:g} seconds")
        return bytes(answer)


def _decode(answer: bytes, status: int, headers: Mapping[str, str], *, place: str) -> dict[str, Any]:
    document = _json_object(answer)
    if 200 <= status < 300:
        if document is None:
            raise _PassingError(f"HTTP {status} with a body that is no JSON object")
        return document
    error = _error_of(document)
    reason = f"HTTP {status}" + "".join(f", {name}" for name in error.values())
    if status in _PASSING_STATUSES:
        raise _PassingError(reason, wait_seconds=_retry_after_seconds(headers))
    raise RefusedError(
        f"the model at {place} refused the request: {reason}", status=status, parameter=error.get("param")
    )


def _json_object(answer: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _error_of(document: dict[str, Any] | None) -> dict[str, str]:
    """Return the identifiers of an error answer. Its message is left out: it may repeat the request."""
    error = None if document is None else document.get("error")
    if not isinstance(error, dict):
        return {}
    named = {name: error.get(name) for name in ("type", "code", "param")}
    return {name: value for name, value in named.items() if isinstance(value, str) and _NAME.fullmatch(value)}


def _retry_after_seconds(headers: Mapping[str, str]) -> float:
    text = headers.get("Retry-After", "")
    is_number = text.isascii() and text.isdigit() and len(text) <= 6
    return min(float(text), RETRY_AFTER_SECONDS_MAX) if is_number else 0.0
