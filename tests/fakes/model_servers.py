"""Servers that speak the APIs of language models on this machine: what they answer is laid out beforehand.

The shapes are those of the documentation: chat completions of OpenAI, ``/api/chat`` of Ollama, Converse of Amazon
Bedrock.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

INPUT_TOKENS = 12
OUTPUT_TOKENS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of a server.

    Attributes:
        cut_bytes: so many bytes of the body are announced but never sent.
        stalls: nothing is answered until the server ends.
    """

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    cut_bytes: int = 0
    stalls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One request that a server got."""

    path: str
    headers: dict[str, str]
    document: dict[str, Any]


class ModelServer:
    """Answers each request with the next reply; the last one stands for all that follow.

    Attributes:
        sent: the requests so far.
        dialect: how this provider's answers look.
    """

    def __init__(self, dialect: "Dialect") -> None:
        self.dialect = dialect
        self.sent: list[Sent] = []
        self.replies: list[Reply | Callable[[Sent], Reply]] = [dialect.text("fine")]
        self.ending = threading.Event()
        self._lock = threading.Lock()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def will(self, *replies: Reply | Callable[[Sent], Reply]) -> None:
        self.replies = list(replies)

    def take(self, sent: Sent) -> Reply:
        with self._lock:
            self.sent.append(sent)
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply(sent) if callable(reply) else reply


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = server.take(Sent(path=self.path, headers=headers, document=json.loads(body)))
            if reply.stalls:
                server.ending.wait(30)
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body) + reply.cut_bytes))
            self.end_headers()
            self.wfile.write(reply.body)
            self.close_connection = reply.cut_bytes > 0

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def running(dialect: "Dialect") -> Iterator[ModelServer]:
    """Run a server of a provider until the block ends."""
    server = ModelServer(dialect)
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.ending.set()
        server.http.shutdown()
        thread.join()
        server.http.server_close()


def _json(document: object, status: int = 200, **headers: str) -> Reply:
    return Reply(status=status, body=json.dumps(document).encode(), headers=headers)


class Dialect:
    """How one provider puts things.

    Attributes:
        path: that requests are posted to.
    """

    name: str
    path: str

    def text(self, text: str, *, is_cut: bool = False) -> Reply:
        """An answer."""
        raise NotImplementedError

    def nothing(self) -> Reply:
        """A success without any text."""
        raise NotImplementedError

    def refusal(self) -> Reply | None:
        """The model will not answer; None if the provider has no such answer."""
        raise NotImplementedError

    def error(self, status: int, message: str = "no", **headers: str) -> Reply:
        """The request failed."""
        raise NotImplementedError

    def schema_of(self, sent: Sent) -> object:
        """The JSON schema in a request, None if there is none."""
        raise NotImplementedError

    def system_of(self, sent: Sent) -> str:
        raise NotImplementedError

    def prompt_of(self, sent: Sent) -> str:
        raise NotImplementedError


class OpenAi(Dialect):
    name = "openai"
    path = "/v1/chat/completions"

    def text(self, text: str | None, *, is_cut: bool = False, refusal: str | None = None) -> Reply:
        message: dict[str, object] = {"role": "assistant", "content": text, "refusal": refusal, "annotations": []}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "length" if is_cut else "stop"}
        usage = {
            "prompt_tokens": INPUT_TOKENS,
            "completion_tokens": OUTPUT_TOKENS,
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        }
        return _json(
            {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
        )

    def nothing(self) -> Reply:
        return self.text("")

    def refusal(self) -> Reply:
        return self.text(None, refusal="I can't help with that.")

    def error(self, status: int, message: str = "no", *, param: str | None = None, **headers: str) -> Reply:
        error = {"message": message, "type": "invalid_request_error", "param": param, "code": "unsupported_parameter"}
        return _json({"error": error}, status, **headers)

    def schema_of(self, sent: Sent) -> object:
        return sent.document.get("response_format", {}).get("json_schema", {}).get("schema")

    def system_of(self, sent: Sent) -> str:
        return sent.document["messages"][0]["content"]

    def prompt_of(self, sent: Sent) -> str:
        return sent.document["messages"][1]["content"]


class Ollama(Dialect):
    name = "ollama"
    path = "/api/chat"

    def text(self, text: str, *, is_cut: bool = False) -> Reply:
        return _json(
            {
                "model": "m",
                "created_at": "2026-10-23T23:37:41.624370Z",
                "message": {"role": "assistant", "content": text},
                "done_reason": "length" if is_cut else "stop",
                "done": True,
                "total_duration": 5_043_500_667,
                "prompt_eval_count": INPUT_TOKENS,
                "eval_count": OUTPUT_TOKENS,
            }
        )

    def nothing(self) -> Reply:
        return self.text("")

    def refusal(self) -> Reply | None:
        return None

    def error(self, status: int, message: str = "no", **headers: str) -> Reply:
        return _json({"error": message}, status, **headers)

    def schema_of(self, sent: Sent) -> object:
        return sent.document.get("format")

    def system_of(self, sent: Sent) -> str:
        return sent.document["messages"][0]["content"]

    def prompt_of(self, sent: Sent) -> str:
        return sent.document["messages"][1]["content"]


class Bedrock(Dialect):
    name = "bedrock"
    path = "/model/m/converse"
    _codes: ClassVar[dict[int, str]] = {
        400: "ValidationException",
        403: "AccessDeniedException",
        404: "ResourceNotFoundException",
        429: "ThrottlingException",
        500: "InternalServerException",
        503: "ServiceUnavailableException",
    }

    def text(self, text: str, *, is_cut: bool = False, stop_reason: str = "end_turn") -> Reply:
        return _json(
            {
                "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
                "stopReason": "max_tokens" if is_cut else stop_reason,
                "usage": {
                    "inputTokens": INPUT_TOKENS,
                    "outputTokens": OUTPUT_TOKENS,
                    "totalTokens": INPUT_TOKENS + OUTPUT_TOKENS,
                },
                "metrics": {"latencyMs": 5},
            }
        )

    def nothing(self) -> Reply:
        return self.text("")

    def refusal(self) -> Reply:
        return self.text("no", stop_reason="guardrail_intervened")

    def error(self, status: int, message: str = "no", **headers: str) -> Reply:
        return _json({"message": message}, status, **{"x-amzn-ErrorType": self._codes[status]}, **headers)

    def schema_of(self, sent: Sent) -> object:
        text_format = sent.document.get("outputConfig", {}).get("textFormat")
        return None if text_format is None else json.loads(text_format["structure"]["jsonSchema"]["schema"])

    def system_of(self, sent: Sent) -> str:
        return sent.document["system"][0]["text"]

    def prompt_of(self, sent: Sent) -> str:
        return sent.document["messages"][0]["content"][0]["text"]
