"""Embeds with an ONNX model on this machine's processor; needs the extra ``onnx``."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from s3_agent_memory.embedding.extras import require
from s3_agent_memory.embedding.model_directory import ModelDirectory, Pooling, read_model_directory
from s3_agent_memory.embedding.port import Vectors
from s3_agent_memory.embedding.windows import split_text
from s3_agent_memory.errors import EmbeddingError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

# Tokens of one batch, padding included: what stays in the processor's cache. Larger batches are slower on one thread.
BATCH_TOKEN_COUNT_MAX: Final = 256
_ERRORS_ONLY: Final = 3


class OnnxEmbedder:
    """Embeds with the model in a directory, on one thread unless told otherwise.

    The model is loaded at first use. Texts of about the same length share a batch, so that little padding is computed.
    Of a text longer than ``model.token_count_max`` tokens the rest is ignored; ``window_texts`` covers it. A text of
    which the vocabulary lacks half or more, as of scripts that the model was not trained on, has a vector of zeros.

    Attributes:
        model: what the directory says about itself.

    Raises:
        ValidationError: the directory holds no model, or the extra is not installed.
    """

    def __init__(self, directory: Path, *, thread_count: int = 1) -> None:
        require("onnxruntime", "tokenizers", extra="onnx")
        self.model: ModelDirectory = read_model_directory(directory)
        self._thread_count = thread_count
        self._lock = threading.Lock()
        self._loaded: _LoadedModel | None = None

    @property
    def name(self) -> str:
        """See ``Embedder``."""
        return self.model.name

    @property
    def dimension(self) -> int:
        """See ``Embedder``."""
        return self.model.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See ``Embedder``."""
        return self._load().embed([self.model.passage_prefix + text for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """See ``Embedder``."""
        vector: Vectors = self._load().embed([self.model.query_prefix + text])[0]
        return vector

    def window_texts(self, text: str) -> list[str]:
        """See ``Embedder``; counted in tokens of the model."""
        # A token has at least one byte, and special tokens are few: a short text is one window without being looked at.
        if len((self.model.passage_prefix + text).encode("utf-8")) <= self.model.token_count_max // 2:
            return [text]
        return self._load().window_texts(text)

    def _load(self) -> "_LoadedModel":
        with self._lock:
            if self._loaded is None:
                self._loaded = _LoadedModel(self.model, thread_count=self._thread_count)
            return self._loaded


class _LoadedModel:
    """Tokenizer and session of a model."""

    def __init__(self, model: ModelDirectory, *, thread_count: int) -> None:
        self._model = model
        self._tokenizer = _open_tokenizer(model)
        self._session = _open_session(model, thread_count)
        self._unknown_id = _unknown_id_of(self._tokenizer)
        self._input_names = {argument.name for argument in self._session.get_inputs()}
        special_token_count = self._tokenizer.num_special_tokens_to_add(is_pair=False)
        prefix_token_count = len(self._tokenizer.encode(model.passage_prefix, add_special_tokens=False).ids)
        self._window_token_count_max = model.token_count_max - special_token_count - prefix_token_count

    def embed(self, texts: Sequence[str]) -> Vectors:
        # One text after the other: the tokenizer's own batches would start a thread for each processor.
        encodings = [self._tokenizer.encode(text) for text in texts]
        vectors = np.zeros((len(texts), self._model.dimension), np.float32)
        # What the model cannot read would all be the same to it, and near to everything like it.
        known = [index for index, encoding in enumerate(encodings) if self._is_readable(encoding)]
        for batch in _batches([len(encodings[index].ids) for index in known]):
            chosen = [known[index] for index in batch]
            vectors[chosen] = self._run([encodings[index].ids for index in chosen])
        return vectors

    def _is_readable(self, encoding: "Encoding") -> bool:
        """Return True if the vocabulary has more than half of a text's tokens."""
        ids = [id for id, special in zip(encoding.ids, encoding.special_tokens_mask, strict=True) if not special]
        return 2 * ids.count(self._unknown_id) < len(ids)

    def window_texts(self, text: str) -> list[str]:
        first = self._tokenizer.encode(text)
        spans = [
            span
            for encoding in (first, *first.overflowing)
            for span, is_special in zip(encoding.offsets, encoding.special_tokens_mask, strict=True)
            if not is_special
        ]
        return split_text(text, spans, token_count_max=self._window_token_count_max)

    def _run(self, token_ids: Sequence[Sequence[int]]) -> Vectors:
        input_ids = np.zeros((len(token_ids), max(map(len, token_ids))), np.int64)
        mask = np.zeros_like(input_ids)
        for row, ids in enumerate(token_ids):
            input_ids[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        available = {"input_ids": input_ids, "attention_mask": mask, "token_type_ids": np.zeros_like(input_ids)}
        output = self._session.run(None, {name: available[name] for name in self._input_names})[0]
        return self._pool(output, mask)

    def _pool(self, output: Any, mask: npt.NDArray[np.int64]) -> Vectors:
        """Return one vector of length 1 for each text from what the graph answered first."""
        match self._model.pooling:
            case Pooling.MEAN:
                output = (output * mask[:, :, np.newaxis]).sum(axis=1)
            case Pooling.FIRST:
                output = output[:, 0]
            case Pooling.NONE:
                pass
        if output.shape != (len(mask), self._model.dimension):
            raise EmbeddingError(
                f"the model {self._model.name!r} answered with the shape {output.shape}; with pooling "
                f"{self._model.pooling!r} and dimension {self._model.dimension} it should not"
            )
        vectors: Vectors = output / np.linalg.norm(output, axis=1, keepdims=True)
        return vectors


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the indexes of texts by batches, shortest first; a padded batch is within the limit or a single text."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and lengths[index] * (len(batch) + 1) > BATCH_TOKEN_COUNT_MAX:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _open_tokenizer(model: ModelDirectory) -> "Tokenizer":
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model.tokenizer))
    # The file may hold other settings: those of the training, which padded and cut every text to the same length.
    tokenizer.no_padding()
    tokenizer.enable_truncation(model.token_count_max)
    # A memory that quotes "[SEP]" means these letters.
    tokenizer.encode_special_tokens = True
    return tokenizer


def _unknown_id_of(tokenizer: "Tokenizer") -> int:
    """Return the token that stands for whatever the vocabulary lacks, -1 for a vocabulary that lacks nothing."""
    token = getattr(tokenizer.model, "unk_token", None)
    found = tokenizer.token_to_id(token) if isinstance(token, str) else None
    return -1 if found is None else int(found)


def _open_session(model: ModelDirectory, thread_count: int) -> "InferenceSession":
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = thread_count
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    # A memory arena for each batch size would never be given back.
    options.enable_cpu_mem_arena = False
    return InferenceSession(str(model.graph), options, providers=["CPUExecutionProvider"])
