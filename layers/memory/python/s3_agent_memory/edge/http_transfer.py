"""Export and import over HTTP: JSON lines within what one Lambda invocation can carry and one request can wait for."""

import io
from collections import deque
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from itertools import accumulate
from typing import Final, Protocol
from urllib.parse import urlencode

from aws_lambda_powertools.event_handler import Response

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.codec import encode_memory
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.edge.http_problems import HttpError
from s3_agent_memory.edge.http_routes import NDJSON
from s3_agent_memory.service.results import MemoryPage
from s3_agent_memory.wire import problems
from s3_agent_memory.wire.problems import make_problem

# Lambda refuses an answer of more than 6 MB, and bytes travel as Base64, a third longer.
EXPORT_BYTES_MAX: Final = 4 * 1024 * 1024
# A page of an export goes on until it is this large; what comes last still has to fit into one answer.
EXPORT_PAGE_BYTES: Final = 2 * 1024 * 1024
EXPORT_LIST_LIMIT: Final = 20
# API Gateway allows 10 KB of headers, and a key may have nearly 1 KB.
CORRUPT_KEY_COUNT_MAX: Final = 8
# An import stops reading when less time than this is left, so that its report still reaches the client.
# What folding and embedding behind an import, and its answer, may take.
IMPORT_RESERVE_MS: Final = 12_000


class Deadline(Protocol):
    """What an import needs of the Lambda context."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the function is stopped."""


def export_whole(store: MemoryStore, namespace: Namespace, *, include_expired: bool) -> Response[bytes]:
    """Return all lines in one answer; objects that cannot be read are named in a header.

    Raises:
        HttpError: the lines are too many; nothing is ever cut silently.
    """
    lines: list[bytes] = []
    corrupt_keys: list[str] = []
    size_bytes = 0
    for text in store.export(namespace, include_expired=include_expired, on_corrupt=corrupt_keys.append):
        lines.append(text.encode() + b"\n")
        size_bytes += len(lines[-1])
        if size_bytes > EXPORT_BYTES_MAX:
            detail = "the namespace is too large for one answer; ask page by page with ?cursor=, or use the CLI"
            raise HttpError(make_problem(problems.ANSWER_TOO_LARGE, detail))
    return _lines_response(lines, _corrupt_header(corrupt_keys))


def export_page(
    store: MemoryStore, namespace: Namespace, cursor: str | None, *, query: Mapping[str, str]
) -> Response[bytes]:
    """Return some lines and a ``Link`` to the next ones; objects that cannot be read are named in a header.

    Args:
        query: parameters that the link repeats.

    Raises:
        HttpError: one memory alone is too large for an answer.
    """
    lines: list[bytes] = []
    corrupt_keys: list[str] = []
    next_cursor = cursor
    while (size_bytes := sum(map(len, lines))) < EXPORT_PAGE_BYTES:
        part = _read_part(store, namespace, next_cursor, size_bytes_max=EXPORT_BYTES_MAX - size_bytes)
        if part is None and not lines:
            detail = "the next memory is too large for an answer; use the CLI"
            raise HttpError(make_problem(problems.ANSWER_TOO_LARGE, detail))
        if part is None:
            break
        page, added = part
        lines += added
        corrupt_keys += page.corrupt_keys
        next_cursor = page.next_cursor
        if next_cursor is None:
            break
    headers = _corrupt_header(corrupt_keys)
    if next_cursor is not None:
        headers["Link"] = f'</v1/export?{urlencode({**query, "cursor": next_cursor})}>; rel="next"'
    return _lines_response(lines, headers)


def _read_part(
    store: MemoryStore, namespace: Namespace, cursor: str | None, *, size_bytes_max: int
) -> tuple[MemoryPage, list[bytes]] | None:
    """Return the next page of a list that fits, and its lines; None if not even one memory fits."""
    limit = EXPORT_LIST_LIMIT
    while limit:
        page = store.list(namespace, limit=limit, cursor=cursor)
        lines = [encode_memory(memory) + b"\n" for memory in page.memories]
        fitting_count = sum(size_bytes <= size_bytes_max for size_bytes in accumulate(map(len, lines)))
        if fitting_count == len(lines):
            return page, lines
        # Only a whole page has a cursor behind it, so a shorter one is read anew.
        limit = fitting_count
    return None


def lines_of(body: bytes) -> list[bytes]:
    """Return the lines of a body; a line feed ends a line, as for the tools that cut files, and nothing else does."""
    return [line.rstrip(b"\r\n") for line in io.BytesIO(body)]


def take_in_time(lines: deque[bytes], deadline: Deadline) -> Iterator[bytes]:
    """Yield lines from the left until the time is nearly up; those not taken stay in ``lines``."""
    while lines and deadline.get_remaining_time_in_millis() > IMPORT_RESERVE_MS:
        yield lines.popleft()


def _corrupt_header(keys: list[str]) -> dict[str, str]:
    return {"X-Corrupt-Keys": ", ".join(keys[:CORRUPT_KEY_COUNT_MAX])} if keys else {}


def _lines_response(lines: list[bytes], headers: Mapping[str, str]) -> Response[bytes]:
    return Response(status_code=HTTPStatus.OK, content_type=NDJSON, body=b"".join(lines), headers=headers)
