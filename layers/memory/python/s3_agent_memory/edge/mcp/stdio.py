"""The MCP server on standard input and output, for clients that start it as a command."""

import logging
import signal
from collections.abc import Callable

import anyio
from mcp.server.stdio import stdio_server

from s3_agent_memory.domain.clock import Clock, to_datetime
from s3_agent_memory.domain.grants import Grant, Permission
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.edge.mcp.failures import describe_failure
from s3_agent_memory.edge.mcp.server import build_server
from s3_agent_memory.service.store.memory_service import MemoryService


def serve_stdio(
    store: MemoryService, namespace: Namespace, *, read_only: bool, clock: Clock, log: Callable[[str], None]
) -> None:
    """Serve one namespace until standard input ends or nobody reads the answers any more.

    Args:
        read_only: offer only what changes nothing.
        log: takes a line about each failure that is not the client's fault; it holds no text of a memory.
    """
    grant = Grant(
        token_id="",
        principal="stdio",
        namespace=namespace,
        covers_children=False,
        permissions=frozenset({Permission.READ} if read_only else {Permission.READ, Permission.WRITE}),
        created_at=to_datetime(clock.now_us()),
    )
    # The SDK's own log may repeat what a message holds.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    # A thread that waits for input cannot be interrupted, but the process can. That does a write no more harm than a
    # power cut: either it was acknowledged, or the next reader finds out.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    def observe(error: Exception) -> None:
        failure = describe_failure(error)
        if failure is not None:
            log(f"error: {failure}")

    async def serve() -> None:
        server = build_server(store, grant, observe_failure=observe)
        async with stdio_server() as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())

    try:
        anyio.run(serve)
    except* BrokenPipeError:
        log("nobody reads the answers any more")
