"""The memories and questions that every system gets, with their vectors, which are made once.

Real texts and questions with real vectors, as `vector_corpus.py` collects them; more are made of them as it says: a
text again, with the number of its copy, and a vector between those of two neighbours. So each is different, and a word
is as frequent among many as among few. Systems ask the embedder for vectors and get them from a table at once: what is
measured is the system, and embedding, which takes all of them the same time, apart.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Self

import numpy as np

from benchmarks import vector_corpus as corpus
from benchmarks.quality_corpora import Item
from s3_agent_memory.embedding.onnx import OnnxEmbedder
from s3_agent_memory.embedding.port import Vectors

QUESTION_COUNT = 200
# Memories that are written one by one, after the others were loaded.
NEW_COUNT = 2_000
_START = datetime(2026, 1, 1, tzinfo=UTC)


class KnownTexts:
    """An embedder that looks vectors up."""

    name = "benchmark"

    def __init__(self, texts: Sequence[str], vectors: Vectors) -> None:
        # Some systems take white space away before they ask.
        self._numbers = {text.strip(): number for number, text in enumerate(texts)}
        self._vectors = vectors
        self.dimension = int(vectors.shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        found: Vectors = np.array(self._vectors[[self._numbers[text.strip()] for text in texts]])
        return found

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""
        vector: Vectors = self.embed([text])[0]
        return vector

    def window_texts(self, text: str) -> list[str]:
        """Return the text: all of them are short."""
        return [text]

    def texts(self) -> list[str]:
        """Return all texts that it knows."""
        return list(self._numbers)

    def joined(self, other: "KnownTexts") -> "KnownTexts":
        """Return an embedder that knows the texts of both."""
        more = [text for text in other.texts() if text not in self._numbers]
        if not more:
            return self
        return KnownTexts([*self._numbers, *more], np.concatenate([self._vectors, other.embed(more)]))


@dataclass(frozen=True, slots=True)
class Material:
    """Files of one size in a directory.

    Attributes:
        size: memories that are loaded; those after them are written one by one.
    """

    folder: Path
    size: int

    @classmethod
    def prepare(cls, folder: Path, size: int, texts: Sequence[str], real: Vectors) -> Self:
        """Write the memories of one size beside the questions."""
        total = size + NEW_COUNT
        made = (f"{text} [{copy}]" if copy else text for copy in range(1 + total // len(texts)) for text in texts)
        chosen = [text for text, _ in zip(made, range(total), strict=False)]
        (folder / f"texts-{size}.json").write_text(json.dumps(chosen), "utf-8")
        np.save(folder / f"vectors-{size}.npy", corpus.enlarge(real, total))
        return cls(folder, size)

    def loaded(self) -> tuple[list[Item], KnownTexts]:
        """Return the memories to load, and an embedder that knows them and the questions."""
        return self._part(0, self.size)

    def new(self) -> tuple[list[Item], KnownTexts]:
        """Return the memories to write one by one, and an embedder that knows them and the questions."""
        return self._part(self.size, self.size + NEW_COUNT)

    def questions(self) -> tuple[list[str], KnownTexts]:
        """Return the questions, and an embedder that knows nothing else."""
        questions: list[str] = json.loads((self.folder / "questions.json").read_text("utf-8"))
        return questions, KnownTexts(questions, np.load(self.folder / "questions.npy"))

    def _part(self, start: int, stop: int) -> tuple[list[Item], KnownTexts]:
        texts = json.loads((self.folder / f"texts-{self.size}.json").read_text("utf-8"))[start:stop]
        vectors = np.load(self.folder / f"vectors-{self.size}.npy", mmap_mode="r")[start:stop]
        _, questions = self.questions()
        items = [_item(start + number, text) for number, text in enumerate(texts)]
        return items, KnownTexts(texts, vectors).joined(questions)


def _item(number: int, text: str) -> Item:
    moment = _START + timedelta(minutes=number)
    return Item(id=f"m{number:09d}", text=text, created_at=moment.isoformat())


def prepare(folder: Path, sizes: Sequence[int], *, model: Path, data: Path | None, text_count_max: int) -> float:
    """Write the memories of every size and the questions; return what embedding a question takes in milliseconds."""
    embedder = OnnxEmbedder(model)
    texts, questions = corpus.read_texts([], data, count_max=text_count_max)
    asked = questions[:QUESTION_COUNT]
    real = corpus.embed(texts, embedder)
    (folder / "questions.json").write_text(json.dumps(asked), "utf-8")
    np.save(folder / "questions.npy", corpus.embed(asked, embedder))
    for size in sizes:
        Material.prepare(folder, size, texts, real)
    return _embedding_ms(embedder, asked)


def _embedding_ms(embedder: OnnxEmbedder, questions: Sequence[str]) -> float:
    times = []
    for question in questions:
        started = perf_counter()
        embedder.embed_query(question)
        times.append((perf_counter() - started) * 1e3)
    return float(np.median(times))
