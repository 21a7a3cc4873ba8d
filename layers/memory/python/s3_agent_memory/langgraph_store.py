"""The store of LangGraph by its short name; see ``integrations.langgraph_store``."""

from s3_agent_memory.integrations.langgraph_store import S3Store

__all__ = ["S3Store"]
