"""The MCP server of one caller: tools, resources and a prompt over one namespace, whatever carries the messages.

A server is made for one grant and knows no other, so nothing that a message contains can reach further. Making one
costs next to nothing and touches no storage, and neither does listing what it offers.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import anyio.to_thread
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
    TextResourceContents,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from s3_agent_memory.domain.grants import Grant
from s3_agent_memory.domain.json_values import encode_json
from s3_agent_memory.edge.mcp.prompts import GUIDE_MESSAGES, INSTRUCTIONS, MEMORY_GUIDE
from s3_agent_memory.edge.mcp.resources import MIME_TYPE, RESOURCES, TEMPLATES, read_resource
from s3_agent_memory.edge.mcp.tools import TOOLS, Memories
from s3_agent_memory.errors import AgentMemoryError, BackendError, NotFoundError, UnknownOutcomeError
from s3_agent_memory.service.store.memory_service import MemoryService

NAME: Final = "s3-agent-memory"
# Until the revision of 2026-07-28 a missing resource had a code of its own.
_RESOURCE_NOT_FOUND: Final = -32002
_INTERNAL: Final = "the service failed; the failure is logged"
# What a client may keep for a while: the same for every request of one grant.
_KEPT: Final = CacheHint(ttl_ms=300_000, scope="private")
_CACHE_HINTS: Final[Mapping[CacheableMethod, CacheHint]] = {
    "server/discover": _KEPT,
    "tools/list": _KEPT,
    "prompts/list": _KEPT,
    "resources/list": _KEPT,
    "resources/templates/list": _KEPT,
}

Context = ServerRequestContext[dict[str, Any], Any]
ObserveFailure = Callable[[Exception], None]


@cache
def package_version() -> str:
    """Return the version of this package; a layer has the code without the package's description."""
    try:
        return version(NAME)
    except PackageNotFoundError:
        return "unknown"


@cache
def describe_tools() -> Mapping[str, Tool]:
    """Return what clients are told of each tool, which never changes."""
    return {name: tool.describe() for name, tool in TOOLS.items()}


def build_server(store: MemoryService, grant: Grant, *, observe_failure: ObserveFailure) -> Server[dict[str, Any]]:
    """Return the server for the bearer of a grant.

    Args:
        observe_failure: called with every error that a tool or resource met, before the client is told.
    """
    handlers = _Handlers(Memories(store, grant), observe_failure)
    return Server(
        NAME,
        version=package_version(),
        title="Agent memory",
        description="Long-term memory for AI agents.",
        instructions=INSTRUCTIONS,
        cache_hints=_CACHE_HINTS,
        get_tool_input_schema=_input_schema_of,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_resource_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


def _input_schema_of(name: str) -> Mapping[str, Any] | None:
    tool = describe_tools().get(name)
    return None if tool is None else tool.input_schema


class _Handlers:
    """Answers the requests of one caller."""

    def __init__(self, memories: Memories, observe_failure: ObserveFailure) -> None:
        self._memories = memories
        self._observe_failure = observe_failure

    async def list_tools(self, _context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        _refuse_cursor(params)
        allowed = [name for name, tool in TOOLS.items() if self._memories.allows(tool.permission)]
        return ListToolsResult(tools=[describe_tools()[name] for name in allowed])

    async def call_tool(self, _context: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {_shown(params.name)}")
        call = partial(tool.call, self._memories, params.arguments or {})
        try:
            # The storage blocks; other requests of this connection go on meanwhile.
            document = await anyio.to_thread.run_sync(call)
        except Exception as error:  # noqa: BLE001  # A model is told what went wrong, as the result of its call.
            return self._tool_error(error)
        return CallToolResult(content=[_text(encode_json(document).decode())], structured_content=document)

    def _tool_error(self, error: Exception) -> CallToolResult:
        self._observe_failure(error)
        message = f"{error} [{error.code}]" if isinstance(error, AgentMemoryError) else _INTERNAL
        return CallToolResult(content=[_text(f"{message}{_advice(error)}")], is_error=True)

    async def list_resources(self, _context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        _refuse_cursor(params)
        return ListResourcesResult(resources=list(RESOURCES))

    async def list_resource_templates(
        self, _context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        _refuse_cursor(params)
        return ListResourceTemplatesResult(resource_templates=list(TEMPLATES))

    async def read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        try:
            document = await anyio.to_thread.run_sync(partial(read_resource, self._memories, uri))
        except Exception as error:
            self._observe_failure(error)
            raise _resource_error(error, uri, context.protocol_version) from error
        text = encode_json(document).decode()
        contents = TextResourceContents(uri=params.uri, mime_type=MIME_TYPE, text=text)
        return ReadResourceResult(contents=[contents])

    async def list_prompts(self, _context: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        _refuse_cursor(params)
        return ListPromptsResult(prompts=[MEMORY_GUIDE])

    async def get_prompt(self, _context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        if params.name != MEMORY_GUIDE.name:
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {_shown(params.name)}")
        return GetPromptResult(description=MEMORY_GUIDE.description, messages=list(GUIDE_MESSAGES))


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def _shown(name: str) -> str:
    return name[:100].encode("utf-8", "backslashreplace").decode()


def _refuse_cursor(params: PaginatedRequestParams | None) -> None:
    # Every list fits one page and gives no cursor, so one that arrives is somebody else's.
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "Invalid cursor")


def _advice(error: Exception) -> str:
    if isinstance(error, UnknownOutcomeError):
        return ". The change may have happened: look with `get` or `list` before trying again."
    return ". Trying again may help." if isinstance(error, BackendError) else ""


def _resource_error(error: Exception, uri: str, protocol_version: str) -> MCPError:
    if not isinstance(error, AgentMemoryError):
        return MCPError(INTERNAL_ERROR, _INTERNAL)
    if isinstance(error, NotFoundError):
        is_modern = protocol_version in MODERN_PROTOCOL_VERSIONS
        code = INVALID_PARAMS if is_modern else _RESOURCE_NOT_FOUND
        return MCPError(code, "Resource not found", {"uri": _shown(uri)})
    return MCPError(INTERNAL_ERROR, str(error), {"code": error.code})
