"""The memories of one namespace, through the library or over HTTP, with one set of errors for both."""

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol
from urllib.parse import quote, urlencode, urlsplit

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.errors import AgentMemoryError, NotFoundError, UnknownOutcomeError

PAGE_SIZE = 100
# A request may wait behind others that the SDK patiently repeats.
TIMEOUT_SECONDS = 120
_MEDIA_TYPE = "application/problem+json"


class RefusedError(Exception):
    """The answer is a definite no.

    Attributes:
        code: the stable code of the error.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class InDoubtError(Exception):
    """Nobody knows whether the change happened."""


class DisconnectedError(InDoubtError):
    """The service went away in the middle of a request."""


class Memories(Protocol):
    """What a worker does with memories.

    Every method raises ``RefusedError`` or ``InDoubtError``, and nothing else.
    """

    def remember(self, content: str, memory_id: str | None = None) -> str:
        """Store a memory and return its id."""

    def update(self, memory_id: str, content: str) -> None:
        """Give a memory another content."""

    def mark(self, memory_id: str, name: str, value: str) -> int:
        """Set one field of the metadata and return the version that made."""

    def forget(self, memory_id: str) -> None:
        """Delete a memory."""

    def content(self, memory_id: str) -> str | None:
        """Return what a memory says; None if it is not there."""

    def search(self, query: str) -> list[str]:
        """Return the ids of the hits."""

    def list_all(self) -> list[str]:
        """Return the ids of a list, page by page to its end."""


class LibraryMemories:
    """``Memories`` by calls of the library."""

    def __init__(self, store: MemoryStore, namespace: str) -> None:
        self._store = store
        self._namespace = namespace

    def remember(self, content: str, memory_id: str | None = None) -> str:
        with _translated():
            return self._store.remember(self._namespace, content, id=memory_id).id

    def update(self, memory_id: str, content: str) -> None:
        with _translated():
            self._store.update(self._namespace, memory_id, content=content)

    def mark(self, memory_id: str, name: str, value: str) -> int:
        with _translated():
            return self._store.update(self._namespace, memory_id, metadata={name: value}).version

    def forget(self, memory_id: str) -> None:
        with _translated():
            self._store.forget(self._namespace, memory_id)

    def content(self, memory_id: str) -> str | None:
        try:
            with _translated():
                return self._store.get(self._namespace, memory_id).content
        except RefusedError as error:
            if error.code != NotFoundError.code:
                raise
            return None

    def search(self, query: str) -> list[str]:
        with _translated():
            return [hit.memory.id for hit in self._store.recall(self._namespace, query)]

    def list_all(self) -> list[str]:
        found: list[str] = []
        cursor: str | None = None
        with _translated():
            while True:
                page = self._store.list(self._namespace, limit=PAGE_SIZE, cursor=cursor)
                assert not page.corrupt_keys
                found += [memory.id for memory in page.memories]
                cursor = page.next_cursor
                if cursor is None:
                    return found


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except UnknownOutcomeError as error:
        raise InDoubtError(str(error)) from error
    except AgentMemoryError as error:
        raise RefusedError(error.code, str(error)) from error


class HttpMemories:
    """``Memories`` over one HTTP connection that stays open; not for several threads."""

    def __init__(self, url: str, token: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT_SECONDS)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def remember(self, content: str, memory_id: str | None = None) -> str:
        body = {"content": content} | ({} if memory_id is None else {"id": memory_id})
        return str(self._send("POST", "/v1/memories", body)["memory"]["id"])

    def update(self, memory_id: str, content: str) -> None:
        self._send("PATCH", _path(memory_id), {"content": content})

    def mark(self, memory_id: str, name: str, value: str) -> int:
        return int(self._send("PATCH", _path(memory_id), {"metadata": {name: value}})["memory"]["version"])

    def forget(self, memory_id: str) -> None:
        self._send("DELETE", _path(memory_id))

    def content(self, memory_id: str) -> str | None:
        try:
            return str(self._send("GET", _path(memory_id))["memory"]["content"])
        except RefusedError as error:
            if error.code != NotFoundError.code:
                raise
            return None

    def search(self, query: str) -> list[str]:
        hits = self._send("POST", "/v1/memories/search", {"query": query})["hits"]
        return [hit["memory"]["id"] for hit in hits]

    def list_all(self) -> list[str]:
        found: list[str] = []
        query: dict[str, object] = {"limit": PAGE_SIZE}
        while True:
            page = self._send("GET", f"/v1/memories?{urlencode(query)}")
            found += [memory["id"] for memory in page["memories"]]
            if page["next_cursor"] is None:
                return found
            query["cursor"] = page["next_cursor"]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _send(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict:
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), self._headers)
            response = self._connection.getresponse()
            document = json.loads(response.read())
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise DisconnectedError(type(error).__name__) from error
        if response.status < 300:
            return document
        assert response.headers["Content-Type"] == _MEDIA_TYPE, f"{response.status} is no problem document"
        if document["code"] == UnknownOutcomeError.code:
            raise InDoubtError(document["detail"])
        raise RefusedError(document["code"], document["detail"])


def _path(memory_id: str) -> str:
    return f"/v1/memories/{quote(memory_id, safe='')}"
