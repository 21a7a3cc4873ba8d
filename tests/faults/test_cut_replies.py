"""A reply whose head was cut looks whole to an HTTP client; the S3 adapter must not believe it."""

import socketserver
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Thread

import pytest

from s3_agent_memory.errors import BackendError, UnknownOutcomeError
from s3_agent_memory.storage.s3 import S3ObjectStore

KEY = "memory/users/alice/semantic/one.json"
STATUS = b"HTTP/1.1 200 OK\r\n"
POLL_SECONDS = 0.05


class _Server(socketserver.ThreadingTCPServer):
    """Answers every request with the same bytes and hangs up."""

    reply = b""
    request_count = 0


class _Connection(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        while self.rfile.readline().strip():
            continue
        self.server.request_count += 1
        with suppress(OSError):
            self.wfile.write(self.server.reply)


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server(("127.0.0.1", 0), _Connection) as running:
        thread = Thread(target=running.serve_forever, args=(POLL_SECONDS,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def store(server: _Server, monkeypatch: pytest.MonkeyPatch) -> S3ObjectStore:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    # Without this the SDK waits for seconds between its attempts to read.
    monkeypatch.setattr("s3_agent_memory.storage.s3.READ_ATTEMPT_COUNT_MAX", 2)
    return S3ObjectStore("bucket", endpoint_url=f"http://127.0.0.1:{server.server_address[1]}", region="us-east-1")


@pytest.mark.parametrize("rest", [b"", b"Server: x\r\n", b"Content-Length: 0\r\n", b'Content-Length: 0\r\nETag: "ab'])
def test_a_put_without_its_whole_etag_has_an_unknown_outcome(
    server: _Server, store: S3ObjectStore, rest: bytes
) -> None:
    server.reply = STATUS + rest
    with pytest.raises(UnknownOutcomeError):
        store.put(KEY, b"{}")
    assert server.request_count == 1


@pytest.mark.parametrize("rest", [b"Server: x\r\n", b'ETag: "abc"\r\n', b'ETag: "abc"\r\nContent-Length: 12\r\n'])
@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda store: store.get(KEY, size_max=100), id="get"),
        pytest.param(lambda store: store.list_page("memory/"), id="list"),
    ],
)
def test_a_read_without_its_body_is_no_empty_answer(
    server: _Server, store: S3ObjectStore, read: Callable[[S3ObjectStore], object], rest: bytes
) -> None:
    server.reply = STATUS + rest
    with pytest.raises(BackendError):
        read(store)
