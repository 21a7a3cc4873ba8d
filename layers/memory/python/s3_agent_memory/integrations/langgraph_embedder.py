"""Embeddings of LangChain as an embedder of a memory store."""

import inspect
from collections.abc import Sequence

from langchain_core.embeddings import Embeddings
from langgraph.store.base.embed import EmbeddingsFunc, ensure_embeddings

from s3_agent_memory.errors import ValidationError


class LangChainEmbedder:
    """Embeds with what LangGraph accepts as ``embed``; give it to ``MemoryStore.from_url(embedder=...)``.

    Args:
        embed: an ``Embeddings`` object, a function from texts to vectors, or a name such as ``"provider:model"``.

    Raises:
        ValidationError: ``embed`` is an asynchronous function, which a memory store has no loop to wait for.

    Attributes:
        name: of the model; vectors of different names are never compared.

    Example:
        >>> embedder = LangChainEmbedder(lambda texts: [[float(len(text)), 1.0] for text in texts], name="length/1")
        >>> embedder.embed_query("four")
        [4.0, 1.0]
    """

    def __init__(self, embed: Embeddings | EmbeddingsFunc | str, *, name: str) -> None:
        if inspect.iscoroutinefunction(embed):
            raise ValidationError("embed must not be an asynchronous function; give one that returns the vectors")
        self.name = name
        self._embeddings = ensure_embeddings(embed)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text."""
        return self._embeddings.embed_documents(list(texts))

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return self._embeddings.embed_query(text)
