"""LangChain's MCP adapters go through the life of a memory. Reads MCP_URL and MCP_TOKEN."""

import asyncio
import json
import os

from langchain_mcp_adapters.client import MultiServerMCPClient


async def main():
    headers = {"Authorization": f"Bearer {os.environ['MCP_TOKEN']}"}
    connection = {"transport": "streamable_http", "url": os.environ["MCP_URL"], "headers": headers}
    client = MultiServerMCPClient({"memory": connection})
    tools = {tool.name: tool for tool in await client.get_tools()}
    assert set(tools) == {"remember", "recall", "list", "get", "update", "forget"}, sorted(tools)

    async def call(name, **arguments):
        (block,) = await tools[name].ainvoke(arguments)
        return json.loads(block["text"])

    stored = await call("remember", content="Alice flies to Lisbon on Friday", kind="episodic", tags=["langchain"])
    (hit,) = (await call("recall", query="Lisbon", tags=["langchain"]))["memories"]
    assert hit["id"] == stored["id"]
    assert (await call("update", id=stored["id"], content="Alice flies to Porto on Friday"))["version"] == 2
    (hit,) = (await call("recall", query="Porto", tags=["langchain"]))["memories"]
    assert hit["content"] == "Alice flies to Porto on Friday"
    assert (await call("forget", id=stored["id"]))["forgotten"] is True
    assert (await call("recall", query="Porto", tags=["langchain"]))["memories"] == []
    assert await client.get_resources("memory", uris="memory://statistics")
    assert await client.get_prompt("memory", "use_memory_well")


asyncio.run(main())
