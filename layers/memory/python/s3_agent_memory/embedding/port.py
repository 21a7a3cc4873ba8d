"""The port to embedding models: what the library asks of one, and nothing more."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

# One row for each text, (texts, dimension); a vector is one such row.
Vectors = npt.NDArray[np.float32]


class BareEmbedder(Protocol):
    """What a caller's own embedder needs at least; ``checked.adapt`` makes an ``Embedder`` of it.

    ``dimension``, ``embed_query`` and ``window_texts`` of ``Embedder`` are used where an embedder has them too.
    """

    @property
    def name(self) -> str:
        """Identifies model and version: change it whenever the same text would get another vector."""

    def embed(self, texts: Sequence[str]) -> npt.ArrayLike:
        """Return one vector for each text, in their order, of any length but 0."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product says how much two texts have in common. Safe for many threads."""

    @property
    def name(self) -> str:
        """Identifies model, version and arithmetic; vectors of different names are never compared."""

    @property
    def dimension(self) -> int:
        """Numbers of one vector. May have to load the model to find out."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts to be found: float32, (texts, dimension), each of length 1.

        A text longer than the model takes is cut; ``window_texts`` says how to cover it. A text that a model sees
        nothing in may have a vector of zeros, which resembles nothing.

        Raises:
            EmbeddingError: the model failed.
        """

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a text to search with: float32, (dimension,). Some models tell the two apart.

        Raises:
            EmbeddingError: the model failed.
        """

    def window_texts(self, text: str) -> list[str]:
        """Return the text in parts that the model takes whole: itself if it is short, else a few, in order."""
