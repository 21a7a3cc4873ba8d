"""Texts as the vectors that the index keeps: every window of a text embedded, quantised, and filed under its key."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from s3_agent_memory.embedding.port import Embedder
from s3_agent_memory.embedding.windows import embed_windows
from s3_agent_memory.errors import EmbeddingError
from s3_agent_memory.index.log import WINDOW_COUNT_MAX, EntryVectors
from s3_agent_memory.index.vectors.shard import KeyedVectors, quantise

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeyedText:
    """A text to embed and the key of its vectors."""

    text_key: int
    text: str


class Vectoriser:
    """Makes index vectors with one embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def model(self) -> str:
        """The name that its vectors are filed under."""
        return self._embedder.name

    def vectors_of(self, texts: Sequence[KeyedText]) -> list[KeyedVectors]:
        """Return the vectors of texts, in their order.

        Raises:
            EmbeddingError: the model failed.
        """
        windows = embed_windows(self._embedder, [item.text for item in texts])
        codes, scales = quantise(windows.vectors)
        starts = np.searchsorted(windows.owners, np.arange(len(texts) + 1)).tolist()
        parts = [slice(start, min(end, start + WINDOW_COUNT_MAX)) for start, end in pairwise(starts)]
        return [
            KeyedVectors(text_key=item.text_key, codes=codes[part], scales=scales[part])
            for item, part in zip(texts, parts, strict=True)
            if part.stop > part.start
        ]

    def entry_vectors_of(self, text: KeyedText) -> EntryVectors | None:
        """Return the vectors of one text for its log entry; None if the model failed, which is only logged.

        A write does not depend on the model: what has no vector now gets one later.
        """
        try:
            found = self.vectors_of([text])
        except EmbeddingError as error:
            logger.warning("a memory is stored without a vector: %s", error)
            return None
        return EntryVectors(self.model, found[0]) if found else None
