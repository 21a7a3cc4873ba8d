"""A server on 127.0.0.1 that speaks just enough S3 to give the answers a test wrote down, and keeps the requests."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread

RELEASE_TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer; the last of a script is given again for every further request.

    Attributes:
        status: HTTP status.
        code: S3 error code, sent as an XML document in place of ``body``.
        missing_bytes: so much is declared but not sent.
        is_dropped: the connection is closed without a word.
        is_held: nothing is sent until the test is over.
    """

    status: int = 200
    code: str = ""
    body: bytes = b""
    missing_bytes: int = 0
    is_dropped: bool = False
    is_held: bool = False

    @property
    def content(self) -> bytes:
        if not self.code:
            return self.body
        return f"<Error><Code>{self.code}</Code><Message>told by the script</Message></Error>".encode()


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in."""

    method: str
    target: str
    headers: dict[str, str]


@dataclass(slots=True)
class Script:
    """What the server is to answer, and what it was asked."""

    endpoint_url: str = ""
    answers: list[Answer] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    is_over: Event = field(default_factory=Event)
    lock: Lock = field(default_factory=Lock)

    def next_answer(self, request: Request) -> Answer:
        with self.lock:
            self.requests.append(request)
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def running_scripted_s3() -> Iterator[Script]:
    """Run the server; the test fills in the script's answers."""
    script = Script()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_class(script))
    script.endpoint_url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        script.is_over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _handler_class(script: Script) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = script.next_answer(Request(self.command, self.path, headers))
            if answer.is_held:
                script.is_over.wait(RELEASE_TIMEOUT_SECONDS)
            if not (answer.is_held or answer.is_dropped):
                self.send(answer)
            self.close_connection = True

        def send(self, answer: Answer) -> None:
            self.send_response(answer.status)
            self.send_header("ETag", '"scripted"')
            self.send_header("Content-Length", str(len(answer.content) + answer.missing_bytes))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
            """Say nothing."""

        do_GET = do_PUT = do_DELETE = answer  # noqa: N815 (the base class looks for these names)

    return Handler
