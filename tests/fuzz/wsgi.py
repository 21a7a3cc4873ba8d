"""The HTTP API as a WSGI application in this process: HTTP in, events for the real handlers out."""

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

from functions.local_events import HttpRequest, from_answer, to_authorizer_event, to_event, with_authorizer
from tests.functions.deployment import Context, load_handler

_numbers = count(1)


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer one request, through the authorizer."""
    event = to_event(_request(environ))
    decision = load_handler("authorizer").lambda_handler(to_authorizer_event(event), Context())
    answer = from_answer(
        load_handler("http_api").lambda_handler(with_authorizer(event, decision["context"]), Context())
    )
    start_response(f"{answer.status} status", list(answer.headers.items()))
    return [answer.body]


def _request(environ: dict[str, Any]) -> HttpRequest:
    headers = {
        name.removeprefix("HTTP_").replace("_", "-").lower(): str(value)
        for name, value in environ.items()
        if name.startswith("HTTP_") or name in ("CONTENT_TYPE", "CONTENT_LENGTH")
    }
    query = environ.get("QUERY_STRING") or ""
    path = environ.get("REQUEST_URI") or environ["PATH_INFO"]
    return HttpRequest(
        method=environ["REQUEST_METHOD"],
        target=path.partition("?")[0] + (f"?{query}" if query else ""),
        headers=headers,
        body=environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)),
        source_ip="127.0.0.1",
        number=next(_numbers),
    )
