"""Problems: the shape of every error answer (RFC 9457) and the HTTP status of every error code.

The ``code`` is the stable identifier a client may rely on; it equals ``code`` of the library's error classes where one
stands behind the problem. Texts may change.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from pydantic import BaseModel, Field

from s3_agent_memory import errors

MEDIA_TYPE: Final = "application/problem+json"
TYPE_PREFIX: Final = "urn:problem-type:s3-agent-memory:"

# Codes that exist only at the edge; all others come from the tree of errors.
INVALID_REQUEST: Final = "invalid_request"
MALFORMED_JSON: Final = "malformed_json"
UNSUPPORTED_MEDIA_TYPE: Final = "unsupported_media_type"
BODY_TOO_LARGE: Final = "body_too_large"
ANSWER_TOO_LARGE: Final = "answer_too_large"
ROUTE_NOT_FOUND: Final = "route_not_found"
METHOD_NOT_ALLOWED: Final = "method_not_allowed"
MISDIRECTED: Final = "misdirected_request"
LENGTH_REQUIRED: Final = "length_required"
TIMED_OUT: Final = "request_timeout"
INTERNAL: Final = "internal"

STATUS_OF_CODE: Final[Mapping[str, HTTPStatus]] = {
    errors.ValidationError.code: HTTPStatus.BAD_REQUEST,
    MALFORMED_JSON: HTTPStatus.BAD_REQUEST,
    errors.AuthenticationError.code: HTTPStatus.UNAUTHORIZED,
    errors.AccessDeniedError.code: HTTPStatus.FORBIDDEN,
    errors.NotFoundError.code: HTTPStatus.NOT_FOUND,
    ROUTE_NOT_FOUND: HTTPStatus.NOT_FOUND,
    METHOD_NOT_ALLOWED: HTTPStatus.METHOD_NOT_ALLOWED,
    TIMED_OUT: HTTPStatus.REQUEST_TIMEOUT,
    errors.ConflictError.code: HTTPStatus.CONFLICT,
    errors.ForgottenError.code: HTTPStatus.CONFLICT,
    errors.CursorTooOldError.code: HTTPStatus.GONE,
    errors.PreconditionFailedError.code: HTTPStatus.CONFLICT,
    LENGTH_REQUIRED: HTTPStatus.LENGTH_REQUIRED,
    errors.LimitExceededError.code: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    BODY_TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    ANSWER_TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    UNSUPPORTED_MEDIA_TYPE: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    MISDIRECTED: HTTPStatus.MISDIRECTED_REQUEST,
    INVALID_REQUEST: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.ThrottledError.code: HTTPStatus.TOO_MANY_REQUESTS,
    errors.CorruptError.code: HTTPStatus.INTERNAL_SERVER_ERROR,
    INTERNAL: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.BackendError.code: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.EmbeddingError.code: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.GenerationError.code: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.UnusableAnswerError.code: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.BudgetExceededError.code: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.UnknownOutcomeError.code: HTTPStatus.GATEWAY_TIMEOUT,
}


class FieldError(BaseModel):
    """One thing that is wrong with one field of a request."""

    field: str = Field(description="Path of the field, such as `attribution.author` or `query.limit`.")
    message: str = Field(description="What is wrong with it.")


class Problem(BaseModel):
    """An error answer as of RFC 9457."""

    type: str = Field(description="Identifies the kind of problem; ends in `code`.")
    title: str = Field(description="The meaning of the status.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What happened, for a person.")
    code: str = Field(description="Stable identifier of the kind of problem.")
    key: str | None = Field(default=None, description="The stored object that is broken (`corrupt` only).")
    errors: list[FieldError] | None = Field(default=None, description="What is wrong, field by field.")
    error: str | None = Field(default=None, description="The same as `detail` (conversation routes only).")
    stores: dict[str, str] | None = Field(default=None, description="A result for each store (`/readyz` only).")


def make_problem(code: str, detail: str, *, key: str | None = None, errors: list[FieldError] | None = None) -> Problem:
    """Return the problem with this code; a code nobody knows is an internal problem."""
    known = code if code in STATUS_OF_CODE else INTERNAL
    status = STATUS_OF_CODE[known]
    return Problem(
        type=TYPE_PREFIX + known,
        title=status.phrase,
        status=status.value,
        detail=detail,
        code=known,
        key=key,
        errors=errors,
    )
