"""mem0 without any model: memories are stored as they are given, vectors come from the common embedder."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain.embeddings.base import Embeddings  # type: ignore[import-not-found,unused-ignore]

from benchmarks.peers.port import RESULT_COUNT, TextEmbedder, with_author
from benchmarks.quality_corpora import Item

_USER = "benchmark"


class _Embeddings(Embeddings):  # type: ignore[misc,unused-ignore]
    """The embedder, as LangChain asks for one."""

    def __init__(self, embedder: TextEmbedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._embedder.embed(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        vector: list[float] = self._embedder.embed([text])[0].tolist()
        return vector


class Mem0:
    """One user's memories."""

    def __init__(self, folder: Path, embedder: TextEmbedder) -> None:
        # They are read when the package is imported. No request is ever sent with the key.
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "home"), "OPENAI_API_KEY": "unused"}
        from mem0 import Memory  # type: ignore[import-not-found,unused-ignore]

        self._memory: Any = Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(folder / "qdrant"),
                        "on_disk": True,
                        "embedding_model_dims": embedder.dimension,
                        "collection_name": "memories",
                    },
                },
                "embedder": {"provider": "langchain", "config": {"model": _Embeddings(embedder)}},
                "history_db_path": str(folder / "history.sqlite"),
            }
        )

    def load(self, items: Sequence[Item]) -> None:
        """See ``Peer``; nothing is faster than one after the other."""
        for item in items:
            self.write(item)

    def write(self, item: Item) -> None:
        """See ``Peer``."""
        self._memory.add(with_author(item), user_id=_USER, infer=False, metadata={"item": item.id})

    def search(self, question: str) -> list[str]:
        """See ``Peer``."""
        found = self._memory.search(question, filters={"user_id": _USER}, top_k=RESULT_COUNT)
        return [hit["metadata"]["item"] for hit in found["results"]]

    def count(self) -> int:
        """See ``Peer``."""
        return int(self._memory.vector_store.client.count("memories").count)

    def close(self) -> None:
        """See ``Peer``."""
        self._memory.close()
        self._memory.vector_store.client.close()
