"""Embeds with a model of the library sentence-transformers; needs the extra ``sentence-transformers``."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from s3_agent_memory.embedding.extras import require

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

DEFAULT_MODEL: Final = "all-MiniLM-L6-v2"


class SentenceTransformersEmbedder:
    """Embeds with a model that sentence-transformers knows by name or finds in a directory; loaded at first use.

    Raises:
        ValidationError: the extra is not installed.
    """

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        require("sentence_transformers", extra="sentence-transformers")
        self.name = f"sentence-transformers/{model}"
        self._model = model
        self._lock = threading.Lock()
        self._loaded: SentenceTransformer | None = None

    def embed(self, texts: Sequence[str]) -> Any:
        """Return one vector for each text."""
        return self._load().encode_document(list(texts), convert_to_numpy=True, show_progress_bar=False)

    def embed_query(self, text: str) -> Any:
        """Return the vector of a query, with the prompt that the model wants."""
        return self._load().encode_query(text, convert_to_numpy=True, show_progress_bar=False)

    def _load(self) -> "SentenceTransformer":
        from sentence_transformers import SentenceTransformer

        with self._lock:
            if self._loaded is None:
                self._loaded = SentenceTransformer(self._model)
            return self._loaded
