"""Reading an API Gateway event (payload format 2.0): what may pass on to the resolver, and in which form."""

import base64
import binascii
from collections.abc import Mapping, Set
from typing import Any, Final
from urllib.parse import parse_qsl, quote

from s3_agent_memory.domain.json_values import decode_json
from s3_agent_memory.edge.http.problems import HttpError, invalid_request
from s3_agent_memory.edge.http.routes import Body, Route, allowed_methods
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.wire import problems
from s3_agent_memory.wire.problems import make_problem

BODY_BYTES_MAX: Final = 4 * 1024 * 1024
DEFAULT_STAGE: Final = "$default"


def method_and_path(event: Mapping[str, Any]) -> tuple[str, str]:
    """Return the method in capitals and the path without a stage."""
    context = event["requestContext"]
    stage = context.get("stage", DEFAULT_STAGE)
    path = str(event["rawPath"])
    return str(context["http"]["method"]).upper(), path if stage == DEFAULT_STAGE else path.removeprefix(f"/{stage}")


def require_route(route: Route | None, path: str) -> Route:
    """Return the route, or raise the ``HttpError`` that says why there is none."""
    if route is not None:
        return route
    methods = allowed_methods(path)
    if not methods:
        raise HttpError(make_problem(problems.ROUTE_NOT_FOUND, "there is no such path; see /openapi.json"))
    detail = "this path allows only: " + ", ".join(methods)
    raise HttpError(make_problem(problems.METHOD_NOT_ALLOWED, detail), headers={"Allow": ", ".join(methods)})


def check_query(event: Mapping[str, Any], known: Set[str]) -> None:
    """Refuse parameters that the route does not know: a misspelt filter must not widen a list to everything."""
    given = parse_qsl(event.get("rawQueryString") or "", keep_blank_values=True)
    unknown = sorted({name for name, _ in given} - known)
    if unknown:
        message = "unknown parameter; known are: " + (", ".join(sorted(known)) or "none")
        raise invalid_request([{"loc": ("query", name), "msg": message} for name in unknown])


def read_body(event: Mapping[str, Any], route: Route) -> bytes:
    """Return the body that the route asks for.

    Raises:
        HttpError: it has the wrong content type, is too large, or is missing.
    """
    if route.body is Body.NONE:
        return b""
    media_type = _header(event, "content-type").partition(";")[0].strip().lower()
    if media_type not in route.body.value:
        detail = "the content type must be " + " or ".join(filter(None, route.body.value))
        raise HttpError(make_problem(problems.UNSUPPORTED_MEDIA_TYPE, detail))
    body = decode_body(event)
    if len(body) > BODY_BYTES_MAX:
        detail = f"the body is {len(body)} bytes; at most {BODY_BYTES_MAX} are allowed"
        raise HttpError(make_problem(problems.BODY_TOO_LARGE, detail))
    if not body:
        raise invalid_request([{"loc": ("body",), "msg": "a body is required"}])
    return body


def canonical_event(event: Mapping[str, Any], route: Route, path: str, body: bytes) -> dict[str, Any]:
    """Return the event in the one form the resolver sees: plain text body, path without stage, safely encoded.

    API Gateway hands over a decoded path, a function URL an encoded one; no valid id holds a percent sign, so decoding
    what is encoded here is right for both.
    """
    context = event["requestContext"]
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    return {
        **event,
        # The media type is checked already; the resolver would not know it in capitals.
        "headers": {**headers, "content-type": next(iter(route.body.value), "")},
        "rawPath": quote(path, safe="/%"),
        "rawQueryString": event.get("rawQueryString") or "",
        "body": _text(body) if route.body is Body.JSON else None,
        "isBase64Encoded": False,
        "requestContext": {**context, "stage": DEFAULT_STAGE, "http": {**context["http"], "method": route.method}},
    }


def parse_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a body.

    Raises:
        HttpError: it is not JSON (NaN and Infinity are not JSON either), or no object.
    """
    try:
        document = decode_json(text.encode())
    except ValidationError:
        raise HttpError(make_problem(problems.MALFORMED_JSON, "the body is not valid JSON")) from None
    if not isinstance(document, dict):
        raise invalid_request([{"loc": ("body",), "msg": "the body must be a JSON object"}])
    return document


def decode_body(event: Mapping[str, Any]) -> bytes:
    """Return the body as it was sent.

    Raises:
        ValidationError: it is said to be Base64 and is not.
    """
    text = str(event.get("body") or "")
    if not event.get("isBase64Encoded"):
        return text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValidationError("the body is not valid Base64") from None


def _header(event: Mapping[str, Any], name: str) -> str:
    return next((str(value) for key, value in (event.get("headers") or {}).items() if key.lower() == name), "")


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise HttpError(make_problem(problems.MALFORMED_JSON, "the body is not UTF-8")) from None
