"""Real embeddings to search among: texts of conversations, notes and documentation, as the default model embeds them.

Embedding a million texts would take hours. So some tens of thousands are embedded, once, and a larger set is made of
them: mixtures of a vector with one of its ten nearest, and a little noise. Such vectors lie where texts lie, and closer
together than real ones would, so that telling the nearest apart is harder, not easier.
"""

import ast
import json
import sysconfig
import textwrap
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from benchmarks.quality_corpora import ROOT, find_data, read_corpora
from s3_agent_memory.embedding.onnx import OnnxEmbedder

Vectors = npt.NDArray[np.float32]

CACHE = ROOT / ".build" / "vectors"
SEED = 20_261_101
LENGTHS = range(40, 400)
NEIGHBOUR_COUNT = 10
NOISE = 0.01
_PORTION = 1_024
_TEXT_FIELDS = ("text", "content")


def read_texts(paths: Sequence[Path], data: Path | None, *, count_max: int) -> tuple[list[str], list[str]]:
    """Return at most ``count_max`` different texts, and questions to search them with in random order.

    Args:
        paths: files, or directories of files: paragraphs of text, docstrings of Python, texts of JSON and JSON lines.
            Without any, docstrings of the standard library and of the packages installed beside it.
        data: corpora with questions; see ``quality_corpora``. This project's own notes are always there.
    """
    rng = np.random.default_rng(SEED)
    spaces = [space for corpus in read_corpora(data or find_data()) for space in corpus.spaces]
    memories = (f"{item.author}: {item.text}" if item.author else item.text for space in spaces for item in space.items)
    questions = {question.text: None for space in spaces for question in space.questions}
    folders = paths or [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")]
    files = sorted({file for folder in folders for file in _files(folder)})
    others = (text for index in rng.permutation(len(files)) for text in texts_of(files[index]))
    texts: dict[str, None] = {}
    for text in chain(memories, others):
        texts[text] = None
        if len(texts) == count_max:
            break
    return list(texts), [list(questions)[index] for index in rng.permutation(len(questions))]


def _files(path: Path) -> Iterator[Path]:
    files = path.rglob("*") if path.is_dir() else [path]
    return (file for file in files if file.suffix in _READERS and file.is_file())


def texts_of(file: Path) -> Iterator[str]:
    """Yield the paragraphs of one file."""
    for text in _READERS[file.suffix](file.read_text("utf-8", errors="replace")):
        yield from _paragraphs(text)


def _paragraphs(text: str) -> Iterator[str]:
    for part in text.split("\n\n"):
        paragraph = " ".join(part.split())
        if paragraph:
            yield from (piece for piece in textwrap.wrap(paragraph, LENGTHS.stop) if len(piece) in LENGTHS)


def _docstrings(source: str) -> Iterator[str]:
    try:
        nodes = ast.walk(ast.parse(source))
    except (SyntaxError, ValueError):
        return
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def _json_texts(document: Any) -> Iterator[str]:
    if isinstance(document, dict):
        yield from (document[name] for name in _TEXT_FIELDS if isinstance(document.get(name), str))
    for value in document.values() if isinstance(document, dict) else document:
        if isinstance(value, dict | list):
            yield from _json_texts(value)


_READERS: dict[str, Callable[[str], Iterator[str]]] = {
    ".py": _docstrings,
    ".json": lambda text: _json_texts(json.loads(text)),
    ".jsonl": lambda text: _json_texts([json.loads(line) for line in text.splitlines() if line]),
    **dict.fromkeys((".txt", ".md", ".rst"), lambda text: iter([text])),
}


def embed(texts: Sequence[str], embedder: OnnxEmbedder) -> Vectors:
    """Return the vectors of texts; what was embedded once is kept on disk, also if the rest is interrupted."""
    CACHE.mkdir(parents=True, exist_ok=True)
    parts = []
    for start in tqdm(range(0, len(texts), _PORTION), "embedding", unit="portion", disable=len(texts) <= _PORTION):
        portion = texts[start : start + _PORTION]
        digest = blake2b("\0".join([embedder.name, *portion]).encode("utf-8", "replace"), digest_size=12).hexdigest()
        path = CACHE / f"{digest}.npy"
        if not path.exists():
            np.save(path, embedder.embed(portion))
        parts.append(np.load(path))
    return np.concatenate(parts)


def enlarge(real: Vectors, size: int) -> Vectors:
    """Return ``size`` unit vectors: the real ones as far as they go, then mixtures of neighbours."""
    vectors = np.empty((size, real.shape[1]), np.float32)
    count = min(size, len(real))
    vectors[:count] = real[:count]
    if size > count:
        rng = np.random.default_rng(SEED)
        neighbours = _neighbours(real)
        for start in range(count, size, _PORTION):
            part = vectors[start : start + _PORTION]
            one = rng.integers(0, len(real), len(part))
            other = neighbours[one, rng.integers(0, NEIGHBOUR_COUNT, len(part))]
            share = rng.uniform(0.2, 0.8, (len(part), 1)).astype(np.float32)
            part[:] = share * real[one] + (1 - share) * real[other]
            part += np.float32(NOISE) * rng.standard_normal(part.shape, dtype=np.float32)
            part /= np.linalg.norm(part, axis=1, keepdims=True)
    return vectors


def _neighbours(vectors: Vectors) -> npt.NDArray[np.int64]:
    found = np.empty((len(vectors), NEIGHBOUR_COUNT), np.int64)
    for start in range(0, len(vectors), _PORTION):
        cosines = vectors[start : start + _PORTION] @ vectors.T
        # The nearest of all is the vector itself.
        np.put_along_axis(cosines, np.arange(start, start + len(cosines))[:, None], -1, axis=1)
        found[start : start + _PORTION] = np.argpartition(-cosines, NEIGHBOUR_COUNT, axis=1)[:, :NEIGHBOUR_COUNT]
    return found
