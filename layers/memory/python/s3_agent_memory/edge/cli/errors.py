"""How the command line reports an error: an exit code, one line that says what happened, one that says what to do."""

from collections.abc import Mapping
from typing import ClassVar, Final

from s3_agent_memory import errors

EXIT_OK: Final = 0
EXIT_NOT_FOUND: Final = 1
EXIT_VALIDATION: Final = 2
EXIT_CONFLICT_OR_BACKEND: Final = 3
# Shells report a process that a signal ended as 128 + the signal's number.
EXIT_BROKEN_PIPE: Final = 141


class UsageError(errors.ValidationError):
    """The command line itself is wrong.

    Attributes:
        program: the command whose help says what is allowed, such as ``s3-agent-memory remember``.
    """

    def __init__(self, message: str, *, program: str) -> None:
        super().__init__(message)
        self.program = program


class InputError(errors.AgentMemoryError):
    """A file or standard input was opened but could not be read to its end."""

    code: ClassVar[str] = "input"


class OutputError(errors.AgentMemoryError):
    """Standard output or a file could not be written."""

    code: ClassVar[str] = "output"


_EXIT_CODES: Final[Mapping[str, int]] = {
    errors.NotFoundError.code: EXIT_NOT_FOUND,
    errors.ValidationError.code: EXIT_VALIDATION,
    errors.LimitExceededError.code: EXIT_VALIDATION,
}

_NEXT_STEPS: Final[Mapping[str, str]] = {
    errors.NotFoundError.code: "it never was, has expired or was forgotten; `list` and `namespaces` show what is there",
    errors.ConflictError.code: "read the present state with `get`, then decide",
    errors.ForgottenError.code: "add --resurrect to use the id again",
    errors.CursorTooOldError.code: "show what is there with `list` or `export`, then run it without --cursor",
    errors.AccessDeniedError.code: "check the credentials or file permissions of the store",
    errors.ThrottledError.code: "wait a little, then run the same command again",
    errors.BackendError.code: "check --url and the endpoint of the store, then run the same command again",
    errors.EmbeddingError.code: "run the same command again; with --embeddings none memories are found by their words",
    errors.UnknownOutcomeError.code: "the change may have happened; look with `get` or `list` before trying again",
    errors.CorruptError.code: "look at that object; `reindex` rebuilds the index from the readable ones",
    InputError.code: "the lines before are imported; lines with an id may be imported again without harm",
}

# Where a command means something else than memories.
_NEXT_STEPS_OF_COMMANDS: Final[Mapping[tuple[str, str], str]] = {
    ("consolidate undo", errors.NotFoundError.code): "`consolidate runs` shows the runs there are",
    ("token revoke", errors.NotFoundError.code): "`token list` shows the tokens there are",
    ("token revoke", errors.ConflictError.code): "`token list` shows the tokens there are",
}


def exit_code_of(code: str) -> int:
    """Return the exit code for a library error's ``code``."""
    return _EXIT_CODES.get(code, EXIT_CONFLICT_OR_BACKEND)


def describe_error(error: errors.AgentMemoryError, *, command: str = "") -> str:
    """Return what to tell the user: ``error: <what happened> [<code>]`` and, on a second line, the next step.

    Args:
        command: the command that failed, such as ``token revoke``; empty if it is not known.
    """
    next_step = _next_step(error, command)
    return _error_line(str(error), error.code) + (f"\nhint: {next_step}" if next_step else "")


def describe_system_error(error: OSError) -> str:
    """Return what to tell the user about an error of the operating system that nobody expected."""
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return _error_line("the working directory no longer exists", "system")
    place = f": {error.filename}" if error.filename is not None else ""
    return _error_line(f"the system refused: {error.strerror or error}{place}", "system")


def _next_step(error: errors.AgentMemoryError, command: str) -> str | None:
    if isinstance(error, UsageError):
        return f"`{error.program} --help` says what is allowed"
    return _NEXT_STEPS_OF_COMMANDS.get((command, error.code), _NEXT_STEPS.get(error.code))


def _error_line(message: str, code: str) -> str:
    # An argument that is repeated in a message may hold line ends, or codes that a terminal obeys.
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in message)
    return f"error: {shown} [{code}]"
