"""The local stack as a process that can be killed, and a client of it."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

PROJECT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 60
PAGE_SIZE = 100
# Indexer, pruner and sweeper are to work while the load is on.
_INTERVALS = {
    "INDEX_WINDOW_SECONDS": "0.1",
    "PRUNE_INTERVAL_SECONDS": "0.5",
    "SWEEP_INTERVAL_SECONDS": "0.5",
    "S3_AGENT_MEMORY_EMBEDDINGS": "none",
}


class RefusedError(Exception):
    """The service answered with something else than success."""


class Client:
    """Speaks to the stack over one connection that stays open; not for several threads."""

    def __init__(self, url: str, token: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT_SECONDS)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def send(self, method: str, path: str, body: Mapping[str, object] | None = None) -> str:
        """Return the body of the answer.

        Raises:
            RefusedError: the answer is no success.
            OSError, http.client.HTTPException: there was no whole answer.
        """
        self._connection.request(method, path, None if body is None else json.dumps(body), self._headers)
        response = self._connection.getresponse()
        text = response.read().decode()
        if response.status >= 300:
            raise RefusedError(f"{method} {path}: {response.status} {text}")
        return text

    def remember(self, content: str) -> str:
        """Store a memory and return its id."""
        return str(json.loads(self.send("POST", "/v1/memories", {"content": content}))["memory"]["id"])

    def update(self, memory_id: str, content: str) -> None:
        """Give a memory another content."""
        self.send("PATCH", _path(memory_id), {"content": content})

    def forget(self, memory_id: str) -> None:
        """Delete a memory."""
        self.send("DELETE", _path(memory_id))

    def content(self, memory_id: str) -> str:
        """Return what a memory says."""
        return str(json.loads(self.send("GET", _path(memory_id)))["memory"]["content"])

    def search(self, query: str) -> list[str]:
        """Return the ids of the hits."""
        hits = json.loads(self.send("POST", "/v1/memories/search", {"query": query}))["hits"]
        return [hit["memory"]["id"] for hit in hits]

    def list_all(self) -> list[str]:
        """Return the ids of a list, page by page to its end."""
        found: list[str] = []
        query: dict[str, object] = {"limit": PAGE_SIZE}
        while True:
            page = json.loads(self.send("GET", f"/v1/memories?{urlencode(query)}"))
            found += [memory["id"] for memory in page["memories"]]
            if page["next_cursor"] is None:
                return found
            query["cursor"] = page["next_cursor"]

    def export(self) -> dict[str, str]:
        """Return content by id of everything that is stored."""
        documents = [json.loads(line) for line in self.send("GET", "/v1/export").splitlines()]
        return {document["id"]: document["content"] for document in documents}

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class StackProcess:
    """A running stack.

    Attributes:
        url: where it answers.
    """

    def __init__(self, process: "subprocess.Popen[str]", url: str, token: str) -> None:
        self._process = process
        self._token = token
        self.url = url

    def connect(self) -> Client:
        """Return a client of its own connection."""
        return Client(self.url, self._token)

    def kill(self) -> None:
        """End it at once, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        assert self._process.returncode == -signal.SIGKILL, "the stack ended by itself"


@contextmanager
def running_stack(directory: Path) -> Iterator[StackProcess]:
    """Run the stack over a directory while the block runs, or until it is killed."""
    environment = os.environ | _INTERVALS | {"PORT": "0", "S3_AGENT_MEMORY_URL": f"file://{directory}/store"}
    with (directory / "errors").open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, PROJECT / "functions" / "local_stack.py"],
            cwd=directory,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    with process:
        try:
            url = _read_url(process, directory)
            yield StackProcess(process, url, (directory / "store" / "token").read_text().strip())
        finally:
            process.kill()


def _read_url(process: "subprocess.Popen[str]", directory: Path) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"runs at (http://\S+)", line)
        if found:
            return found[1]
    raise RuntimeError("the stack did not start:\n" + (directory / "errors").read_text("utf-8", errors="replace"))


def _path(memory_id: str) -> str:
    return f"/v1/memories/{quote(memory_id, safe='')}"
