"""The client of the conversation memory service; it needs the extra ``client`` and nothing of the service itself."""

from s3_agent_memory.client.memory_service import MemoryServiceClient

__all__ = ["MemoryServiceClient"]
