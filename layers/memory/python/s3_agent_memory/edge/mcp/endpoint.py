"""The remote MCP endpoint: API Gateway events (payload format 2.0) in, answers out, nothing kept in between.

A request passes these gates: it comes from where the deployment is reached, it carries a grant, it is a POST, and its
body is JSON of a bearable size. Behind them a server is made for the grant alone. A refusal is always a JSON-RPC error,
with CORS headers and the status that tells a client what to do: authenticate (401), ask for more permission (403), wait
(429), or mend the request (4xx).
"""

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from aws_lambda_powertools import Logger

from s3_agent_memory import names
from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.access import AccessSettings
from s3_agent_memory.domain.clock import Clock, SystemClock
from s3_agent_memory.domain.grants import Grant
from s3_agent_memory.edge.http.auth import read_grant
from s3_agent_memory.edge.http.problems import InvalidTokenError, headers_of, problem_of
from s3_agent_memory.edge.http.request import BODY_BYTES_MAX, decode_body, method_and_path
from s3_agent_memory.edge.mcp.discovery import Discovery
from s3_agent_memory.edge.mcp.exchange import exchange
from s3_agent_memory.edge.mcp.failures import describe_failure
from s3_agent_memory.edge.mcp.messages import (
    JSON,
    Posted,
    RefusedError,
    Reply,
    RequestId,
    accepts_only_events,
    as_event,
    read_messages,
)
from s3_agent_memory.edge.mcp.origin import check_host, check_origin
from s3_agent_memory.edge.mcp.server import build_server
from s3_agent_memory.errors import AccessDeniedError, AuthenticationError, ThrottledError

_CORS: Final = {
    # No credentials but the Authorization header exist, so a foreign page has nothing to borrow.
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "mcp-session-id, www-authenticate, retry-after",
}
_PREFLIGHT: Final = {
    "Access-Control-Allow-Headers": "authorization, content-type, accept, mcp-protocol-version, mcp-session-id, "
    "mcp-method, mcp-name, last-event-id",
    "Access-Control-Allow-Methods": "POST, GET, DELETE, OPTIONS",
    "Access-Control-Max-Age": "86400",
}


class McpEndpoint:
    """Answers API Gateway events for one store. Safe for many threads: every call is on its own."""

    def __init__(
        self, store: MemoryStore, access: AccessSettings, *, logger: Logger, clock: Clock | None = None
    ) -> None:
        self._store = store
        self._access = access
        self._discovery = Discovery(access)
        self._logger = logger
        self._clock = clock or SystemClock()
        # The SDK's own log may repeat what a message holds.
        logging.getLogger("mcp").setLevel(logging.CRITICAL)

    def handle(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to one event; never raises for what a client or the storage did wrong."""
        method, path = method_and_path(event)
        headers = {name.lower(): str(value).strip() for name, value in (event.get("headers") or {}).items()}
        try:
            reply = self._answer(event, method, path=path, headers=headers)
        except RefusedError as refusal:
            reply = refusal.reply
        except Exception as error:  # noqa: BLE001  # A client gets an answer, and the log what went wrong.
            reply = self._refuse(error)
        route = path if path in (names.MCP_PATH, names.REGISTRATION_PATH) else None
        self._logger.info("request answered", extra={"method": method, "route": route, "status": int(reply.status)})
        return _to_event(reply, has_body=method != "HEAD")

    def _answer(self, event: Mapping[str, Any], method: str, *, path: str, headers: Mapping[str, str]) -> Reply:
        if method == "OPTIONS":
            return Reply(status=HTTPStatus.NO_CONTENT, headers=_PREFLIGHT)
        check_host(headers, self._access)
        check_origin(headers, self._access)
        if path != names.MCP_PATH:
            return self._discovery.answer(method, path, decode_body(event))
        grant = read_grant(event, now_us=self._clock.now_us())
        if method != "POST":
            # There is no stream to open and no session to end; an open GET would be billed for as long as it waits.
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "Use POST", headers={"Allow": "POST"})
        reply = self._serve(grant, read_messages(_read_body(event, headers), headers), headers)
        is_event = reply.status == HTTPStatus.OK and accepts_only_events(headers.get("accept", ""))
        return as_event(reply) if is_event else reply

    def _serve(self, grant: Grant, posted: Posted, headers: Mapping[str, str]) -> Reply:
        failures: list[Exception] = []
        server = build_server(self._store, grant, observe_failure=failures.append)
        replies = exchange(server, posted.messages, headers)
        for failure in failures:
            self._log_failure(failure)
        if posted.is_batch:
            return _joined(replies)
        for failure in failures:
            if isinstance(failure, (AccessDeniedError, ThrottledError)):
                return self._refuse(failure, posted.request_id)
        return replies[0]

    def _refuse(self, error: Exception, request_id: RequestId = None) -> Reply:
        """Return a failure of the whole request as a JSON-RPC error with the status and headers that belong to it."""
        self._log_failure(error)
        problem = problem_of(error)
        headers = headers_of(error) | self._challenge(error)
        data = {"code": problem.code}
        return RefusedError(problem.status, problem.detail, request_id=request_id, data=data, headers=headers).reply

    def _challenge(self, error: Exception) -> dict[str, str]:
        """Return the header that tells an OAuth client where to get a token, or which one would do (RFC 6750, 9728)."""
        if not isinstance(error, (AuthenticationError, AccessDeniedError)):
            return {}
        parameters: dict[str, str] = {}
        if isinstance(error, InvalidTokenError):
            parameters["error"] = "invalid_token"
        elif isinstance(error, AccessDeniedError):
            parameters["error"] = "insufficient_scope"
        if self._discovery.scopes:
            parameters["scope"] = " ".join(self._discovery.scopes)
        if self._discovery.metadata_url is not None:
            parameters["resource_metadata"] = self._discovery.metadata_url
        listed = ", ".join(f'{name}="{value}"' for name, value in parameters.items())
        return {"WWW-Authenticate": f"Bearer {listed}".rstrip()}

    def _log_failure(self, error: Exception) -> None:
        failure = describe_failure(error)
        if failure is not None and problem_of(error).status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self._logger.error("request failed", extra={"failure": failure})


def _read_body(event: Mapping[str, Any], headers: Mapping[str, str]) -> bytes:
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != JSON:
        raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type must be {JSON}")
    body = decode_body(event)
    if len(body) > BODY_BYTES_MAX:
        raise RefusedError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body is {len(body)} bytes; at most {BODY_BYTES_MAX} are allowed"
        )
    return body


def _joined(replies: Sequence[Reply]) -> Reply:
    """Return the answer to a batch: the list of all answers, or nothing if nothing was asked."""
    bodies = [reply.body for reply in replies if reply.body]
    if not bodies:
        return Reply(status=HTTPStatus.ACCEPTED)
    return Reply(status=HTTPStatus.OK, body=b"[" + b",".join(bodies) + b"]", headers={"Content-Type": JSON})


def _to_event(reply: Reply, *, has_body: bool) -> dict[str, Any]:
    headers = {**reply.headers, **_CORS}
    body = reply.body.decode() if has_body else ""
    return {"statusCode": int(reply.status), "headers": headers, "body": body, "isBase64Encoded": False}
