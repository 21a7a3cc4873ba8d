"""The service as its users meet it: the local stack in a process of its own, spoken to over HTTP."""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from benchmarks.quality_corpora import ROOT
from benchmarks.quality_measures import RESULT_COUNT
from s3_agent_memory import bootstrap

ROOT_NAMESPACE: Final = "quality"
_IMPORT_COUNT: Final = 100
_START_SECONDS_MAX: Final = 60.0
_STOP_SECONDS_MAX: Final = 120.0
_VECTOR_WAIT_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.5


class Client:
    """Speaks to one memory service over one connection that stays open."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = connect(parts.netloc, timeout=120)
        self._headers = {"Authorization": f"Bearer {token}"}

    def import_memories(self, namespace: str, documents: Sequence[dict[str, object]]) -> None:
        """Store memories, as many at once as a service surely finishes in the time of one request."""
        for start in range(0, len(documents), _IMPORT_COUNT):
            lines = "\n".join(json.dumps(document) for document in documents[start : start + _IMPORT_COUNT])
            target = _target("/v1/import", namespace, overwrite="true")
            report = self._send("POST", target, lines.encode(), content_type="application/x-ndjson")
            if report["errors"] or report["unread_lines"]:
                sys.exit(f"import into {namespace}: {report}")

    def wait_for_vectors(self, namespace: str, count: int) -> None:
        """Return when ``count`` memories have a vector; end the program if none is added for two minutes."""
        best, deadline = -1, time.monotonic() + _VECTOR_WAIT_SECONDS
        while time.monotonic() < deadline:
            vectors: int = self._send("GET", _target("/v1/stats", namespace))["vectors"]
            if vectors >= count:
                return
            if vectors > best:
                best, deadline = vectors, time.monotonic() + _VECTOR_WAIT_SECONDS
            time.sleep(_POLL_SECONDS)
        sys.exit(f"{namespace}: {best} of {count} memories have a vector, and the service makes no more")

    def search(self, namespace: str, query: str) -> list[str]:
        """Return the ids of the hits, best first."""
        body = json.dumps({"query": query, "limit": RESULT_COUNT}).encode()
        answer = self._send("POST", _target("/v1/memories/search", namespace), body, content_type="application/json")
        if answer["degraded"]:
            sys.exit(f"search in {namespace} had to do without {answer['degraded']}")
        return [hit["memory"]["id"] for hit in answer["hits"]]

    def _send(self, method: str, target: str, body: bytes | None = None, *, content_type: str | None = None) -> Any:
        """Return the JSON answer; end the program with the answer's text if the service refuses."""
        headers = {**self._headers, "Content-Type": content_type} if content_type else self._headers
        self._connection.request(method, target, body, headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status >= 300:
            sys.exit(f"{method} {target}: {response.status} {answer.decode(errors='replace')}")
        return json.loads(answer)


def _target(path: str, namespace: str, **query: str) -> str:
    return f"{path}?{urlencode({'namespace': f'{ROOT_NAMESPACE}/{namespace}', **query})}"


@contextmanager
def local_stack(*, embeddings: str | None = None) -> Iterator[Client]:
    """Run the functions on this machine over an empty directory while the block runs.

    Args:
        embeddings: how vectors are made; None leaves it to the stack's default.
    """
    with tempfile.TemporaryDirectory(prefix="quality-") as folder:
        store_url = f"file://{folder}/store"
        port = _free_port()
        environment = {**os.environ, "PORT": str(port), "S3_AGENT_MEMORY_URL": store_url}
        if embeddings is not None:
            environment["S3_AGENT_MEMORY_EMBEDDINGS"] = embeddings
        output = Path(folder) / "output"
        with output.open("wb") as sink:
            command = [sys.executable, str(ROOT / "functions" / "local_stack.py")]
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=sink, stderr=subprocess.STDOUT)
        try:
            _wait_until_ready(process, port, output)
            yield Client(f"http://127.0.0.1:{port}", _create_token(store_url))
        finally:
            _stop(process)


def _free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, output: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS_MAX
    while time.monotonic() < deadline and process.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"the local stack did not start:\n{output.read_text('utf-8', 'replace')}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=_STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _create_token(store_url: str) -> str:
    service = bootstrap.build_token_service(bootstrap.Settings(url=store_url))
    token, _ = service.create(principal="benchmark", namespace=ROOT_NAMESPACE, covers_children=True)
    return token
