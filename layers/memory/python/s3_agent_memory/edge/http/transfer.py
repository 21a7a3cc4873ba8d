"""Export and import over HTTP: JSON lines within what one Lambda invocation can carry and one request can wait for."""

import io
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Final, Protocol
from urllib.parse import urlencode

from aws_lambda_powertools.event_handler import Response

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.edge.http.problems import HttpError
from s3_agent_memory.edge.http.routes import NDJSON
from s3_agent_memory.wire import problems
from s3_agent_memory.wire.problems import make_problem

# Lambda refuses an answer of more than 6 MB, and bytes travel as Base64, a third longer.
EXPORT_BYTES_MAX: Final = 4 * 1024 * 1024
# API Gateway allows 10 KB of headers, and a key may have nearly 1 KB.
CORRUPT_KEY_COUNT_MAX: Final = 8
# An import stops reading when less time than this is left, so that its report still reaches the client.
# What folding and embedding behind an import, and its answer, may take.
IMPORT_RESERVE_MS: Final = 12_000


class Deadline(Protocol):
    """What an import needs of the Lambda context."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the function is stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportQuery:
    """Which memories an export is of."""

    kind: str | None = None
    tags: tuple[str, ...] = ()
    include_expired: bool = False

    def parameters(self) -> list[tuple[str, str]]:
        """Return the query of a request for the same memories."""
        given = [("kind", self.kind)] if self.kind is not None else []
        return [*given, *(("tag", tag) for tag in self.tags), *([("include_expired", "true")] * self.include_expired)]


def export_whole(store: MemoryStore, namespace: Namespace, wanted: ExportQuery) -> Response[bytes]:
    """Return all lines in one answer; objects that cannot be read are named in a header.

    Raises:
        HttpError: the lines are too many; nothing is ever cut silently.
    """
    lines: list[bytes] = []
    corrupt_keys: list[str] = []
    size_bytes = 0
    for text in store.export(namespace, on_corrupt=corrupt_keys.append, **asdict(wanted)):
        lines.append(text.encode() + b"\n")
        size_bytes += len(lines[-1])
        if size_bytes > EXPORT_BYTES_MAX:
            detail = "the namespace is too large for one answer; ask page by page with ?cursor=, or use the CLI"
            raise HttpError(make_problem(problems.ANSWER_TOO_LARGE, detail))
    return _lines_response(lines, _corrupt_header(corrupt_keys))


def export_page(
    store: MemoryStore, namespace: Namespace, wanted: ExportQuery, *, cursor: str | None, asked: str | None
) -> Response[bytes]:
    """Return some lines and a ``Link`` to the next ones; objects that cannot be read are named in a header.

    Args:
        asked: the namespace that the request named, if it named one.
    """
    page = store.export_page(namespace, cursor, **asdict(wanted))
    headers = _corrupt_header(page.corrupt_keys)
    if page.next_cursor is not None:
        repeated = [("namespace", asked)] if asked is not None else []
        parameters = [*repeated, *wanted.parameters(), ("cursor", page.next_cursor)]
        headers["Link"] = f'</v1/export?{urlencode(parameters)}>; rel="next"'
    return _lines_response([line.encode() + b"\n" for line in page.lines], headers)


def lines_of(body: bytes) -> list[bytes]:
    """Return the lines of a body; a line feed ends a line, as for the tools that cut files, and nothing else does."""
    return [line.rstrip(b"\r\n") for line in io.BytesIO(body)]


def take_in_time(lines: deque[bytes], deadline: Deadline) -> Iterator[bytes]:
    """Yield lines from the left until the time is nearly up; those not taken stay in ``lines``."""
    while lines and deadline.get_remaining_time_in_millis() > IMPORT_RESERVE_MS:
        yield lines.popleft()


def _corrupt_header(keys: Sequence[str]) -> dict[str, str]:
    return {"X-Corrupt-Keys": ", ".join(keys[:CORRUPT_KEY_COUNT_MAX])} if keys else {}


def _lines_response(lines: list[bytes], headers: Mapping[str, str]) -> Response[bytes]:
    return Response(status_code=HTTPStatus.OK, content_type=NDJSON, body=b"".join(lines), headers=headers)
