"""The client of the conversation memory service; it needs the extra ``client`` and nothing of the service itself.

What it takes and returns are the messages of ``s3_agent_memory.wire.conversation``; those callers make are here too.
"""

try:
    from s3_agent_memory.client.memory_service import MemoryServiceClient
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"the client needs {error.name}; the extra brings it: pip install '.[client]'", name=error.name
    ) from error
from s3_agent_memory.wire.conversation import Attribution, Scope, Turn

__all__ = ["Attribution", "MemoryServiceClient", "Scope", "Turn"]
