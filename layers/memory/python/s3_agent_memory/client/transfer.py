"""Moving memories over HTTP: exports and imports of any size, in the pieces that the service takes."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self, TypeVar
from urllib.parse import urlencode

import httpx
import pydantic

from s3_agent_memory.client import problems
from s3_agent_memory.client.retries import UNSENT, Retries, is_passing
from s3_agent_memory.domain.checksum_line import Checked, LineChecksum, parse_checksum_line
from s3_agent_memory.domain.clock import Clock, Entropy, SystemClock, SystemEntropy
from s3_agent_memory.domain.ids import IdSource
from s3_agent_memory.errors import BackendError, ThrottledError, UnknownOutcomeError, ValidationError
from s3_agent_memory.wire.answers import EventsAnswer, ImportAnswer, LineErrorDocument

TIMEOUT_SECONDS: Final = 60.0
# The service takes 4 MiB, and a function answers within half a minute.
REQUEST_BYTES_MAX: Final = 3 * 1024 * 1024
REQUEST_LINES_MAX: Final = 2_000
_IDLE_COUNT_MAX: Final = 5
_ERROR_COUNT_MAX: Final = 100
_NDJSON: Final = "application/x-ndjson"
_Answer = TypeVar("_Answer", bound=pydantic.BaseModel)


@dataclass(slots=True)
class ImportTotals:
    """What an import did, in lines of the file.

    Attributes:
        imported, overwritten, skipped, refused, failed: how many lines; see ``ImportAnswer``.
        errors: why, for the first 100 failed lines, with their numbers in the file.
        checksum: what checksum lines say: ``verified``, ``mismatch`` or ``absent``.
    """

    imported: int = 0
    overwritten: int = 0
    skipped: int = 0
    refused: int = 0
    failed: int = 0
    errors: list[LineErrorDocument] = field(default_factory=list)
    checksum: str = Checked.ABSENT.value


class MemoryTransferClient:
    """Exports, imports and watches the memories of a token's namespace.

    A request that got no answer is sent again. That stores nothing twice: a line without an id is given one before it
    is sent, and ids that exist are skipped.

    Args:
        base_url: of the service, such as ``https://memory.example.com``.
        namespace: inside the grant of a token for several; None is the token's own.
        retries: how often and how patiently a request is tried.
        transport: of httpx, instead of the network.
        clock, entropy: make ids, and wait.

    Example:
        with MemoryTransferClient("http://127.0.0.1:8787", token=token) as memories, open("all.jsonl", "w") as file:
            for line in with_checksum(memories.export()):
                print(line, file=file)
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: str,
        namespace: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: Retries | None = None,
        transport: httpx.BaseTransport | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self._namespace = {} if namespace is None else {"namespace": namespace}
        self._retries = retries or Retries(attempt_count_max=6, cap_seconds=10.0)
        self._entropy = entropy or SystemEntropy()
        self._clock = clock or SystemClock()
        self._ids = IdSource(self._clock, self._entropy)
        self._http = httpx.Client(
            base_url=base_url.rstrip("/"),
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout_seconds,
            transport=transport,
        )

    def export(
        self, *, kind: str | None = None, tags: Iterable[str] = (), include_expired: bool = False
    ) -> Iterator[str]:
        """Yield every memory as one line of JSON, page by page; a memory that cannot be read ends the export.

        Raises:
            BackendError: the service failed, or names an object that cannot be read.
            AgentMemoryError: the service refused; the class says why.
        """
        chosen = [*self._namespace.items(), *([("kind", kind)] if kind else []), *(("tag", tag) for tag in tags)]
        query = urlencode([*chosen, *([("include_expired", "true")] * include_expired), ("cursor", "")])
        target: str | None = f"/v1/export?{query}"
        while target is not None:
            response = self._send("GET", target)
            if corrupt := response.headers.get("X-Corrupt-Keys"):
                raise BackendError(f"the service cannot read all memories: {corrupt}")
            yield from (line.decode() for line in response.content.split(b"\n") if line)
            target = response.links.get("next", {}).get("url")

    def import_lines(
        self,
        lines: Iterable[bytes],
        *,
        overwrite: bool = False,
        resurrect: bool = False,
        progress: Callable[[int], object] = lambda _done: None,
    ) -> ImportTotals:
        """Store memories from JSON lines, in as many requests as it takes; checksum lines are compared here.

        Args:
            progress: called with the lines done.

        Raises:
            ThrottledError: the service has no time for a single line, several times over.
            AgentMemoryError: the service refused or failed; what was sent before is stored, and may be sent again.
        """
        flags = {"overwrite": overwrite, "resurrect": resurrect}
        query = urlencode({**self._namespace, **{name: "true" for name, is_set in flags.items() if is_set}})
        totals = ImportTotals()
        for chunk in _Chunks(self._ids, totals).of(lines):
            self._import_chunk(f"/v1/import?{query}", chunk, totals)
            progress(chunk[-1].number)
        return totals

    def events(self, cursor: str | None = None, *, limit: int = 100) -> EventsAnswer:
        """Return what changed since a cursor; see ``MemoryStore.events``.

        Raises:
            CursorTooOldError: list the memories, then start again without a cursor.
        """
        query = {**self._namespace, "limit": str(limit), **({} if cursor is None else {"cursor": cursor})}
        response = self._send("GET", f"/v1/events?{urlencode(query)}")
        return _parsed(EventsAnswer, response)

    def close(self) -> None:
        """Close the connections; the client is of no use afterwards."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _import_chunk(self, target: str, chunk: "list[_Line]", totals: ImportTotals) -> None:
        """Send lines, and those again that the service had no time for."""
        left, idle_count = chunk, 0
        while left:
            answer = _parsed(ImportAnswer, self._send("POST", target, b"".join(line.body + b"\n" for line in left)))
            taken, unread = left[: len(left) - answer.unread_lines], answer.unread_lines
            _add(totals, answer, taken)
            idle_count = 0 if taken else idle_count + 1
            if idle_count > _IDLE_COUNT_MAX:
                raise ThrottledError("the memory service has no time for this import; run it again later")
            left = left[len(left) - unread :] if unread else []

    def _send(self, method: str, target: str, body: bytes | None = None) -> httpx.Response:
        """Return the first answer that is a success.

        Raises:
            AgentMemoryError: there was none; the class says why.
        """
        headers = {} if body is None else {"Content-Type": _NDJSON}
        for attempt in range(self._retries.attempt_count_max):
            is_last = attempt + 1 == self._retries.attempt_count_max
            response: httpx.Response | None = None
            try:
                response = self._http.request(method, target, content=body, headers=headers)
                if response.status_code < 300:
                    return response
                if is_last or not is_passing(response.status_code):
                    raise problems.error_of(response.status_code, response.content)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                if is_last or not isinstance(error, httpx.TransportError):
                    raise _lost(error) from error
            self._clock.sleep(self._retries.wait_seconds(attempt, self._random_fraction(), response))
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _random_fraction(self) -> float:
        return int.from_bytes(self._entropy.random_bytes(4)) / 2.0**32


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    body: bytes


class _Chunks:
    """Cuts lines into requests, gives ids to those that have none, and compares checksum lines."""

    def __init__(self, ids: IdSource, totals: ImportTotals) -> None:
        self._ids = ids
        self._totals = totals
        self._checksum = LineChecksum()
        self._found_any = False

    def of(self, lines: Iterable[bytes]) -> Iterator[list[_Line]]:
        """Yield the lines in chunks of one request each."""
        chunk: list[_Line] = []
        size_bytes = 0
        for number, raw in enumerate(lines, start=1):
            line = raw.rstrip(b"\r\n")
            if not self._is_memory(number, line):
                continue
            body = self._with_id(line)
            if chunk and (size_bytes + len(body) >= REQUEST_BYTES_MAX or len(chunk) >= REQUEST_LINES_MAX):
                yield chunk
                chunk, size_bytes = [], 0
            chunk.append(_Line(number, body))
            size_bytes += len(body) + 1
        if chunk:
            yield chunk
        self._totals.checksum = self._checksum.conclusion(found_any=self._found_any).value

    def _is_memory(self, number: int, line: bytes) -> bool:
        try:
            found = parse_checksum_line(line)
        except ValidationError:
            found = None  # The service refuses it.
        if found is None:
            self._checksum.add(line)
            return bool(line.strip())
        self._found_any = True
        wrong = self._checksum.compare(found)
        if wrong is not None:
            _note(self._totals, LineErrorDocument(line=number, code="corrupt", message=wrong))
        return False

    def _with_id(self, line: bytes) -> bytes:
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            return line  # The service says what is wrong with it.
        if not isinstance(document, dict) or "id" in document:
            return line
        return json.dumps({"id": self._ids.new_id(), **document}, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _add(totals: ImportTotals, answer: ImportAnswer, taken: list[_Line]) -> None:
    for name in ("imported", "overwritten", "skipped", "refused"):
        setattr(totals, name, getattr(totals, name) + getattr(answer, name))
    for error in answer.errors:
        _note(totals, error.model_copy(update={"line": taken[error.line - 1].number}))
    totals.failed += answer.failed - len(answer.errors)


def _note(totals: ImportTotals, error: LineErrorDocument) -> None:
    totals.failed += 1
    if len(totals.errors) < _ERROR_COUNT_MAX:
        totals.errors.append(error)


def _parsed(kind: type[_Answer], response: httpx.Response) -> _Answer:
    try:
        return kind.model_validate_json(response.content)
    except pydantic.ValidationError as error:
        raise BackendError("an answer of the memory service breaks the contract") from error


def _lost(error: httpx.HTTPError | httpx.InvalidURL) -> BackendError:
    """Return the error for a request without an answer. Of the reason only the class: its text may hold the URL."""
    if isinstance(error, UNSENT):
        return BackendError(f"the memory service cannot be reached: {type(error).__name__}")
    return UnknownOutcomeError(f"the memory service gave no answer: {type(error).__name__}")
