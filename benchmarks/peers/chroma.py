"""Chroma's persistent client."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb  # type: ignore[import-not-found,unused-ignore]
from chromadb.config import Settings  # type: ignore[import-not-found,unused-ignore]

from benchmarks.peers.port import RESULT_COUNT, TextEmbedder, with_author
from benchmarks.quality_corpora import Item


class _Function(chromadb.EmbeddingFunction):  # type: ignore[misc,unused-ignore]
    """The embedder, as Chroma asks for one."""

    def __init__(self, embedder: TextEmbedder) -> None:
        self._embedder = embedder

    def __call__(self, input: Sequence[str]) -> Any:
        return list(self._embedder.embed(input))

    def embed_query(self, input: Sequence[str]) -> Any:
        return [self._embedder.embed_query(text) for text in input]

    @staticmethod
    def name() -> str:
        return "benchmark"

    def get_config(self) -> dict[str, Any]:
        return {}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> Any:
        raise NotImplementedError("it is given anew each time")


class Chroma:
    """One collection."""

    def __init__(self, folder: Path, embedder: TextEmbedder) -> None:
        self._client: Any = chromadb.PersistentClient(folder, settings=Settings(anonymized_telemetry=False))
        self._collection = self._client.get_or_create_collection(
            "memories", embedding_function=_Function(embedder), configuration={"hnsw": {"space": "cosine"}}
        )

    def load(self, items: Sequence[Item]) -> None:
        """See ``Peer``."""
        batch_count = self._client.get_max_batch_size()
        for start in range(0, len(items), batch_count):
            part = items[start : start + batch_count]
            self._collection.add(ids=[item.id for item in part], documents=[with_author(item) for item in part])

    def write(self, item: Item) -> None:
        """See ``Peer``."""
        self._collection.add(ids=[item.id], documents=[with_author(item)])

    def search(self, question: str) -> list[str]:
        """See ``Peer``."""
        found = self._collection.query(query_texts=[question], n_results=RESULT_COUNT)
        return list(found["ids"][0])

    def count(self) -> int:
        """See ``Peer``."""
        return int(self._collection.count())

    def close(self) -> None:
        """See ``Peer``."""
        self._client.close()
