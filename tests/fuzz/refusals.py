"""How an action ends when it does not end well."""

from collections.abc import Callable

from s3_agent_memory.errors import AgentMemoryError


def refusal(action: Callable[[], object]) -> AgentMemoryError | None:
    """Return the error of the library that an action ends with, or None; any other error escapes."""
    try:
        action()
    except AgentMemoryError as error:
        return error
    return None


def refusal_code(action: Callable[[], object]) -> str | None:
    """Return the code of the error of the library that an action ends with, or None."""
    error = refusal(action)
    return None if error is None else error.code
