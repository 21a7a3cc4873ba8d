"""An embedder without a model: every text has a vector of its own, and the same one every time."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from s3_agent_memory.embedding.port import Vectors
from s3_agent_memory.errors import EmbeddingError

DIMENSION = 24


class FakeEmbedder:
    """Vectors of different texts, or of different names, have nothing in common; every third text has two windows.

    Attributes:
        texts: everything it was asked to embed, in order.
        failing: it fails on texts that contain one of these words.
    """

    def __init__(self, name: str = "fake/1", *, dimension: int = DIMENSION) -> None:
        self.name = name
        self.dimension = dimension
        self.texts: list[str] = []
        self.failing: set[str] = set()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See ``Embedder``."""
        self.texts.extend(texts)
        if any(word in text for word in self.failing for text in texts):
            raise EmbeddingError("the fake is told to fail")
        vectors = np.array([self._vector(text) for text in texts], np.float32).reshape(len(texts), self.dimension)
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def embed_query(self, text: str) -> Vectors:
        """See ``Embedder``."""
        vector: Vectors = self.embed([text])[0]
        return vector

    def window_texts(self, text: str) -> list[str]:
        """See ``Embedder``."""
        return [text, f"rest of {text}"] if blake2b(text.encode(), digest_size=1).digest()[0] % 3 == 0 else [text]

    def _vector(self, text: str) -> list[int]:
        # Odd numbers are never all zero.
        digest = blake2b(f"{self.name}\0{text}".encode(), digest_size=self.dimension).digest()
        return [2 * (byte - 128) + 1 for byte in digest]
