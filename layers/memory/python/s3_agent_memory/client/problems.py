"""From answers that report a failure to the errors of the library."""

import json
from collections.abc import Mapping
from typing import Final

from s3_agent_memory.errors import (
    AccessDeniedError,
    AgentMemoryError,
    AuthenticationError,
    BackendError,
    CursorTooOldError,
    NotFoundError,
    ThrottledError,
    UnknownOutcomeError,
    ValidationError,
)

_DETAIL_LENGTH_MAX: Final = 500
_ERRORS: Final[Mapping[int, type[AgentMemoryError]]] = {
    400: ValidationError,
    401: AuthenticationError,
    403: AccessDeniedError,
    404: NotFoundError,
    408: BackendError,
    410: CursorTooOldError,
    413: ValidationError,
    422: ValidationError,
    429: ThrottledError,
    504: UnknownOutcomeError,
}


def error_of(status: int, body: bytes) -> AgentMemoryError:
    """Return the error that an answer with a status of 300 or more means."""
    kind = _ERRORS.get(status, BackendError if status >= 500 else ValidationError)
    detail = detail_of(body)
    return kind(f"the memory service answered with HTTP {status}" + (f": {detail}" if detail else ""))


def detail_of(body: bytes) -> str:
    """Return what an error answer says, a problem (RFC 9457) or ``{"error": ...}``; empty if it is neither."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(document, dict):
        return ""
    detail = document.get("detail") or document.get("error")
    return detail[:_DETAIL_LENGTH_MAX] if isinstance(detail, str) else ""
