"""The MCP server of one caller in this process, and the SDK's client of either era in front of it."""

import functools

import anyio
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from s3_agent_memory import MemoryStore
from s3_agent_memory.domain.grants import Grant, parse_permissions
from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.domain.timestamps import parse_timestamp
from s3_agent_memory.edge.mcp.server import build_server
from tests.fakes.clock import START

# How the SDK's client speaks: with the handshake of revisions up to 2025-11-25, or without as of 2026-07-28.
ERAS = ("legacy", "auto")
READ_WRITE = ("read", "write")


def make_grant(namespace="users/alice", permissions=READ_WRITE):
    return Grant(
        token_id="",
        principal="tester",
        namespace=parse_namespace(namespace),
        covers_children=False,
        permissions=parse_permissions(permissions),
        created_at=parse_timestamp(START, field="start"),
    )


def ask_client(client, ask):
    """Return what ``ask`` returns for a client that is connected meanwhile, and raise what it raises as it is."""

    async def connect():
        async with client as connected:
            try:
                return await ask(connected), None
            except MCPError as error:
                # Raised in here it would come out wrapped in groups of exceptions.
                return None, error

    result, error = anyio.run(connect)
    if error is not None:
        raise error
    return result


class Caller:
    """One caller: what it may do, and the failures its server met."""

    def __init__(self, store=None, *, namespace="users/alice", permissions=READ_WRITE, era="auto"):
        self.store = store or MemoryStore.from_url("memory://")
        self.namespace = namespace
        self.failures: list[Exception] = []
        self._era = era
        self._server = build_server(
            self.store, make_grant(namespace, permissions), observe_failure=self.failures.append
        )

    def run(self, ask):
        """Return what the coroutine function ``ask`` returns for a connected client."""

        return ask_client(Client(self._server, mode=self._era), ask)

    def call(self, tool, **arguments):
        """Return the whole result of one call of a tool."""
        return self.run(lambda client: client.call_tool(tool, arguments))

    def answer(self, tool, **arguments):
        """Return the structured answer of a call that must succeed."""
        result = self.call(tool, **arguments)
        assert not result.is_error, result.content
        return result.structured_content

    def complaint(self, tool, **arguments):
        """Return the text of a call that must fail."""
        result = self.call(tool, **arguments)
        assert result.is_error, result.structured_content
        assert result.structured_content is None
        (block,) = result.content
        return block.text

    def tools(self):
        """Return the tools by name."""
        return {tool.name: tool for tool in self.run(lambda client: client.list_tools()).tools}

    def read(self, uri):
        """Return the text of a resource."""
        (contents,) = self.run(functools.partial(_read, uri)).contents
        return contents.text


async def _read(uri, client):
    return await client.read_resource(uri)
