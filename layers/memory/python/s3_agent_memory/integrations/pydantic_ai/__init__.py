"""Conversation memory for agents of Pydantic AI; needs the extra ``pydantic-ai``."""

from s3_agent_memory.integrations.pydantic_ai.messages import (
    pydantic_message_to_turns,
    pydantic_messages_to_turns,
    reconstruct_message_history,
)
from s3_agent_memory.integrations.pydantic_ai.scopes import attribution_from_deps, entitled_levels, scope_from_deps
from s3_agent_memory.integrations.pydantic_ai.toolset import MemoryTools, build_memory_toolset

__all__ = [
    "MemoryTools",
    "attribution_from_deps",
    "build_memory_toolset",
    "entitled_levels",
    "pydantic_message_to_turns",
    "pydantic_messages_to_turns",
    "reconstruct_message_history",
    "scope_from_deps",
]
