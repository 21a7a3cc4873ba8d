"""The faulty network does to a request what the name of the fault says, and to the server behind it no more."""

from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

import pytest

from tests.faults.deck import Deck, Fault, Rates
from tests.faults.proxy import POLL_SECONDS, running_proxy

BODY = b"0123456789"


class _Upstream(ThreadingHTTPServer):
    """Takes note of every request that arrives."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.arrived: list[tuple[str, str, bytes]] = []


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Upstream

    def __getattr__(self, name: str) -> object:
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.arrived.append((self.command, self.path, body))
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""


class _Stacked(Deck):
    """A deck that holds one fault for every request."""

    def __init__(self, fault: Fault | None) -> None:
        super().__init__(0)
        self._fault = fault

    def draw(self, *, is_write: bool, is_conditional: bool) -> Fault | None:  # noqa: ARG002
        return self._fault


@pytest.fixture
def upstream() -> Iterator[_Upstream]:
    with _Upstream() as server:
        thread = Thread(target=server.serve_forever, args=(POLL_SECONDS,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _send(upstream: _Upstream, fault: Fault | None) -> int | None:
    """Send a request through the proxy; return the status of a whole reply, None if there was none."""
    with running_proxy(f"http://127.0.0.1:{upstream.server_address[1]}", _Stacked(fault)) as proxy:
        connection = HTTPConnection(urlsplit(proxy.url).netloc, timeout=10)
        try:
            connection.request("PUT", "/bucket/key?x=1", b"sent", {"If-Match": '"a"'})
            response = connection.getresponse()
            return response.status if response.read() and "Content-Length" in response.headers else None
        except (OSError, HTTPException):
            return None
        finally:
            connection.close()


@pytest.mark.parametrize(
    ("fault", "status", "arrived_count"),
    [
        (None, 200, 1),
        (Fault.DELAY, 200, 1),
        (Fault.LOST_REQUEST, None, 0),
        (Fault.LATE_REQUEST, None, 1),
        (Fault.LOST_REPLY, None, 1),
        (Fault.CUT_BODY, None, 1),
        (Fault.CUT_HEAD, None, 1),
        (Fault.SLOW_DOWN, 503, 0),
        (Fault.REFUSED, 500, 0),
        (Fault.CONFLICT, 409, 0),
        (Fault.DONE_BUT_FAILED, 500, 1),
    ],
)
def test_a_fault_does_what_it_is_called(
    upstream: _Upstream, fault: Fault | None, status: int | None, arrived_count: int
) -> None:
    assert _send(upstream, fault) == status
    assert upstream.arrived == [("PUT", "/bucket/key?x=1", b"sent")] * arrived_count


def test_one_seed_is_one_order_of_faults() -> None:
    first, second = (Deck(5, Rates(read=0.5, write=0.5)) for _ in range(2))
    orders = [
        [deck.draw(is_write=number % 2 == 0, is_conditional=number % 4 == 0) for number in range(200)]
        for deck in (first, second)
    ]
    assert orders[0] == orders[1]


def test_an_outage_lets_nothing_through_from_the_next_write_on() -> None:
    deck = Deck(5, Rates(read=0, write=0))
    deck.break_down(3, at_write=True)
    drawn = [deck.draw(is_write=is_write, is_conditional=False) for is_write in (False, True, False, False, False)]
    assert [fault is None for fault in drawn] == [True, False, False, False, True]
