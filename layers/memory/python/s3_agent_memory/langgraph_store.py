"""The store of LangGraph by its short name; see ``integrations.langgraph_store``."""

try:
    from s3_agent_memory.integrations.langgraph_store import S3Store
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"the store needs {error.name}; the extra brings it: pip install '.[langgraph]'", name=error.name
    ) from error

__all__ = ["S3Store"]
