"""An embedder without a model: deterministic, quick, and blind to meaning."""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final

import numpy as np

from s3_agent_memory.embedding.port import Vectors

_WORD = re.compile(r"\w+|[^\w\s]")
_GRAM_LENGTH: Final = 3


class HashingEmbedder:
    """Feature hashing (Weinberger et al. 2009) of words and of triples of letters.

    Two texts are similar if they are written alike: "run" and "running", not "car" and "vehicle". It stands in for a
    model in tests and simulations; search by words is better in every other respect.
    """

    def __init__(self, dimension: int = 256) -> None:
        self.dimension = dimension
        self.name = f"hashing-{dimension}/1"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See ``Embedder``."""
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for feature in _features(text):
                number = int.from_bytes(blake2b(feature.encode("utf-8"), digest_size=8).digest(), "little")
                vector[(number >> 1) % self.dimension] += 1 if number & 1 else -1
        return vectors


def _features(text: str) -> Iterator[str]:
    """Yield the features of a text; an empty one has one as well."""
    yield "text"
    for word in _WORD.findall(text.casefold()):
        yield f"word {word}"
        framed = f"<{word}>"
        for start in range(len(framed) - _GRAM_LENGTH + 1):
            yield f"gram {framed[start : start + _GRAM_LENGTH]}"
