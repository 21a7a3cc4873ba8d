"""A network that fails: an HTTP proxy on the loopback address between a client and a real S3 server."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from tests.faults.deck import Deck, Fault

DELAY_SECONDS = 0.05
TIMEOUT_SECONDS = 30
POLL_SECONDS = 0.05
_HOP_HEADERS = frozenset({"connection", "content-length", "keep-alive", "transfer-encoding"})
_WITHOUT_BODY = frozenset({204, 304})
_ANSWERS = {
    Fault.SLOW_DOWN: (503, "SlowDown"),
    Fault.REFUSED: (500, "InternalError"),
    Fault.DONE_BUT_FAILED: (500, "InternalError"),
    Fault.CONFLICT: (409, "ConditionalRequestConflict"),
}


@dataclass(frozen=True, slots=True)
class _Reply:
    """A reply as it goes over the network."""

    head: bytes
    body: bytes


class Proxy(ThreadingHTTPServer):
    """Forwards requests to a server, unless its deck has something else in store for them.

    Attributes:
        deck: decides what becomes of each request, and counts.
        url: where to find the proxy.
    """

    # Closing waits for every request that is still on its way.
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, endpoint_url: str, deck: Deck) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.deck = deck
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.upstream = urlsplit(endpoint_url).netloc
        self._open: set[socket.socket] = set()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection, and remember it meanwhile."""
        self._open.add(request)
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._open.discard(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: connections break all the time here."""

    def close(self) -> None:
        """Stop, and return when every request that is still on its way has arrived."""
        self.shutdown()
        for connection in tuple(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        self.server_close()


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = TIMEOUT_SECONDS
    server: Proxy

    def setup(self) -> None:
        super().setup()
        self._upstream = HTTPConnection(self.server.upstream, timeout=TIMEOUT_SECONDS)

    def finish(self) -> None:
        self._upstream.close()
        super().finish()

    def __getattr__(self, name: str) -> Any:
        # The base class looks for one method a verb; all verbs are served alike.
        if name.startswith("do_"):
            return self._serve
        raise AttributeError(name)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        is_conditional = "If-Match" in self.headers or "If-None-Match" in self.headers
        is_write = self.command in {"PUT", "DELETE", "POST"}
        fault = self.server.deck.draw(is_write=is_write, is_conditional=is_conditional)
        if fault in {Fault.LOST_REQUEST, Fault.LATE_REQUEST}:
            self._hang_up()
        if fault in {Fault.LATE_REQUEST, Fault.DELAY}:
            time.sleep(DELAY_SECONDS)
        if fault in {Fault.SLOW_DOWN, Fault.REFUSED, Fault.CONFLICT}:
            self._send(_failure(fault))
        elif fault is not Fault.LOST_REQUEST:
            self._pass_on(body, fault)

    def _pass_on(self, body: bytes, fault: Fault | None) -> None:
        """Forward the request; then do with the reply what the fault wants."""
        try:
            reply = self._forward(body)
        except (OSError, HTTPException):
            self._upstream.close()
            self._hang_up()
            return
        match fault:
            case Fault.LATE_REQUEST:
                return
            case Fault.LOST_REPLY:
                self._hang_up()
            case Fault.CUT_BODY if reply.body:
                self._send(_Reply(reply.head, reply.body[: len(reply.body) // 2]))
                self._hang_up()
            case Fault.CUT_HEAD | Fault.CUT_BODY:
                # Somewhere behind the status line and before the end.
                cut = len(reply.head) // 2
                self._send(_Reply(reply.head[:cut], b""))
                self._hang_up()
            case Fault.DONE_BUT_FAILED:
                self._send(_failure(fault))
            case _:
                self._send(reply)

    def _forward(self, body: bytes) -> _Reply:
        # The head goes on as it came, for the client has signed it.
        self._upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            self._upstream.putheader(name, value)
        self._upstream.endheaders(body or None)
        response = self._upstream.getresponse()
        found = response.read()
        headers = [f"{name}: {value}" for name, value in response.getheaders() if name.lower() not in _HOP_HEADERS]
        return _reply(response.status, headers, found)

    def _send(self, reply: _Reply) -> None:
        self.wfile.write(reply.head + reply.body)

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


def _failure(fault: Fault) -> _Reply:
    status, code = _ANSWERS[fault]
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>injected</Message></Error>"
    return _reply(status, ["Content-Type: application/xml"], body.encode())


def _reply(status: int, headers: list[str], body: bytes) -> _Reply:
    # The length goes last: a head that is cut in the middle must not tell how much is missing.
    length = [] if status in _WITHOUT_BODY else [f"Content-Length: {len(body)}"]
    head = "\r\n".join([f"HTTP/1.1 {status} -", *headers, *length, "", ""])
    return _Reply(head.encode("latin-1"), body)


@contextmanager
def running_proxy(endpoint_url: str, deck: Deck) -> Iterator[Proxy]:
    """Run a proxy in front of a server while the block runs."""
    proxy = Proxy(endpoint_url, deck)
    thread = Thread(target=proxy.serve_forever, args=(POLL_SECONDS,), name="faulty-proxy")
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join()
