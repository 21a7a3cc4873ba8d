"""The remote endpoint in this process: events as API Gateway makes them, by way of the authorizer."""

import io
import itertools
import json
from dataclasses import dataclass, field, replace
from typing import Any

from aws_lambda_powertools import Logger

from s3_agent_memory import bootstrap
from s3_agent_memory.domain.access import AccessSettings
from s3_agent_memory.edge.http import auth as http_auth
from s3_agent_memory.edge.mcp.endpoint import McpEndpoint
from s3_agent_memory.storage.counting import CountingObjectStore
from tests.functions.deployment import Answer, answer_of, make_event

PUBLIC_URL = "https://memory.example.com"
API_HOST = "abc123.execute-api.eu-central-1.amazonaws.com"
ACCESS = AccessSettings(public_url=PUBLIC_URL, allowed_hosts=frozenset({API_HOST}))
MODERN = "2026-07-28"
LEGACY = "2025-11-25"
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Deployment:
    """Authorizer and MCP endpoint over one store of their own.

    Attributes:
        store: counts what is asked of it.
        log: what the endpoint logged, one JSON document a line.
    """

    def __init__(self, access: AccessSettings = ACCESS, *, store: Any = None, clock: Any = None) -> None:
        inner = bootstrap.open_object_store(bootstrap.Settings(url="memory://")) if store is None else store
        self.store = CountingObjectStore(inner)
        parts = bootstrap.Parts(bootstrap.Settings(url="memory://"), store=self.store, clock=clock)
        self.memories, self.tokens = parts.memories, parts.tokens
        self.verifier = http_auth.build_verifier(self.tokens, access, clock=clock)
        self.log = io.StringIO()
        logger = Logger(service=f"test-{next(_numbers)}", stream=self.log)
        self.endpoint = McpEndpoint(self.memories, access, logger=logger, clock=clock)

    def token(self, namespace: str = "users/alice", **grant: Any) -> str:
        return self.tokens.create(principal="tester", namespace=namespace, **grant)[0]

    def caller(self, namespace: str = "users/alice", **grant: Any) -> "Remote":
        return Remote(self, self.token(namespace, **grant))

    def authorized(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return the event after the authorizer saw it."""
        decision = http_auth.authorize(event, self.verifier)
        assert decision["isAuthorized"] is True
        event["requestContext"]["authorizer"] = {"lambda": decision["context"]}
        return event

    def handle(self, event: dict[str, Any]) -> Answer:
        return answer_of(self.endpoint.handle(self.authorized(event)))


_numbers = itertools.count(1)


@dataclass(frozen=True)
class Remote:
    """Sends requests with one token, or none; a header that is None is left out."""

    deployment: Deployment
    token: str | None
    headers: dict[str, str | None] = field(default_factory=dict)

    def without(self, **changes: Any) -> "Remote":
        return replace(self, **changes)

    def send(self, method: str, target: str = "/mcp", body: Any = None, **headers: str | None) -> Answer:
        """Send one request; names of headers are written with underscores."""
        sent: dict[str, str | None] = {
            "content_type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        sent |= {"authorization": None if self.token is None else f"Bearer {self.token}"} | self.headers | headers
        event = make_event(method, target, body, {}, is_base64=isinstance(body, bytes))
        for name in ("accept", "content-type"):
            event["headers"].pop(name, None)
        event["headers"] |= {name.replace("_", "-"): value for name, value in sent.items() if value is not None}
        return self.deployment.handle(event)

    def post(self, body: Any, **headers: str | None) -> Answer:
        return self.send("POST", "/mcp", body, **headers)

    def legacy(self, method: str, params: Any = None, **headers: str | None) -> Answer:
        """Send one request of a revision up to 2025-11-25."""
        return self.post(request(method, params), **{"mcp_protocol_version": LEGACY} | headers)

    def modern(self, method: str, params: Any = None, **headers: str | None) -> Answer:
        """Send one request of revision 2026-07-28, with the headers that belong to it."""
        params = params or {}
        own = {"mcp_protocol_version": MODERN, "mcp_method": method}
        if method in _NAMED_BY:
            own["mcp_name"] = str(params.get(_NAMED_BY[method]))
        return self.post(request(method, params | {"_meta": modern_meta()}), **own | headers)

    def call(self, tool: str, /, **arguments: Any) -> Answer:
        return self.modern("tools/call", {"name": tool, "arguments": arguments})

    def answer(self, tool: str, /, **arguments: Any) -> Any:
        """Return the structured answer of a call that must succeed."""
        answer = self.call(tool, **arguments)
        assert answer.status == 200, answer.body
        result = answer.json["result"]
        assert not result.get("isError"), result
        return result["structuredContent"]


def request(method: str, params: Any = None, *, id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method} | ({} if params is None else {"params": params})


def notification(method: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method}


def modern_meta(version: str = MODERN) -> dict[str, Any]:
    return {_VERSION_KEY: version, _CAPABILITIES_KEY: {}}


def initialize_params(version: str = LEGACY) -> dict[str, Any]:
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def events_of(answer: Answer) -> list[Any]:
    """Return the JSON of every event in a stream."""
    lines = answer.body.decode().split("\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def error_of(answer: Answer) -> Any:
    """Return the JSON-RPC error in an answer that must be one."""
    document = answer.json
    assert document["jsonrpc"] == "2.0"
    assert set(document) == {"jsonrpc", "id", "error"}
    return document["error"]


def ask_with(deployment: Deployment, authorizer: dict[str, Any], method: str, params: Any = None) -> Answer:
    """Send a request with an answer of the authorizer as API Gateway may have kept it."""
    event = make_event("POST", "/mcp", request(method, params), {"content-type": "application/json"})
    event["requestContext"]["authorizer"] = authorizer
    return answer_of(deployment.endpoint.handle(event))
