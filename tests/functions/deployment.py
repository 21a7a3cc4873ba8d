"""The real handlers on one store in this process, called with recorded events."""

import base64
import copy
import functools
import importlib
import itertools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote, urlsplit

from aws_lambda_powertools.utilities.typing import LambdaContext

from s3_agent_memory import bootstrap
from s3_agent_memory.edge.http.routes import find_route
from s3_agent_memory.wire.problems import MEDIA_TYPE, Problem

EVENTS = Path(__file__).parents[1] / "events"
SETTINGS = bootstrap.Settings(url="memory://handlers-under-test")
_ENVIRONMENT = {"S3_AGENT_MEMORY_URL": SETTINGS.url, "POWERTOOLS_METRICS_DISABLED": "true"}
_numbers = itertools.count(1)


@functools.cache
def load_handler(name):
    """Import a function as a cold start does, with the environment of the deployment."""
    with patch.dict(os.environ, _ENVIRONMENT):
        return importlib.import_module(f"functions.{name}.handler")


@functools.cache
def object_store():
    return bootstrap.open_object_store(SETTINGS)


def recorded(name) -> dict[str, Any]:
    return json.loads((EVENTS / f"{name}.json").read_text())


def fresh_namespace():
    return f"users/test-{next(_numbers)}"


class Context(LambdaContext):
    """A Lambda context with a fixed time left."""

    def __init__(self, remaining_ms=29_000):
        self._function_name = "under-test"
        self._memory_limit_in_mb = 1_769
        self._invoked_function_arn = "arn:aws:lambda:eu-central-1:123456789012:function:under-test"
        self._aws_request_id = "c6af9ac6-7b61-11e6-9a41-93e8deadbeef"
        self.remaining_ms = remaining_ms

    def get_remaining_time_in_millis(self):  # type: ignore[override]  # The class for typing has no state.
        return self.remaining_ms


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, with the headers' names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return self.json["code"]


def make_event(method, target, body=None, headers=None, *, is_base64=False):
    """Return the event of a request as API Gateway makes it."""
    event = copy.deepcopy(recorded("http_api_v2"))
    parts = urlsplit(target)
    event["rawPath"] = event["requestContext"]["http"]["path"] = unquote(parts.path)
    event["rawQueryString"] = parts.query
    event["requestContext"]["http"]["method"] = method
    del event["headers"]["authorization"], event["body"]
    event["headers"].update({name.lower(): value for name, value in (headers or {}).items()})
    if body is not None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        event["body"] = base64.b64encode(raw).decode() if is_base64 else raw.decode()
        event["isBase64Encoded"] = is_base64
    if parts.query:
        pairs = [pair.partition("=") for pair in parts.query.split("&")]
        event["queryStringParameters"] = {}
        for name, _, value in pairs:
            known = event["queryStringParameters"].get(unquote(name))
            event["queryStringParameters"][unquote(name)] = unquote(value) if known is None else f"{known},{value}"
    return event


def authorized(event):
    """Return the event after the real authorizer saw it."""
    decision = load_handler("authorizer").lambda_handler(event, Context())
    assert decision["isAuthorized"] is True
    event["requestContext"]["authorizer"] = {"lambda": decision["context"]}
    return event


def check_contract(method, target, answer: Answer):
    """Fail if an answer is not what the OpenAPI document says about its route."""
    route = find_route("GET" if method == "HEAD" else method, urlsplit(target).path)
    assert answer.headers["access-control-allow-origin"] == "*"
    if answer.headers.get("content-type") == MEDIA_TYPE:
        problem = Problem.model_validate_json(answer.body)
        assert problem.status == answer.status
    if route is None:
        return
    assert answer.status in route.responses(), f"{answer.status} of {route} is not documented: {answer.body[:200]!r}"
    if answer.status == route.status and route.model is not None and method != "HEAD":
        route.model.model_validate_json(answer.body)


def answer_of(result) -> Answer:
    body = result.get("body") or ""
    raw = base64.b64decode(body) if result.get("isBase64Encoded") else body.encode()
    return Answer(result["statusCode"], {name.lower(): value for name, value in result["headers"].items()}, raw)


@dataclass(frozen=True, slots=True)
class Client:
    """Sends requests through the authorizer to the HTTP API, and checks every answer against its description."""

    token: str | None
    namespace: str

    def send(self, method, target, body=None, *, headers=None, is_base64=False, context=None) -> Answer:
        sent = {"content-type": "application/json", **(headers or {})}
        if self.token is not None:
            sent["authorization"] = f"Bearer {self.token}"
        event = authorized(make_event(method, target, body, sent, is_base64=is_base64))
        answer = answer_of(load_handler("http_api").lambda_handler(event, context or Context()))
        check_contract(method, target, answer)
        return answer

    def remember(self, content="a memory", **fields) -> dict[str, Any]:
        answer = self.send("POST", "/v1/memories", {"content": content, **fields})
        assert answer.status == 201, answer.body
        return answer.json["memory"]

    def search(self, query="", **fields) -> list[str]:
        answer = self.send("POST", "/v1/memories/search", {"query": query, **fields})
        assert answer.status == 200, answer.body
        return [hit["memory"]["id"] for hit in answer.json["hits"]]


def make_client(namespace=None, **grant) -> Client:
    """Return a client with a fresh token; by default for a fresh namespace, to read and write."""
    place = namespace or fresh_namespace()
    token, _ = load_handler("authorizer").tokens.create(principal="tester", namespace=place, **grant)
    return Client(token, place)
