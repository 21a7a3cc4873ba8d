"""What a log may say of a failure: never a message, which may hold the text of a memory."""

import traceback
from typing import Final

from s3_agent_memory.errors import AgentMemoryError, BackendError, CorruptError

FRAME_COUNT_MAX: Final = 12


def describe_failure(error: Exception) -> str | None:
    """Return the type of an error and the places in the code it came through, or None if the client is to blame."""
    if isinstance(error, AgentMemoryError) and not isinstance(error, (BackendError, CorruptError)):
        return None
    frames = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    return f"{type(error).__name__} at {' < '.join(reversed(frames[-FRAME_COUNT_MAX:]))}"
