"""Makes a whole embedder of any object with ``name`` and ``embed``, and holds it to what the port promises."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from s3_agent_memory.embedding.port import BareEmbedder, Vectors
from s3_agent_memory.embedding.windows import estimate_spans, split_text
from s3_agent_memory.errors import EmbeddingError, ValidationError

# Texts handed over at once: enough for a model to sort them by length, few enough to show progress.
BATCH_TEXT_COUNT: Final = 256
# What a model of unknown limits is taken to read of one text, in tokens as `estimate_spans` counts them.
DEFAULT_TOKEN_COUNT_MAX: Final = 256
NAME_LENGTH_MAX: Final = 128

OnProgress = Callable[[int], object]


def adapt(embedder: BareEmbedder) -> "CheckedEmbedder":
    """Return an ``Embedder`` that works with ``embedder``; one that is adapted already comes back as it is.

    Raises:
        ValidationError: it has no ``embed`` to call, or no name of 1 to 128 characters.

    Example:
        >>> class Letters:
        ...     name = "letters/1"
        ...
        ...     def embed(self, texts):
        ...         return [[text.count("a"), text.count("b")] for text in texts]
        >>> adapt(Letters()).embed(["aaaabbb"]).tolist()
        [[0.800000011920929, 0.6000000238418579]]
    """
    if isinstance(embedder, CheckedEmbedder):
        return embedder
    name = getattr(embedder, "name", None)
    if not isinstance(name, str) or not 0 < len(name) <= NAME_LENGTH_MAX:
        raise ValidationError(f"an embedder needs a name of 1 to {NAME_LENGTH_MAX} characters; this one has {name!r}")
    if not callable(getattr(embedder, "embed", None)):
        raise ValidationError(f"the embedder {name!r} has no method embed(texts)")
    return CheckedEmbedder(embedder)


class CheckedEmbedder:
    """Hands texts on in batches, checks and normalises what comes back, and fills in what the object lacks.

    Attributes:
        name: of the object that does the work, read once.
    """

    def __init__(self, embedder: BareEmbedder) -> None:
        self._embedder = embedder
        self._dimension: int | None = getattr(embedder, "dimension", None)
        self.name: str = embedder.name

    @property
    def dimension(self) -> int:
        """See ``Embedder``; an object that does not say embeds a word at first use."""
        if self._dimension is None:
            return int(self._embed_batch(["dimension"]).shape[1])
        return self._dimension

    def embed(self, texts: Sequence[str], *, on_progress: OnProgress | None = None) -> Vectors:
        """See ``Embedder``.

        Args:
            on_progress: called with the number of texts just done, after each batch of 256.
        """
        if isinstance(texts, str):
            raise ValidationError("texts to embed come as a list; this is one string")
        batches = []
        for start in range(0, len(texts), BATCH_TEXT_COUNT):
            batch = texts[start : start + BATCH_TEXT_COUNT]
            batches.append(self._embed_batch(batch))
            if on_progress is not None:
                on_progress(len(batch))
        return np.concatenate(batches) if batches else np.empty((0, self.dimension), np.float32)

    def embed_query(self, text: str) -> Vectors:
        """See ``Embedder``; an object without ``embed_query`` embeds the query as any text."""
        embed_query = getattr(self._embedder, "embed_query", None)
        if embed_query is None:
            return _only(self._embed_batch([text]))
        return _only(self._check([self._call(embed_query, _encodable(text))], 1))

    def window_texts(self, text: str) -> list[str]:
        """See ``Embedder``; an object without ``window_texts`` gets parts of some 150 words."""
        window_texts = getattr(self._embedder, "window_texts", None)
        if window_texts is None:
            return split_text(text, estimate_spans(text), token_count_max=DEFAULT_TOKEN_COUNT_MAX)
        return list(self._call(window_texts, _encodable(text)))

    def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        return self._check(self._call(self._embedder.embed, [_encodable(text) for text in texts]), len(texts))

    def _call(self, method: Callable[..., Any], argument: object) -> Any:
        try:
            return method(argument)
        except (EmbeddingError, ValidationError):
            raise
        except Exception as error:
            # Only the class: the message of an unknown library may hold the text it failed on.
            raise EmbeddingError(f"the embedder {self.name!r} failed with {type(error).__name__}") from error

    def _check(self, answer: Any, text_count: int) -> Vectors:
        numbers = self._numbers(answer)
        expected = (text_count, self._dimension or (numbers.shape[1] if numbers.ndim == 2 else 0))
        if numbers.shape != expected or expected[1] == 0:
            raise EmbeddingError(
                f"the embedder {self.name!r} answered with the shape {numbers.shape} for {text_count} texts; "
                f"it has to be {(text_count, self._dimension or 'dimension')}"
            )
        if not np.isfinite(numbers).all():
            raise EmbeddingError(f"the embedder {self.name!r} answered with numbers that are not finite")
        self._dimension = expected[1]
        return _normalise(numbers)

    def _numbers(self, answer: Any) -> Any:
        try:
            return np.asarray(answer).astype(np.float64, casting="same_kind")
        except (TypeError, ValueError) as error:
            raise EmbeddingError(f"the embedder {self.name!r} answered with something that is no matrix") from error


def _only(vectors: Vectors) -> Vectors:
    vector: Vectors = vectors[0]
    return vector


def _normalise(numbers: Any) -> Vectors:
    """Return each row divided by its length; the largest number first, since squares of very large ones overflow."""
    largest = np.abs(numbers).max(axis=1, keepdims=True, initial=0)
    scaled = numbers / np.where(largest > 0, largest, 1)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    vectors: Vectors = (scaled / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return vectors


def _encodable(text: str) -> str:
    """Return the text with lone surrogates, which no tokenizer takes, replaced by question marks of the same number."""
    return text.encode("utf-8", "replace").decode("utf-8")
