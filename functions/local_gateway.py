"""API Gateway on this machine: HTTP on the loopback address in, events for the functions out.

It does what an HTTP API with a Lambda authorizer does, and guards what a deployed one does not need to: it answers only
requests that name this machine as their host, so that no web page reaches it by a domain name of its own.
"""

import errno
import io
import itertools
import logging
import re
import socket
import string
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import quote

from functions.local_events import HttpAnswer, HttpRequest, from_answer, to_authorizer_event, to_event, with_authorizer
from functions.local_function import LocalFunction
from s3_agent_memory import names
from s3_agent_memory.edge.http.problems import gateway_problem
from s3_agent_memory.errors import AgentMemoryError

ADDRESS: Final = "127.0.0.1"
BODY_BYTES_MAX: Final = 10 * 1024 * 1024
REQUEST_SECONDS_MAX: Final = 20.0
CONNECTION_COUNT_MAX: Final = 256
_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")
_LENGTH: Final = re.compile(r"[0-9]{1,15}")
_LOGGED_LENGTH_MAX: Final = 200

logger = logging.getLogger(__name__)
access_logger = logging.getLogger("functions.access")


class PortInUseError(Exception):
    """Another program listens on the port."""


class GatewayError(Exception):
    """A request that the gateway refuses itself; the connection is closed after the answer."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code)
        status, body = gateway_problem(code, detail)
        headers = {"Content-Type": "application/problem+json"}
        self.answer = HttpAnswer(status=status, headers=headers, body=body.encode())


class LocalGateway(ThreadingHTTPServer):
    """The HTTP server in front of the functions, on the loopback address only.

    Raises:
        PortInUseError: another program listens on the port; 0 takes a free one.
    """

    daemon_threads = False
    request_queue_size = 128

    def __init__(
        self,
        port: int,
        *,
        api: LocalFunction,
        authorizer: LocalFunction,
        monotonic: Callable[[], float],
        mcp: LocalFunction | None = None,
    ) -> None:
        self.monotonic = monotonic
        self._api = api
        self._mcp = mcp
        self._authorizer = authorizer
        self._connections: set[socket.socket] = set()
        self.numbers = itertools.count(1)
        try:
            super().__init__((ADDRESS, port), _Connection)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise PortInUseError(f"port {port} of {ADDRESS} is in use") from error

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self.server_address[1])

    def is_own_host(self, host: str) -> bool:
        """Return True if a ``Host`` header names this machine and port."""
        return host.lower() in {f"{name}:{self.port}" for name in _HOSTS}

    def answer(self, request: HttpRequest) -> HttpAnswer:
        """Return the functions' answer to a request; a function that raises is an internal problem."""
        try:
            event = to_event(request)
        except ValueError:
            return GatewayError("validation", "the target of the request is no URL").answer
        try:
            decision = self._authorizer.invoke(to_authorizer_event(event))
            if not decision["isAuthorized"]:
                return GatewayError("forbidden", "the authorizer refused the request").answer
            function = self._function_for(event["rawPath"])
            return from_answer(function.invoke(with_authorizer(event, decision["context"])))
        except AgentMemoryError as error:
            # Only the authorizer lets such an error out: it could not check the token. API Gateway answers 500 then.
            logger.warning("authorizer failed: %s", error.code)
            return GatewayError("backend", "the token could not be checked; send the same request again").answer
        except Exception as error:  # noqa: BLE001  # The client gets an answer, whatever went wrong.
            # The message may hold memory text, the type cannot.
            logger.warning("function failed: %s", type(error).__name__)
            return GatewayError("internal", "a function failed").answer

    def _function_for(self, path: str) -> LocalFunction:
        is_mcp = path in (names.MCP_PATH, names.REGISTRATION_PATH) or path.startswith(names.WELL_KNOWN_PREFIX)
        return self._mcp if is_mcp and self._mcp is not None else self._api

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002  # The base class's signature.
        """Refuse connections beyond the limit."""
        return len(self._connections) < CONNECTION_COUNT_MAX

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection, and remember it meanwhile."""
        self._connections.add(request)
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.discard(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about a connection that broke: its client is gone."""

    def stop(self) -> None:
        """Take no more requests, answer those that are being worked on, and return when all are answered."""
        self.shutdown()
        for connection in tuple(self._connections):
            try:
                # A connection that waits for its next request reads the end of the stream and goes away.
                connection.shutdown(socket.SHUT_RD)
            except OSError:
                continue
        self.server_close()


class _TimedSocket(io.RawIOBase):
    """A socket's input in which everything must come before a deadline, however slowly it drips."""

    def __init__(self, connection: socket.socket, monotonic: Callable[[], float]) -> None:
        self._connection = connection
        self._monotonic = monotonic
        self._ends_at = 0.0

    def restart(self, seconds: float) -> None:
        self._ends_at = self._monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(max(0.001, self._ends_at - self._monotonic()))
        return self._connection.recv_into(buffer)


class _Connection(BaseHTTPRequestHandler):
    """One connection; answers its requests one after the other."""

    protocol_version = "HTTP/1.1"
    # Answers are small and sent in two parts; to wait for more would cost 40 ms each.
    disable_nagle_algorithm = True
    server: LocalGateway

    def setup(self) -> None:
        super().setup()
        self._input = _TimedSocket(self.connection, self.server.monotonic)
        self.rfile = io.BufferedReader(self._input)

    def handle_one_request(self) -> None:
        self._input.restart(REQUEST_SECONDS_MAX)
        super().handle_one_request()

    def __getattr__(self, name: str) -> Callable[[], None]:
        # The base class looks for one method a verb; here the functions decide which verbs there are.
        if name.startswith("do_"):
            return self._serve
        raise AttributeError(name)

    def _serve(self) -> None:
        began_s = self.server.monotonic()
        try:
            answer = self.server.answer(self._read_request())
        except GatewayError as error:
            # What follows on this connection may be the rest of a body, so nothing more is read from it.
            self.close_connection = True
            answer = error.answer
        _log_access(self.command, self.path, answer.status, seconds=self.server.monotonic() - began_s)
        self._send(answer)

    def _read_request(self) -> HttpRequest:
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or not self.server.is_own_host(hosts[0].strip()):
            raise GatewayError("misdirected_request", "this server answers only as localhost")
        headers: dict[str, str] = {}
        for name, value in self.headers.items():
            known = headers.get(name.lower())
            headers[name.lower()] = value if known is None else f"{known},{value}"
        return HttpRequest(
            method=self.command,
            target=self.path,
            headers=headers,
            body=self._read_body(),
            source_ip=str(self.client_address[0]),
            number=next(self.server.numbers),
        )

    def _read_body(self) -> bytes:
        size_bytes = self._announced_size_bytes()
        if self.headers.get("Expect", "").lower() == "100-continue":
            super().handle_expect_100()
        try:
            body = self.rfile.read(size_bytes)
        except TimeoutError:
            raise GatewayError("request_timeout", "the body did not come in time") from None
        if len(body) < size_bytes:
            raise GatewayError("validation", "the body is shorter than its Content-Length")
        return body

    def _announced_size_bytes(self) -> int:
        if "Transfer-Encoding" in self.headers:
            raise GatewayError("length_required", "send the body with a Content-Length")
        lengths = set(self.headers.get_all("Content-Length") or ["0"])
        length = lengths.pop()
        if lengths or not _LENGTH.fullmatch(length):
            raise GatewayError("validation", "Content-Length must be one number of at most 15 digits")
        if int(length) > BODY_BYTES_MAX:
            raise GatewayError("body_too_large", f"a request may have at most {BODY_BYTES_MAX} bytes")
        return int(length)

    def handle_expect_100(self) -> bool:
        """Leave it to the reading of the body to say that the client may go on: its length is not checked yet."""
        return True

    def _send(self, answer: HttpAnswer) -> None:
        self.connection.settimeout(REQUEST_SECONDS_MAX)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if self.command != "HEAD" and answer.status not in (204, 304):
            self.send_header("Content-Length", str(len(answer.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer what cannot even be parsed as a request."""
        self.close_connection = True
        self.command = getattr(self, "command", None) or "GET"
        # Until a request line is understood the base class takes it for one of HTTP/0.9, which knows no status.
        self.request_version = self.protocol_version
        answer = GatewayError("validation", message or "this is no HTTP request").answer
        _log_access("-", "-", answer.status, seconds=0)
        self._send(answer)

    def version_string(self) -> str:
        """Name the server without telling its versions."""
        return "s3-agent-memory"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: a request line may hold text that belongs in no log."""


def _log_access(method: str, target: str, status: int, *, seconds: float) -> None:
    # A query may hold text of memories, and a whole URL a password before its path.
    path = re.split("[?#]", target, maxsplit=1)[0] if target.startswith("/") else "-"
    access_logger.info("%s %s %d %.1f ms", _printable(method), _printable(path), status, seconds * 1_000)


def _printable(text: str) -> str:
    return quote(text[:_LOGGED_LENGTH_MAX], safe=string.punctuation)
