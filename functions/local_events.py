"""HTTP requests as the events that API Gateway makes of them (payload format 2.0), and answers back."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

_TEXT_TYPES: Final = ("text/", "application/json", "application/javascript", "application/xml")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request as read from the network; ``target`` is the request target as sent."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    source_ip: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """One answer as it goes to the network."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def to_event(request: HttpRequest) -> dict[str, Any]:
    """Return the event of a request: the path decoded, the query as it came, a body that is no text as Base64.

    Raises:
        ValueError: the target is no URL.
    """
    parts = urlsplit(request.target)
    # API Gateway hands over the decoded path.
    path = unquote(parts.path)
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": parts.query,
        "queryStringParameters": _query(parts.query),
        "headers": dict(request.headers),
        "requestContext": _request_context(request, path),
        **_body(request),
    }


def to_authorizer_event(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event that a Lambda authorizer gets: the request without its body."""
    authorization = event["headers"].get("authorization")
    return {
        **{name: value for name, value in event.items() if name not in ("body", "isBase64Encoded")},
        "type": "REQUEST",
        "routeArn": "arn:aws:execute-api:local:000000000000:local/$default/ANY/",
        "identitySource": None if authorization is None else [authorization],
    }


def with_authorizer(event: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event as a function gets it after the authorizer said yes."""
    return {**event, "requestContext": {**event["requestContext"], "authorizer": {"lambda": dict(context)}}}


def from_answer(answer: Mapping[str, Any]) -> HttpAnswer:
    """Return what goes to the network for the answer of a function."""
    body = answer.get("body") or ""
    return HttpAnswer(
        status=int(answer["statusCode"]),
        headers={name: str(value) for name, value in (answer.get("headers") or {}).items()},
        body=base64.b64decode(body) if answer.get("isBase64Encoded") else str(body).encode(),
    )


def _request_context(request: HttpRequest, path: str) -> dict[str, Any]:
    return {
        "accountId": "000000000000",
        "apiId": "local",
        "domainName": request.headers.get("host", ""),
        "http": {
            "method": request.method,
            "path": path,
            "protocol": "HTTP/1.1",
            "sourceIp": request.source_ip,
            "userAgent": request.headers.get("user-agent", ""),
        },
        "requestId": f"local-{request.number}",
        "routeKey": "$default",
        "stage": "$default",
    }


def _query(query: str) -> dict[str, str]:
    values: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        values.setdefault(name, []).append(value)
    return {name: ",".join(items) for name, items in values.items()}


def _body(request: HttpRequest) -> dict[str, Any]:
    if not request.body:
        return {"isBase64Encoded": False}
    if request.headers.get("content-type", "").startswith(_TEXT_TYPES):
        try:
            return {"body": request.body.decode(), "isBase64Encoded": False}
        except UnicodeDecodeError:
            pass
    return {"body": base64.b64encode(request.body).decode(), "isBase64Encoded": True}
