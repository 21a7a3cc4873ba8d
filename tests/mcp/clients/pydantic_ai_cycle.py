"""A Pydantic AI agent goes through the life of a memory. Reads MCP_URL and MCP_TOKEN.

The model is a function that decides by rule, so that the agent, its loop and its MCP client are the real ones.
"""

import asyncio
import json
import os

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

STEPS = (
    lambda _: ("remember", {"content": "Carol is allergic to nuts", "tags": ["pydantic-ai"]}),
    lambda _: ("recall", {"query": "allergic", "tags": ["pydantic-ai"]}),
    lambda seen: ("update", {"id": seen[0]["id"], "content": "Carol is allergic to nuts and shellfish"}),
    lambda _: ("recall", {"query": "shellfish", "tags": ["pydantic-ai"]}),
    lambda seen: ("forget", {"id": seen[0]["id"]}),
    lambda _: ("recall", {"query": "shellfish", "tags": ["pydantic-ai"]}),
)


def returns_of(messages):
    parts = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return [part.content if isinstance(part.content, dict) else json.loads(str(part.content)) for part in parts]


def decide(messages, info):
    offered = {tool.name for tool in info.function_tools}
    assert offered == {"remember", "recall", "list", "get", "update", "forget"}, sorted(offered)
    seen = returns_of(messages)
    if len(seen) == len(STEPS):
        return ModelResponse(parts=[TextPart(json.dumps(seen))])
    name, arguments = STEPS[len(seen)](seen)
    return ModelResponse(parts=[ToolCallPart(name, arguments)])


async def main():
    headers = {"Authorization": f"Bearer {os.environ['MCP_TOKEN']}"}
    agent = Agent(FunctionModel(decide), toolsets=[MCPToolset(os.environ["MCP_URL"], headers=headers)])
    async with agent:
        result = await agent.run("What may Carol eat?")
    stored, found, updated, found_again, forgotten, nothing = json.loads(result.output)
    assert [memory["id"] for memory in found["memories"]] == [stored["id"]]
    assert (updated["version"], forgotten["forgotten"], nothing["memories"]) == (2, True, [])
    assert found_again["memories"][0]["content"].endswith("shellfish")


asyncio.run(main())
