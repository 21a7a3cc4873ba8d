"""Embeds with a model of the library fastembed; needs the extra ``fastembed``."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from s3_agent_memory.embedding.extras import require

if TYPE_CHECKING:
    from fastembed import TextEmbedding

DEFAULT_MODEL: Final = "BAAI/bge-small-en-v1.5"


class FastembedEmbedder:
    """Embeds with a model that fastembed knows by name; it is loaded, and perhaps downloaded, at first use.

    Args:
        model: its name in fastembed.
        directory: where the model's files lie, for one that is not to be downloaded.

    Raises:
        ValidationError: the extra is not installed.
    """

    def __init__(self, model: str = DEFAULT_MODEL, *, directory: Path | None = None) -> None:
        require("fastembed", extra="fastembed")
        self.name = f"fastembed/{model}"
        self._model, self._directory = model, directory
        self._lock = threading.Lock()
        self._loaded: TextEmbedding | None = None

    def embed(self, texts: Sequence[str]) -> Any:
        """Return one vector for each text."""
        return np.stack(list(self._load().passage_embed(list(texts))))

    def embed_query(self, text: str) -> Any:
        """Return the vector of a query, with the prefix that the model wants."""
        return next(iter(self._load().query_embed(text)))

    def _load(self) -> "TextEmbedding":
        from fastembed import TextEmbedding

        with self._lock:
            if self._loaded is None:
                path = None if self._directory is None else str(self._directory)
                self._loaded = TextEmbedding(self._model, threads=1, specific_model_path=path)
            return self._loaded
