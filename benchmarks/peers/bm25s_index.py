"""The library bm25s over a directory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bm25s  # type: ignore[import-untyped,import-not-found,unused-ignore]
import Stemmer

from benchmarks.peers.port import RESULT_COUNT, TextEmbedder, with_author
from benchmarks.quality_corpora import Item


class Bm25sIndex:
    """An index of texts that is built whole, saved, and loaded memory-mapped with its texts."""

    def __init__(self, folder: Path, embedder: TextEmbedder) -> None:
        self._folder = folder
        self._stemmer = Stemmer.Stemmer("english")
        self._retriever: Any = None
        if (folder / "params.index.json").exists():
            self._retriever = bm25s.BM25.load(folder, load_corpus=True, mmap=True)
            self._retriever.backend = "numba"
            self._retriever.activate_numba_scorer()

    def load(self, items: Sequence[Item]) -> None:
        """See ``Peer``."""
        self._build([{"id": item.id, "text": with_author(item)} for item in items])

    def write(self, item: Item) -> None:
        """See ``Peer``; there is no way to add to an index."""
        kept = [dict(self._retriever.corpus[number]) for number in range(self.count())]
        self._build([*kept, {"id": item.id, "text": with_author(item)}])

    def _build(self, corpus: list[dict[str, Any]]) -> None:
        tokens = self._tokens([document["text"] for document in corpus])
        self._retriever = bm25s.BM25(corpus=corpus, method="lucene", backend="numba")
        self._retriever.index(tokens, show_progress=False)
        self._retriever.save(self._folder, corpus=corpus)

    def _tokens(self, texts: Sequence[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=self._stemmer, show_progress=False)

    def search(self, question: str) -> list[str]:
        """See ``Peer``."""
        count = min(RESULT_COUNT, self.count())
        found, scores = self._retriever.retrieve(self._tokens([question]), k=count, show_progress=False)
        return [document["id"] for document, score in zip(found[0], scores[0], strict=True) if score > 0]

    def count(self) -> int:
        """See ``Peer``."""
        return 0 if self._retriever is None else len(self._retriever.corpus)

    def close(self) -> None:
        """See ``Peer``."""
