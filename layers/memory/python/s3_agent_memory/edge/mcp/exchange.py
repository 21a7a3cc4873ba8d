"""One exchange with the MCP SDK: messages in, replies out, without a server and without a session.

The SDK is an ASGI application whose session manager runs once and lives in one event loop. A function is called again
and again, so every call gets a manager and a loop of its own. That takes about a millisecond and leaves nothing behind:
neither an error nor a cancelled call can spoil the next one.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, Final

import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PARAM_HEADER_PREFIX,
    MCP_PROTOCOL_VERSION_HEADER,
)

from s3_agent_memory import names
from s3_agent_memory.edge.mcp.messages import EVENT_STREAM, JSON, Reply

_ROUTING_HEADERS: Final = frozenset({MCP_PROTOCOL_VERSION_HEADER, MCP_METHOD_HEADER, MCP_NAME_HEADER})
_ANSWER_HEADERS: Final = {"content-type": "Content-Type", "allow": "Allow"}

_Message = MutableMapping[str, Any]


def exchange(server: Server[Any], messages: Sequence[bytes], headers: Mapping[str, str]) -> list[Reply]:
    """Return the reply to each message, handled one after the other.

    Args:
        headers: of the request, with names in lower case. Only those that route a message reach the SDK: it neither
            sees a token nor a session id, and the content is negotiated before.
    """
    sent = [(b"content-type", JSON.encode()), (b"accept", f"{JSON}, {EVENT_STREAM}".encode())]
    sent += [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items() if _routes(name)]
    return anyio.run(_exchange, server, messages, sent)


def _routes(name: str) -> bool:
    return name.isascii() and (name in _ROUTING_HEADERS or name.startswith(MCP_PARAM_HEADER_PREFIX.lower()))


async def _exchange(
    server: Server[Any], messages: Sequence[bytes], headers: Sequence[tuple[bytes, bytes]]
) -> list[Reply]:
    manager = StreamableHTTPSessionManager(app=server, json_response=True, stateless=True)
    async with manager.run():
        return [await _post(manager, message, headers) for message in messages]


async def _post(manager: StreamableHTTPSessionManager, message: bytes, headers: Sequence[tuple[bytes, bytes]]) -> Reply:
    unread = [{"type": "http.request", "body": message, "more_body": False}]
    answer: list[_Message] = []

    async def receive() -> _Message:
        if not unread:
            # A client that goes away is the gateway's business; whoever listens for that is cancelled at the end.
            await anyio.sleep_forever()
        return unread.pop()

    async def send(part: _Message) -> None:
        answer.append(part)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "https",
        "path": names.MCP_PATH,
        "raw_path": names.MCP_PATH.encode(),
        "query_string": b"",
        "headers": list(headers),
    }
    await manager.handle_request(scope, receive, send)
    start, *parts = answer
    sent = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
    kept = {_ANSWER_HEADERS[name]: value for name, value in sent.items() if name in _ANSWER_HEADERS}
    return Reply(status=start["status"], body=b"".join(part.get("body", b"") for part in parts), headers=kept)
