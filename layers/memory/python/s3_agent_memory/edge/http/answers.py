"""Answers of the HTTP API as responses: JSON of a size that Lambda hands on."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import Response

from s3_agent_memory.edge.documents import ANSWER_BYTES_MAX, Document, answer_size_bytes, encode_answer
from s3_agent_memory.edge.http.problems import HttpError
from s3_agent_memory.edge.http.routes import JSON
from s3_agent_memory.wire import problems
from s3_agent_memory.wire.problems import make_problem


def json_response(
    document: Document, *, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response[Any]:
    """Return a document as a response.

    Raises:
        HttpError: it is too large for an answer.
    """
    # A line that ends keeps two answers on one terminal apart.
    text = encode_answer(document) + "\n"
    if answer_size_bytes(text) > ANSWER_BYTES_MAX:
        raise HttpError(make_problem(problems.ANSWER_TOO_LARGE, "the answer is too large; ask for a smaller limit"))
    return Response(status_code=status, content_type=JSON, body=text, headers=dict(headers or {}))
