"""How the command line reports an error: an exit code, one line that says what happened, one that says what to do."""

from collections.abc import Mapping
from typing import Final

from s3_agent_memory import errors

EXIT_OK: Final = 0
EXIT_NOT_FOUND: Final = 1
EXIT_VALIDATION: Final = 2
EXIT_CONFLICT_OR_BACKEND: Final = 3
# Shells report a process that a signal ended as 128 + the signal's number.
EXIT_INTERRUPTED: Final = 130
EXIT_BROKEN_PIPE: Final = 141

_EXIT_CODES: Final[Mapping[str, int]] = {
    errors.NotFoundError.code: EXIT_NOT_FOUND,
    errors.ValidationError.code: EXIT_VALIDATION,
    errors.LimitExceededError.code: EXIT_VALIDATION,
}

_NEXT_STEPS: Final[Mapping[str, str]] = {
    errors.NotFoundError.code: "it never was, has expired or was forgotten; `list` and `namespaces` show what is there",
    errors.ConflictError.code: "read the present state with `get`, then decide",
    errors.ForgottenError.code: "add --resurrect to use the id again",
    errors.AccessDeniedError.code: "check the credentials or file permissions of the store",
    errors.ThrottledError.code: "wait a little, then run the same command again",
    errors.BackendError.code: "check --url and the endpoint of the store, then run the same command again",
    errors.UnknownOutcomeError.code: "the change may have happened; look with `get` or `list` before trying again",
    errors.CorruptError.code: "look at that object; `reindex` rebuilds the index from the readable ones",
}


def exit_code_of(code: str) -> int:
    """Return the exit code for a library error's ``code``."""
    return _EXIT_CODES.get(code, EXIT_CONFLICT_OR_BACKEND)


def describe_error(error: errors.AgentMemoryError) -> str:
    """Return what to tell the user: ``error: <what happened> [<code>]`` and, on a second line, the next step."""
    lines = [f"error: {error} [{error.code}]"]
    if error.code in _NEXT_STEPS:
        lines.append(f"hint: {_NEXT_STEPS[error.code]}")
    return "\n".join(lines)
