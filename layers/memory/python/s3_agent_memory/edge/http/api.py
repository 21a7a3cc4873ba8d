"""The HTTP API: API Gateway events (payload format 2.0) in, answers out.

A request passes three gates before its endpoint runs: it must come with a grant (or go to a public route), match a
route with parameters that the route knows, and carry a body of the right size and type. Behind them the resolver
checks types and calls the endpoint. Whatever goes wrong, the answer is a problem with CORS headers.
"""

import inspect
import traceback
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, get_type_hints

from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.utilities.typing import LambdaContext

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.clock import Clock, SystemClock
from s3_agent_memory.edge.http.auth import read_grant
from s3_agent_memory.edge.http.consolidations import ConsolidationEndpoints
from s3_agent_memory.edge.http.conversation import ConversationEndpoints
from s3_agent_memory.edge.http.endpoints import PROBE, Endpoints
from s3_agent_memory.edge.http.erasures import ErasureEndpoints
from s3_agent_memory.edge.http.openapi import route_arguments
from s3_agent_memory.edge.http.operations import Operations
from s3_agent_memory.edge.http.problems import invalid_request, problem_of, problem_response
from s3_agent_memory.edge.http.request import (
    canonical_event,
    check_query,
    method_and_path,
    parse_object,
    read_body,
    require_route,
)
from s3_agent_memory.edge.http.routes import ROUTES, Route, find_route
from s3_agent_memory.edge.http.succession import SuccessionEndpoints
from s3_agent_memory.service.conversations.conversation import ConversationService

FRAME_COUNT_MAX: Final = 12
_CORS: Final = {
    # No credentials but the Authorization header exist, so a foreign page has nothing to borrow.
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "etag, link, location, retry-after, www-authenticate, x-corrupt-keys",
}
_PREFLIGHT: Final = {
    "Access-Control-Allow-Headers": "authorization, content-type, accept, if-match, if-none-match",
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PATCH, DELETE, OPTIONS",
    "Access-Control-Max-Age": "86400",
}


class HttpApi:
    """Answers API Gateway events for one store.

    The resolver keeps the current event in a class attribute, so a process answers one request at a time, as Lambda
    does.

    Args:
        conversations: None answers 503 to every request about a conversation.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        logger: Logger,
        conversations: ConversationService | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._logger = logger
        self._clock = clock or SystemClock()
        self._app = APIGatewayHttpResolver(enable_validation=True, json_body_deserializer=parse_object)
        self._app.exception_handler(Exception)(self._answer_error)
        memories = Endpoints(
            self._app,
            store,
            Operations(store, report_failure=self._log_failure),
            probe_sessions=None if conversations is None else lambda: conversations.probe(PROBE),
        )
        holders = (
            memories,
            ConversationEndpoints(self._app, conversations),
            ErasureEndpoints(self._app, store),
            SuccessionEndpoints(self._app, store),
            ConsolidationEndpoints(self._app, store, clock=self._clock),
        )
        self._query_names: dict[str, frozenset[str]] = {}
        for route in ROUTES:
            endpoint = next(getattr(item, route.endpoint) for item in holders if hasattr(item, route.endpoint))
            self._app.route(
                route.rule, route.method, **route_arguments(route, description=inspect.getdoc(endpoint) or "")
            )(endpoint)
            self._query_names[route.endpoint] = _query_names(endpoint)

    def handle(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Return the answer to one event; never raises for what a client or the storage did wrong."""
        method, path = method_and_path(event)
        route = find_route("GET" if method == "HEAD" else method, path)
        try:
            answer = _preflight() if method == "OPTIONS" else self._answer(event, context, route)
        except Exception as error:  # noqa: BLE001  # A client gets an answer, and the log what went wrong.
            answer = _to_event(self._answer_error(error))
        answer["headers"] = {**answer["headers"], **_CORS}
        # The path itself is not logged: a client may have chosen the id in it.
        fields = {"method": method, "route": route.rule if route else None, "status": answer["statusCode"]}
        self._logger.info("request answered", extra=fields)
        return answer | {"body": ""} if method == "HEAD" else answer

    def _answer(self, event: Mapping[str, Any], context: LambdaContext, route: Route | None) -> dict[str, Any]:
        is_public = route is not None and route.is_public
        # Before the path is looked at: without a token nobody learns which paths exist.
        grant = None if is_public else read_grant(event, now_us=self._clock.now_us())
        _, path = method_and_path(event)
        route = require_route(route, path)
        check_query(event, self._query_names[route.endpoint])
        body = read_body(event, route)
        # The resolver drops its context when it has answered, so nothing of this request reaches the next.
        self._app.context.update(grant=grant, body=body)
        return self._app.resolve(canonical_event(event, route, path, body), context)

    def _answer_error(self, error: Exception) -> Response[str]:
        if isinstance(error, RequestValidationError):
            error = invalid_request(error.errors())
        self._log_failure(error)
        return problem_response(error)

    def _log_failure(self, error: Exception) -> None:
        problem = problem_of(error)
        if problem.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return
        # A message may hold memory text; a type and the places in the code cannot.
        frames = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
        fields = {"code": problem.code, "error_type": type(error).__name__, "frames": frames[-FRAME_COUNT_MAX:]}
        self._logger.error("request failed", extra=fields)


def _preflight() -> dict[str, Any]:
    return {"statusCode": HTTPStatus.NO_CONTENT.value, "headers": _PREFLIGHT, "body": ""}


def _to_event(response: Response[str]) -> dict[str, Any]:
    return {"statusCode": response.status_code, "headers": response.headers, "body": response.body}


def _query_names(endpoint: Any) -> frozenset[str]:
    hints = get_type_hints(endpoint, include_extras=True)
    marks = [(name, mark) for name, hint in hints.items() for mark in getattr(hint, "__metadata__", ())]
    return frozenset(mark.alias or name for name, mark in marks if isinstance(mark, Query))
