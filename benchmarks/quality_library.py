"""The library in this process, for rankings that no setting of the service reaches.

A corpus is stored once and searched by many rankings; texts that were ever embedded are not embedded again.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from benchmarks.quality_corpora import Corpus, Space
from benchmarks.quality_measures import RESULT_COUNT, Measurement, measure
from benchmarks.quality_systems import System, stored_form
from s3_agent_memory import Attribution, MemoryStore
from s3_agent_memory.embedding.port import Embedder, Vectors

# Stores the memories of a space in a namespace and returns their ids in the corpus by those they got.
Loader = Callable[[MemoryStore, str, Space, System], dict[str, str]]


class CachedEmbedder:
    """An embedder that keeps in a file what it has embedded."""

    def __init__(self, embedder: Embedder, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._embedder = embedder
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        # What a crash loses is embedded again.
        self._connection.execute("pragma synchronous = off")
        self._connection.execute("create table if not exists vector (key blob primary key, value blob) without rowid")
        self.name = embedder.name
        self.dimension = embedder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts to be found."""
        keys = [self._key("text", text) for text in texts]
        found = {key: vector for key in keys if (vector := self._read(key)) is not None}
        absent = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if absent:
            for key, vector in zip(absent, self._embedder.embed(list(absent.values())), strict=True):
                found[key] = self._write(key, vector)
        return np.stack([found[key] for key in keys]) if keys else np.empty((0, self.dimension), np.float32)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a text to search with."""
        key = self._key("query", text)
        known = self._read(key)
        return self._write(key, self._embedder.embed_query(text)) if known is None else known

    def window_texts(self, text: str) -> list[str]:
        """Return the text in parts that the model takes whole."""
        return self._embedder.window_texts(text)

    def _key(self, role: str, text: str) -> bytes:
        return hashlib.sha256("\0".join((self.name, role, text)).encode()).digest()

    def _read(self, key: bytes) -> Vectors | None:
        row = self._connection.execute("select value from vector where key = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], np.float32)

    def _write(self, key: bytes, vector: Vectors) -> Vectors:
        self._connection.execute("insert or replace into vector values (?, ?)", (key, vector.tobytes()))
        return vector


def load_by_import(store: MemoryStore, namespace: str, space: Space, system: System) -> dict[str, str]:
    """Import a space; its memories keep their ids."""
    documents = (stored_form(item, is_text_only=system.is_text_only) for item in space.items)
    report = store.import_(namespace, (json.dumps({**document, "namespace": [namespace]}) for document in documents))
    if report.imported != len(space.items):
        raise ValueError(f"{namespace}: {report}")
    return {item.id: item.id for item in space.items}


def load_by_remembering(store: MemoryStore, namespace: str, space: Space, system: System) -> dict[str, str]:
    """Remember one memory after the other, as an agent does: the ids and times are those of the service."""
    ids = {}
    for item in space.items:
        attribution = Attribution() if system.is_text_only else Attribution(author=item.author, session_id=item.session)
        ids[store.remember(namespace, item.text, kind=item.kind, attribution=attribution).id] = item.id
    return ids


class Library:
    """Measures systems in this process, over stores in memory."""

    def __init__(self, embedder: Embedder | None, *, load: Loader = load_by_import) -> None:
        self._embedder = embedder
        self._load = load
        self._stores: dict[tuple[str, bool, bool], tuple[str, dict[str, dict[str, str]]]] = {}

    def measure(self, corpus: Corpus, name: str, system: System) -> list[Measurement]:
        """Return one measurement for each question of a corpus, in order."""
        address, ids = self._stored(corpus, system)
        store = self._open(address, system)
        pairs = [(space, question) for space in corpus.spaces for question in space.questions]
        return [
            measure(question, [ids[space.id][found] for found in _search(store, space.id, question.text)])
            for space, question in tqdm(pairs, desc=f"{corpus.name}: {name}", unit=" questions", leave=False)
        ]

    def _stored(self, corpus: Corpus, system: System) -> tuple[str, dict[str, dict[str, str]]]:
        """Return the address of a store that holds a corpus as a system sees it, and the ids of its spaces."""
        key = (corpus.name, system.has_vectors, system.is_text_only)
        if key not in self._stores:
            address = f"memory://{id(self)}-{len(self._stores)}"
            store = self._open(address, system)
            spaces = tqdm(corpus.spaces, desc=f"{corpus.name}: storing", unit=" spaces", leave=False)
            ids = {space.id: self._load(store, space.id, space, system) for space in spaces}
            _check_vectors(store, corpus, system)
            self._stores[key] = (address, ids)
        return self._stores[key]

    def _open(self, address: str, system: System) -> MemoryStore:
        embedder = self._embedder if system.has_vectors else None
        return MemoryStore.from_url(address, ranking=system.ranking, embedder=embedder)


def _check_vectors(store: MemoryStore, corpus: Corpus, system: System) -> None:
    for space in corpus.spaces:
        vectors, expected = store.stats(space.id).vectors, len(space.items) if system.has_vectors else 0
        if vectors != expected:
            raise ValueError(f"{corpus.name}, {space.id}: {vectors} memories have a vector instead of {expected}")


def _search(store: MemoryStore, namespace: str, query: str) -> list[str]:
    """Return the ids of the hits, best first."""
    result = store.recall(namespace, query, limit=RESULT_COUNT)
    if result.degraded:
        raise ValueError(f"{namespace}: the search had to do without {result.degraded}")
    return [hit.memory.id for hit in result]
