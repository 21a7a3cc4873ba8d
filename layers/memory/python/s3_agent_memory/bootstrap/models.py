"""The embedder and the language model that settings name: the one place that picks an embedding adapter."""

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from s3_agent_memory import names
from s3_agent_memory.bootstrap.settings import Settings
from s3_agent_memory.domain.clock import SystemClock, SystemEntropy
from s3_agent_memory.embedding.checked import adapt
from s3_agent_memory.embedding.port import Embedder
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.generation.budget import BudgetedGenerator
from s3_agent_memory.generation.opening import open_generator
from s3_agent_memory.generation.port import TextGenerator
from s3_agent_memory.generation.settings import ModelSettings
from s3_agent_memory.service.prompting.summarising import LongestSummariser, ModelSummariser, Summariser
from s3_agent_memory.storage.retry import Retrier, RetryPolicy


def build_embedder(settings: Settings) -> Embedder | None:
    """Return the embedder that the settings name, None for ``none``; its model is loaded when it is first used.

    Raises:
        ValidationError: there is no such embedder, its extra is not installed, or the directory holds no model.
    """
    if settings.embeddings == names.DEFAULT_EMBEDDINGS:
        return None
    build = _EMBEDDER_BUILDERS.get(settings.embeddings)
    if build is None:
        known = ", ".join([names.DEFAULT_EMBEDDINGS, *_EMBEDDER_BUILDERS])
        raise ValidationError(f"{settings.embeddings!r} is no embedder; there are: {known}")
    return build(settings.embedding_model)


def _build_onnx(directory: str | None) -> Embedder:
    from s3_agent_memory.embedding.onnx import OnnxEmbedder

    return adapt(OnnxEmbedder(_usual_model_directory() if directory is None else Path(directory)))


def _usual_model_directory() -> Path:
    """Return where the model of this project lies: in a package on the module path, else where ``make`` builds it."""
    package = find_spec(names.MODEL_PACKAGE)
    if package is None or package.origin is None:
        return Path(names.DEFAULT_MODEL_DIRECTORY)
    return Path(package.origin).parent


def _build_fastembed(model: str | None) -> Embedder:
    from s3_agent_memory.embedding import fastembed

    return adapt(fastembed.FastembedEmbedder(model or fastembed.DEFAULT_MODEL))


def _build_sentence_transformers(model: str | None) -> Embedder:
    from s3_agent_memory.embedding import sentence_transformers

    return adapt(sentence_transformers.SentenceTransformersEmbedder(model or sentence_transformers.DEFAULT_MODEL))


_EMBEDDER_BUILDERS: Mapping[str, Callable[[str | None], Embedder]] = {
    "onnx": _build_onnx,
    "fastembed": _build_fastembed,
    "sentence-transformers": _build_sentence_transformers,
}


# A model is slower and is throttled longer than a store.
_MODEL_RETRIES = RetryPolicy(attempt_count_max=4, base_seconds=0.5, cap_seconds=8.0)


def build_generator(settings: ModelSettings | None = None) -> TextGenerator | None:
    """Return the language model of the environment, None for ``none``; nothing is sent yet.

    Raises:
        ValidationError: a setting is wrong, or the extra that the provider needs is not installed.
    """
    clock = SystemClock()
    attempts = Retrier(clock, SystemEntropy(), _MODEL_RETRIES)
    return open_generator(settings or ModelSettings.from_environment(os.environ), attempts=attempts, clock=clock)


def build_summariser(name: str | None = None, *, model: str | None = None) -> Summariser:
    """Return what writes merged memories: what is named, else by the environment's model, else the longest text.

    A model's answers are limited by the budget of one run.

    Args:
        name: ``longest``, or a provider of a model.
        model: instead of the environment's.

    Raises:
        ValidationError: a setting is missing or wrong.
    """
    if name == LongestSummariser.name:
        return LongestSummariser()
    environ = dict(os.environ)
    if name is not None:
        environ[names.ENV_MODEL_PROVIDER] = name
    if model is not None:
        environ |= {names.ENV_SUMMARIZATION_MODEL: model, names.ENV_OLLAMA_MODEL: model}
    settings = ModelSettings.from_environment(environ)
    generator = build_generator(settings)
    return LongestSummariser() if generator is None else ModelSummariser(BudgetedGenerator(generator, settings.budget))
