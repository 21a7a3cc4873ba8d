"""From errors to answers: every way a request can fail, as problem JSON with the headers that belong to it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response

from s3_agent_memory.errors import (
    AgentMemoryError,
    AuthenticationError,
    BackendError,
    CorruptError,
    ThrottledError,
    ValidationError,
)
from s3_agent_memory.wire import problems
from s3_agent_memory.wire.problems import FieldError, Problem, make_problem

RETRY_AFTER_SECONDS: Final = 1
INTERNAL_DETAIL: Final = "the service failed; the failure is logged"


class HttpError(Exception):
    """A request that fails at the edge, before a service sees it."""

    def __init__(self, problem: Problem, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(problem.code)
        self.problem = problem
        self.headers = dict(headers or {})


class InvalidTokenError(AuthenticationError):
    """A token came with the request, but it is unknown, revoked or expired."""


def problem_of(error: Exception) -> Problem:
    """Return the problem that an error means to a client; unknown errors show nothing of themselves."""
    if isinstance(error, HttpError):
        return error.problem
    if not isinstance(error, AgentMemoryError):
        return make_problem(problems.INTERNAL, INTERNAL_DETAIL)
    key = error.key if isinstance(error, CorruptError) else None
    return make_problem(error.code, str(error), key=key)


def headers_of(error: Exception) -> dict[str, str]:
    """Return the headers that tell a client what to do about an error."""
    if isinstance(error, HttpError):
        return error.headers
    if isinstance(error, InvalidTokenError):
        return {"WWW-Authenticate": 'Bearer error="invalid_token"'}
    if isinstance(error, AuthenticationError):
        # RFC 6750, section 3.1: no error code for a request that carried no credentials.
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, (ThrottledError, BackendError)):
        return {"Retry-After": str(RETRY_AFTER_SECONDS)}
    return {}


def problem_response(error: Exception) -> Response[str]:
    """Return the whole answer to a request that failed."""
    problem = problem_of(error)
    return Response(
        status_code=problem.status,
        content_type=problems.MEDIA_TYPE,
        body=_text_of(problem),
        headers=headers_of(error),
    )


def invalid_request(errors: Sequence[Mapping[str, Any]]) -> HttpError:
    """Return the error for a request of the wrong shape: 422 for a body, 400 for a parameter or header.

    Args:
        errors: as pydantic reports them; ``loc`` begins with the part of the request (body, query, path, header), the
            input is never used.
    """
    found = [FieldError(field=_field_path(error["loc"]), message=str(error["msg"])) for error in errors]
    detail = "; ".join(f"{item.field}: {item.message}" for item in found)
    is_body = any(error["loc"][0] == "body" for error in errors)
    code = problems.INVALID_REQUEST if is_body else ValidationError.code
    return HttpError(make_problem(code, detail, errors=found))


def _field_path(location: Sequence[object]) -> str:
    # The body is what a client thinks of first, so its fields need no prefix.
    steps = [str(step) for step in location]
    if len(steps) > 1 and steps[0] == "body":
        steps = steps[1:]
    # The name of an unknown field may be any JSON text, also one that UTF-8 cannot express.
    return ".".join(steps).encode("utf-8", "backslashreplace").decode()


def gateway_problem(code: str, detail: str) -> tuple[int, str]:
    """Return status and body of a problem that a gateway in front of the functions answers with."""
    problem = make_problem(code, detail)
    return problem.status, _text_of(problem)


def _text_of(problem: Problem) -> str:
    return problem.model_dump_json(exclude_none=True) + "\n"
