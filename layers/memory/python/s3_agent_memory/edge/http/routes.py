"""The routes of the HTTP API: the one table behind routing, allowed methods and the OpenAPI document."""

import re
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from typing import Any, Final

from pydantic import BaseModel

from s3_agent_memory.wire import answers, consolidations, conversation, erasures, problems, succession
from s3_agent_memory.wire.problems import Problem

SECURITY_SCHEME: Final = "bearer"
JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
# Whatever a client says of lines, they are read as JSON; so what clients say by default, or nothing, does as well.
_LINE_TYPES: Final = (
    NDJSON,
    "application/ndjson",
    "application/jsonl",
    "application/json-lines",
    JSON,
    "text/plain",
    "application/octet-stream",
    "application/x-www-form-urlencoded",
    "",
)


class Body(Enum):
    """What a request carries, and the content types that it may come with."""

    NONE = ()
    JSON = (JSON,)
    LINES = _LINE_TYPES


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One route.

    Attributes:
        method, rule: what is matched; ``<name>`` in the rule stands for one segment of the path.
        endpoint: name of the method of ``Endpoints`` that answers.
        summary: one line for the document.
        status: of success.
        model: of the body of success; None for a body that is no JSON.
        failures: statuses besides success and besides those that every route may answer.
        body: what the request carries.
        is_public: True if no token is needed.
        also: another status of success, with the same body.
        extensions: more for the document.
    """

    method: str
    rule: str
    endpoint: str
    summary: str
    model: type[BaseModel] | None
    status: HTTPStatus = HTTPStatus.OK
    failures: tuple[HTTPStatus, ...] = ()
    body: Body = Body.NONE
    is_public: bool = False
    also: HTTPStatus | None = None
    extensions: dict[str, Any] = field(default_factory=dict)

    def matches(self, path: str) -> bool:
        """Return True if the path (percent-encoded or not) is one of this route's."""
        return re.fullmatch(re.sub(r"<\w+>", "[^/]+", re.escape(self.rule)), path) is not None

    def responses(self) -> dict[int, Any]:
        """Return the responses for the OpenAPI document: success, and every problem that may come instead."""
        failures = _EVERYWHERE if self.is_public else (*_EVERYWHERE, *_WITH_TOKEN, *self.failures)
        if self.body is not Body.NONE:
            failures = (*failures, *_WITH_BODY)
        described = {status.value: _failure(status) for status in sorted(set(failures))}
        successes = {status.value: self._success() for status in (self.status, self.also) if status is not None}
        return {**successes, **described}

    def _success(self) -> dict[str, Any]:
        if self.model is None:
            text = {"schema": {"type": "string", "description": "One JSON object a line."}}
            return {"description": self.status.phrase, "content": {NDJSON: text}}
        return {"description": self.status.phrase, "content": {JSON: {"model": self.model}}}


_EVERYWHERE: Final = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
_WITH_TOKEN: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_WITH_BODY: Final = (
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)
_WRITE: Final = (HTTPStatus.CONFLICT, HTTPStatus.GATEWAY_TIMEOUT)
_WRITE_ONE: Final = (HTTPStatus.NOT_FOUND, *_WRITE)

_MEMORIES: Final = "/v1/memories"
_ONE_MEMORY: Final = _MEMORIES + "/<memory_id>"
_CONSOLIDATIONS: Final = "/v1/consolidations"
_LINES_BODY: Final = {"requestBody": {"required": True, "content": {NDJSON: {"schema": {"type": "string"}}}}}


def _failure(status: HTTPStatus) -> dict[str, Any]:
    if status is HTTPStatus.NOT_MODIFIED:
        return {"description": status.phrase, "content": {}}
    return {"description": status.phrase, "content": {problems.MEDIA_TYPE: {"model": Problem}}}


ROUTES: Final = (
    Route(
        method="POST",
        rule=_MEMORIES,
        endpoint="remember",
        summary="Store a memory.",
        model=answers.MemoryAnswer,
        status=HTTPStatus.CREATED,
        failures=_WRITE,
        body=Body.JSON,
    ),
    Route(
        method="GET",
        rule=_MEMORIES,
        endpoint="list_memories",
        summary="List memories, most recently updated first.",
        model=answers.ListAnswer,
        failures=(HTTPStatus.REQUEST_ENTITY_TOO_LARGE,),
    ),
    Route(
        method="POST",
        rule=_MEMORIES + "/search",
        endpoint="search",
        summary="Find memories by words, kind, tags and filter.",
        model=answers.SearchAnswer,
        body=Body.JSON,
    ),
    Route(
        method="POST",
        rule=_MEMORIES + "/batch",
        endpoint="batch",
        summary="Do up to 100 operations, with a result each.",
        model=answers.BatchAnswer,
        body=Body.JSON,
    ),
    Route(
        method="GET",
        rule=_ONE_MEMORY,
        endpoint="get_memory",
        summary="Read a memory.",
        model=answers.MemoryAnswer,
        failures=(HTTPStatus.NOT_MODIFIED, HTTPStatus.NOT_FOUND),
    ),
    Route(
        method="PATCH",
        rule=_ONE_MEMORY,
        endpoint="update_memory",
        summary="Change the fields that are sent; data and metadata merge.",
        model=answers.ChangedAnswer,
        failures=_WRITE_ONE,
        body=Body.JSON,
    ),
    Route(
        method="DELETE",
        rule=_ONE_MEMORY,
        endpoint="forget_memory",
        summary="Delete a memory for good; a tombstone without content stays.",
        model=answers.ForgottenAnswer,
        failures=(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, *_WRITE_ONE),
    ),
    Route(
        method="POST",
        rule=_ONE_MEMORY + "/supersede",
        endpoint="supersede_memory",
        summary="Store what is true instead of a memory.",
        model=answers.ChangedAnswer,
        status=HTTPStatus.CREATED,
        failures=_WRITE_ONE,
        body=Body.JSON,
    ),
    Route(
        method="GET",
        rule=_ONE_MEMORY + "/history",
        endpoint="read_history",
        summary="Read the versions of a memory, what it follows and what follows it.",
        model=succession.HistoryAnswer,
        failures=(HTTPStatus.NOT_FOUND,),
    ),
    Route(
        method="POST",
        rule="/v1/recall",
        endpoint="recall_conversation",
        summary="Recall what is relevant: facts, the session's digest and its latest turns.",
        model=conversation.RecallAnswer,
        body=Body.JSON,
    ),
    Route(
        method="POST",
        rule="/v1/list",
        endpoint="list_conversation",
        summary="List every fact of a scope, with the session's digest and its latest turns.",
        model=conversation.RecallAnswer,
        body=Body.JSON,
    ),
    Route(
        method="POST",
        rule="/v1/write",
        endpoint="write_conversation",
        summary="Append turns to a session; 202 if some left its window and are being digested.",
        model=conversation.WriteAnswer,
        failures=_WRITE,
        body=Body.JSON,
        also=HTTPStatus.ACCEPTED,
    ),
    Route(
        method="POST",
        rule="/v1/forget",
        endpoint="forget_conversation",
        summary="Erase everything of a scope, from all tiers.",
        model=conversation.ForgetAnswer,
        failures=_WRITE,
        body=Body.JSON,
    ),
    Route(
        method="POST",
        rule="/v1/erasures",
        endpoint="begin_erasure",
        summary="Erase a namespace or a part of it for good; 202 if there is more to do.",
        model=erasures.ErasureAnswer,
        failures=_WRITE,
        body=Body.JSON,
        also=HTTPStatus.ACCEPTED,
    ),
    Route(
        method="GET",
        rule="/v1/erasures/<erasure_id>",
        endpoint="read_erasure",
        summary="Read the report of an erasure.",
        model=erasures.ErasureAnswer,
        failures=(HTTPStatus.NOT_FOUND,),
    ),
    Route(
        method="GET",
        rule="/v1/export",
        endpoint="export_memories",
        summary="Read all memories as JSON lines.",
        model=None,
        failures=(HTTPStatus.REQUEST_ENTITY_TOO_LARGE,),
    ),
    Route(
        method="POST",
        rule="/v1/import",
        endpoint="import_memories",
        summary="Store memories from JSON lines; ids that exist are skipped.",
        model=answers.ImportAnswer,
        failures=_WRITE,
        body=Body.LINES,
        extensions=_LINES_BODY,
    ),
    Route(
        method="POST",
        rule=_CONSOLIDATIONS,
        endpoint="consolidate",
        summary="Merge memories that say the same; 202 if there is more to do.",
        model=consolidations.ConsolidationAnswer,
        failures=_WRITE,
        body=Body.JSON,
        also=HTTPStatus.ACCEPTED,
    ),
    Route(
        method="GET",
        rule=_CONSOLIDATIONS + "/<run_id>",
        endpoint="get_consolidation",
        summary="Read what a consolidation merged and why.",
        model=consolidations.RunAnswer,
        failures=(HTTPStatus.NOT_FOUND,),
    ),
    Route(
        method="POST",
        rule=_CONSOLIDATIONS + "/<run_id>/undo",
        endpoint="undo_consolidation",
        summary="Take back what a consolidation merged.",
        model=consolidations.UndoAnswer,
        failures=_WRITE_ONE,
    ),
    Route(
        method="GET",
        rule="/v1/events",
        endpoint="read_events",
        summary="Read what changed since a cursor: ids and versions, never content.",
        model=answers.EventsAnswer,
        failures=(HTTPStatus.GONE,),
    ),
    Route(
        method="GET",
        rule="/v1/stats",
        endpoint="read_stats",
        summary="Read figures about a namespace.",
        model=answers.StatsAnswer,
    ),
    Route(
        method="GET",
        rule="/v1/namespaces",
        endpoint="list_namespaces",
        summary="List the namespaces with memories that the token covers.",
        model=answers.NamespacesAnswer,
    ),
    Route(
        method="GET",
        rule="/",
        endpoint="read_root",
        summary="Say what this is and where its description lies.",
        model=answers.RootAnswer,
        is_public=True,
    ),
    Route(
        method="GET",
        rule="/healthz",
        endpoint="report_health",
        summary="Say that the function runs.",
        model=answers.StatusAnswer,
        is_public=True,
    ),
    Route(
        method="GET",
        rule="/readyz",
        endpoint="report_readiness",
        summary="Say that the storage answers.",
        model=answers.ReadinessAnswer,
        is_public=True,
    ),
    Route(
        method="GET",
        rule="/openapi.json",
        endpoint="read_openapi",
        summary="Read this document.",
        model=answers.OpenApiDocument,
        is_public=True,
    ),
)


def find_route(method: str, path: str) -> Route | None:
    """Return the route of a request, the most specific one if several match."""
    found = [route for route in ROUTES if route.method == method and route.matches(path)]
    return min(found, key=lambda route: route.rule.count("<"), default=None)


def allowed_methods(path: str) -> list[str]:
    """Return the methods that a path knows."""
    methods = {route.method for route in ROUTES if route.matches(path)}
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()) | ({"OPTIONS"} if methods else set()))
