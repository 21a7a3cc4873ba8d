"""LangGraph's own stores: the one in memory, and the one in SQLite."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from benchmarks.peers.port import RESULT_COUNT, TextEmbedder, with_author
from benchmarks.quality_corpora import Item

_NAMESPACE = ("memories",)
# Named with each memory: the SQLite store does not look at the fields of its configuration.
_FIELDS = ["text"]
_BATCH_COUNT = 1_000
_COUNT_MAX = 10_000_000


class _Store:
    """What both have in common."""

    _store: Any

    def load(self, items: Sequence[Item]) -> None:
        """See ``Peer``."""
        for start in range(0, len(items), _BATCH_COUNT):
            part = items[start : start + _BATCH_COUNT]
            self._store.batch([PutOp(_NAMESPACE, item.id, {"text": with_author(item)}, index=_FIELDS) for item in part])

    def write(self, item: Item) -> None:
        """See ``Peer``."""
        self._store.put(_NAMESPACE, item.id, {"text": with_author(item)}, index=_FIELDS)

    def search(self, question: str) -> list[str]:
        """See ``Peer``."""
        return [item.key for item in self._store.search(_NAMESPACE, query=question, limit=RESULT_COUNT)]

    def count(self) -> int:
        """See ``Peer``."""
        return len(self._store.search(_NAMESPACE, limit=_COUNT_MAX))

    def close(self) -> None:
        """See ``Peer``."""


def _index(embedder: TextEmbedder) -> dict[str, Any]:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = embedder.embed(texts).tolist()
        return vectors

    return {"dims": embedder.dimension, "embed": embed}


class InMemory(_Store):
    """Everything in this process."""

    def __init__(self, folder: Path, embedder: TextEmbedder) -> None:
        self._store = InMemoryStore(index=_index(embedder))  # type: ignore[arg-type]


class Sqlite(_Store):
    """One SQLite database, with the extension sqlite-vec."""

    def __init__(self, folder: Path, embedder: TextEmbedder) -> None:
        from langgraph.store.sqlite import SqliteStore  # type: ignore[import-not-found,unused-ignore]

        self._connection = _connect(folder / "store.sqlite")
        self._store = SqliteStore(self._connection, index=_index(embedder))
        self._store.setup()

    def close(self) -> None:
        """See ``Peer``."""
        self._connection.close()


def _connect(path: Path) -> Any:
    """Return a connection as ``SqliteStore.from_conn_string`` opens it.

    Some builds of Python have an SQLite that loads no extensions; then another one takes its place.
    """
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        connect: Any = sqlite3.connect
    else:
        from pysqlite3 import connect  # type: ignore[import-not-found,no-redef,unused-ignore]
    return connect(str(path), check_same_thread=False, isolation_level=None)
