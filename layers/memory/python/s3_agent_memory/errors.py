"""Every error the library raises, as one tree; a class says what the caller may do.

```
AgentMemoryError
├── ValidationError            fix the request; nothing was changed
│   └── LimitExceededError     make it smaller; the message names the limit
├── NotFoundError              the thing is not there (never was, expired, or was forgotten)
├── ConflictError              read the present state, then decide
│   ├── ForgottenError         the id was forgotten; pass ``resurrect=True`` to use it again
│   └── CursorTooOldError      what happened since is no longer known: list what is there, then start again
├── AuthenticationError        send a valid token
├── AccessDeniedError          the token (or the AWS role) does not allow this
├── ThrottledError             wait, then send the same request again
├── BackendError               the storage failed; the same request may be sent again
│   └── UnknownOutcomeError    a write may or may not have happened; read before writing again
├── EmbeddingError             the embedder failed; search by words goes on without it
├── GenerationError            the language model failed; nothing was stored, try again later or go on without it
│   ├── UnusableAnswerError    it answered, but with what is no use; asking again may bring the same
│   └── BudgetExceededError    this run may spend no more on the model; the next run goes on
├── PreconditionFailedError    a conditional write lost its race (handled inside the library)
└── CorruptError               stored bytes are broken; the message names the key
```
"""

from typing import ClassVar


class AgentMemoryError(Exception):
    """Base of every error raised on purpose by this library.

    Attributes:
        code: stable identifier of the kind of error, the same on every edge (HTTP problem, CLI, library).
    """

    code: ClassVar[str] = "error"


class ValidationError(AgentMemoryError):
    """The request is wrong and changed nothing; the message says what is allowed."""

    code: ClassVar[str] = "validation"


class LimitExceededError(ValidationError):
    """The request is larger than a limit allows.

    Attributes:
        limit: name of the field of ``Limits`` that was exceeded.
        maximum: its value.
    """

    code: ClassVar[str] = "limit_exceeded"

    def __init__(self, message: str, *, limit: str, maximum: int) -> None:
        super().__init__(message)
        self.limit = limit
        self.maximum = maximum


class NotFoundError(AgentMemoryError):
    """The memory, token or object is not there: it never was, has expired, or was forgotten."""

    code: ClassVar[str] = "not_found"


class ConflictError(AgentMemoryError):
    """The request does not fit the present state: read it again, then decide."""

    code: ClassVar[str] = "conflict"


class OtherKindError(ConflictError):
    """The id belongs to a memory of another kind, for ever: choose another id, or that kind."""


class ForgottenError(ConflictError):
    """The id was forgotten; only ``resurrect=True`` may use it again."""

    code: ClassVar[str] = "forgotten"


class CursorTooOldError(ConflictError):
    """What has happened since a cursor of the event feed is no longer known: list what is there, then start again."""

    code: ClassVar[str] = "cursor_too_old"


class AuthenticationError(AgentMemoryError):
    """No valid token came with the request."""

    code: ClassVar[str] = "unauthenticated"


class AccessDeniedError(AgentMemoryError):
    """The token's grant, or the credentials of the store, do not allow this."""

    code: ClassVar[str] = "forbidden"


class ThrottledError(AgentMemoryError):
    """Too many requests, or a bounded retry gave up: wait, then send the same request again."""

    code: ClassVar[str] = "throttled"


class BackendError(AgentMemoryError):
    """The storage answered with an error or not at all; the same request may be sent again."""

    code: ClassVar[str] = "backend"


class UnknownOutcomeError(BackendError):
    """A write got no answer: it may have happened, or may still happen. Read before writing again."""

    code: ClassVar[str] = "unknown_outcome"


class EmbeddingError(AgentMemoryError):
    """The embedder failed, or answered with something that is no vector; what needs none goes on working."""

    code: ClassVar[str] = "embedding"


class GenerationError(AgentMemoryError):
    """The language model failed; nothing was stored. Try again later, or go on with what needs no model."""

    code: ClassVar[str] = "generation"


class UnusableAnswerError(GenerationError):
    """The language model answered with what is no use; asking again may bring the same, so go on without it."""

    code: ClassVar[str] = "unusable_answer"


class BudgetExceededError(GenerationError):
    """The run has spent what it may spend on a language model; what is left is for the next run."""

    code: ClassVar[str] = "budget_exceeded"


class PreconditionFailedError(AgentMemoryError):
    """A conditional write had no effect: somebody else was faster (HTTP 412, 409, or 404 on a replace).

    Raised by storage adapters and handled inside the library: read again and decide. 409 says nothing about whether
    the object exists.
    """

    code: ClassVar[str] = "precondition_failed"


class CorruptError(AgentMemoryError):
    """Stored bytes cannot be trusted: truncated, foreign, or under the wrong key.

    Attributes:
        key: the object that is broken.
    """

    code: ClassVar[str] = "corrupt"

    def __init__(self, message: str, *, key: str) -> None:
        super().__init__(message)
        self.key = key
