"""Strands Agents goes through the life of a memory. Reads MCP_URL and MCP_TOKEN."""

import os

from mcp.client.streamable_http import streamablehttp_client
from strands.tools.mcp import MCPClient

HEADERS = {"Authorization": f"Bearer {os.environ['MCP_TOKEN']}"}


def call(client, name, **arguments):
    result = client.call_tool_sync(name, name, arguments)
    assert result["status"] == "success", result
    return result["structuredContent"]


with MCPClient(lambda: streamablehttp_client(os.environ["MCP_URL"], headers=HEADERS)) as client:
    names = {tool.tool_name for tool in client.list_tools_sync()}
    assert names == {"remember", "recall", "list", "get", "update", "forget"}, sorted(names)
    stored = call(client, "remember", content="Bob prefers tea", kind="procedural", tags=["strands"])
    (hit,) = call(client, "recall", query="tea", tags=["strands"])["memories"]
    assert hit["id"] == stored["id"]
    assert call(client, "update", id=stored["id"], content="Bob prefers coffee")["version"] == 2
    (hit,) = call(client, "recall", query="coffee", tags=["strands"])["memories"]
    assert hit["content"] == "Bob prefers coffee"
    assert call(client, "forget", id=stored["id"])["forgotten"] is True
    assert call(client, "recall", query="coffee", tags=["strands"])["memories"] == []
