"""Covers a text that is longer than a model takes by a few windows, each with a vector of its own."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from s3_agent_memory.embedding.port import Embedder, Vectors

WINDOW_COUNT_MAX: Final = 4
# Which share of a window its cuts may move to fall between two sentences or words, and is repeated if they cannot.
_SLACK_DIVISOR: Final = 16

# Stands for a token where no tokenizer is at hand: four letters, a sign, or one letter of a script without spaces. That
# is more than most tokenizers find, so that windows are rather too short than cut.
_TOKEN = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff]|\w{1,4}|[^\w\s]")
_SENTENCE_ENDS: Final = frozenset(".!?…。！？")

Span = tuple[int, int]


class WindowVectors(NamedTuple):
    """Vectors of all windows of several texts.

    Attributes:
        vectors: float32, (windows, dimension).
        owners: for each window the index of its text, ascending, (windows,).
    """

    vectors: Vectors
    owners: npt.NDArray[np.intp]


def embed_windows(embedder: Embedder, texts: Sequence[str]) -> WindowVectors:
    """Return the vectors of every window of every text; a short text has one.

    Raises:
        EmbeddingError: the model failed.
    """
    windows = [embedder.window_texts(text) for text in texts]
    owners = np.repeat(np.arange(len(texts)), [len(parts) for parts in windows])
    return WindowVectors(embedder.embed([part for parts in windows for part in parts]), owners)


def mean_vectors(windows: WindowVectors, text_count: int) -> Vectors:
    """Return one vector of length 1 for each text, the direction of the mean of its windows: (texts, dimension)."""
    sums = np.zeros((text_count, windows.vectors.shape[1]), np.float32)
    np.add.at(sums, windows.owners, windows.vectors)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    means: Vectors = (sums / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)
    return means


def split_text(
    text: str, spans: Sequence[Span], *, token_count_max: int, window_count_max: int = WINDOW_COUNT_MAX
) -> list[str]:
    """Return ``text`` in at most ``window_count_max`` windows of about equal length, cut between sentences if it can.

    A text that is longer than all windows together loses the end of each part, so that beginning, middle and end are
    all represented.

    Args:
        spans: where each token begins and ends in ``text``, ascending.
        token_count_max: tokens of one window.
    """
    if len(spans) <= token_count_max:
        return [text]
    slack = token_count_max // _SLACK_DIVISOR
    # A cut may move either way at both ends of a window, and an overlap may come on top.
    part_length_max = token_count_max - 3 * slack
    count = min(window_count_max, -(-len(spans) // part_length_max))
    ideal_cuts = [len(spans) * number // count for number in range(1, count)]
    cuts = [_Cut(0, 0), *(_best_cut(text, spans, ideal, slack=slack) for ideal in ideal_cuts), _Cut(len(spans), 0)]
    windows = []
    for (start, overlap), (end, _) in pairwise(cuts):
        first = start - overlap
        last = min(end, first + token_count_max) - 1
        windows.append(text[spans[first][0] : spans[last][1]])
    return windows


def estimate_spans(text: str) -> list[Span]:
    """Return about where tokens begin and end, for a model whose tokenizer is not at hand."""
    return [match.span() for match in _TOKEN.finditer(text)]


class _Cut(NamedTuple):
    """Before which token a window begins, and how many tokens before that it repeats."""

    token: int
    overlap: int


def _best_cut(text: str, spans: Sequence[Span], ideal: int, *, slack: int) -> _Cut:
    """Return the cut near ``ideal`` that hurts least: after a sentence, else after a word, the nearest of equals."""
    candidates = range(ideal - slack, ideal + slack + 1)
    harm, _, token = min((_harm(text, spans, token), abs(token - ideal), token) for token in candidates)
    return _Cut(token, 0 if harm == 0 else slack)


def _harm(text: str, spans: Sequence[Span], token: int) -> int:
    """Return 0 if a sentence ends before the token, 1 if a word does, 2 if the cut would be inside one."""
    end, start = spans[token - 1][1], spans[token][0]
    gap = text[end:start]
    # Text in a script without spaces has none after its full stop either.
    if "\n" in gap or (text[end - 1] in _SENTENCE_ENDS and (gap or not text[end - 1].isascii())):
        return 0
    return 1 if gap else 2
