"""Reading what was posted to the MCP endpoint: JSON-RPC messages of any protocol revision, or a refusal that says why.

Two eras of the protocol share one URL. A revision up to 2025-11-25 begins with ``initialize``; from 2026-07-28 on every
request carries its revision with it. Batches existed only in 2025-03-26, which is also what a client without a version
header speaks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
    jsonrpc_message_adapter,
)
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS
from pydantic import ValidationError as ShapeError

from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.errors import ValidationError

BATCH_LENGTH_MAX: Final = 50
_BATCH_VERSION: Final = "2025-03-26"
JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"

RequestId = str | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes back over HTTP; an empty body has no content type."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class RefusedError(Exception):
    """A request that is answered with a JSON-RPC error and a status of its own before, or instead of, being served."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: int = INVALID_REQUEST,
        request_id: RequestId = None,
        data: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        error: dict[str, object] = {"code": code, "message": message, **({} if data is None else {"data": dict(data)})}
        body = encode_json({"jsonrpc": "2.0", "id": request_id, "error": error})
        self.reply = Reply(status=status, body=body, headers={"Content-Type": JSON, **(headers or {})})


@dataclass(frozen=True, slots=True)
class Posted:
    """What one request carried.

    Attributes:
        messages: each the bytes of one JSON-RPC message.
        request_id: of the request, if it is a single one.
        is_batch: True if the answer is a list too.
    """

    messages: tuple[bytes, ...]
    request_id: RequestId = None
    is_batch: bool = False


def read_messages(body: bytes, headers: Mapping[str, str]) -> Posted:
    """Return the messages in a body.

    Args:
        headers: with names in lower case.

    Raises:
        RefusedError: the body is not JSON, no message, or of a revision that is not spoken here.
    """
    try:
        document = decode_json(body)
    except ValidationError:
        raise RefusedError(HTTPStatus.BAD_REQUEST, "Parse error: the body is no valid JSON", code=PARSE_ERROR) from None
    version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
    if isinstance(document, list):
        return _batch(document, version)
    message = _check_message(document)
    request_id = message.get("id")
    if version is not None and version not in KNOWN_PROTOCOL_VERSIONS and not _names_version(message):
        raise _unsupported(version, request_id)
    return Posted((body,), request_id)


def _batch(documents: list[Any], version: str | None) -> Posted:
    if version not in (None, _BATCH_VERSION):
        raise RefusedError(HTTPStatus.BAD_REQUEST, f"Revision {version} has no batches: send one message a request")
    if not 1 <= len(documents) <= BATCH_LENGTH_MAX:
        raise RefusedError(HTTPStatus.BAD_REQUEST, f"A batch has 1 to {BATCH_LENGTH_MAX} messages")
    messages = [_check_message(document) for document in documents]
    if any(message.get("method") == "initialize" for message in messages):
        raise RefusedError(HTTPStatus.BAD_REQUEST, "initialize must not be part of a batch")
    return Posted(tuple(encode_json(message) for message in messages), is_batch=True)


def _check_message(document: object) -> Mapping[str, Any]:
    if not isinstance(document, Mapping) or not _is_message(document):
        raise RefusedError(HTTPStatus.BAD_REQUEST, "Invalid request: the body must be one JSON-RPC 2.0 message")
    return document


def _is_message(document: Mapping[str, Any]) -> bool:
    # A request with an id of another type would pass for a notification, and its sender wait for an answer in vain.
    if not isinstance(document.get("id", ""), (str, int)) or isinstance(document.get("id"), bool):
        return False
    try:
        jsonrpc_message_adapter.validate_python(document, by_name=False)
    except ShapeError:
        return False
    return True


def _names_version(document: Mapping[str, Any]) -> bool:
    params = document.get("params")
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    return isinstance(meta, Mapping) and PROTOCOL_VERSION_META_KEY in meta


def _unsupported(version: str, request_id: RequestId) -> RefusedError:
    return RefusedError(
        HTTPStatus.BAD_REQUEST,
        "Unsupported protocol version",
        code=UNSUPPORTED_PROTOCOL_VERSION,
        request_id=request_id,
        data={"supported": list(KNOWN_PROTOCOL_VERSIONS), "requested": version},
    )


def accepts_only_events(accept: str) -> bool:
    """Return True if an ``Accept`` header takes an event stream but no JSON; without a header everything is taken."""
    ranges = [part.split(";") for part in accept.lower().split(",") if part.strip()]
    taken = {media.strip() for media, *parameters in ranges if not any(_is_zero(item) for item in parameters)}
    return bool(taken & {EVENT_STREAM, "text/*"}) and not taken & {JSON, "application/*", "*/*"}


def _is_zero(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    return name.strip() == "q" and value.strip(" 0") in ("", ".")


def as_event(reply: Reply) -> Reply:
    """Return a reply with its body as the one event of a stream."""
    body = b"event: message\ndata: " + reply.body + b"\n\n"
    return Reply(status=reply.status, body=body, headers={**reply.headers, "Content-Type": EVENT_STREAM})
