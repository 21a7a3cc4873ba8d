"""Picks the adapter of the language model that settings name; only the one in use is loaded."""

from collections.abc import Callable, Mapping
from typing import Final

from s3_agent_memory import names
from s3_agent_memory.domain.clock import Clock
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.generation.port import Attempts, TextGenerator
from s3_agent_memory.generation.settings import ModelSettings


def open_generator(settings: ModelSettings, *, attempts: Attempts, clock: Clock) -> TextGenerator | None:
    """Return the language model, None for the provider ``none``; nothing is sent yet.

    Args:
        attempts: how often and how patiently a failure is met.

    Raises:
        ValidationError: a setting is wrong, or the extra that the provider needs is not installed.
    """
    open_one = _OPENERS.get(settings.provider)
    if open_one is None:
        return None
    try:
        return open_one(settings, attempts, clock)
    except ModuleNotFoundError as error:
        raise ValidationError(
            f"the model provider {settings.provider} needs the extra: pip install '.[models]'"
        ) from error


def _open_openai(settings: ModelSettings, attempts: Attempts, clock: Clock) -> TextGenerator:
    from s3_agent_memory.generation.openai import OpenAiGenerator

    return OpenAiGenerator(
        settings.model, base_url=settings.base_url or "", api_key=settings.api_key, attempts=attempts, clock=clock
    )


def _open_ollama(settings: ModelSettings, attempts: Attempts, clock: Clock) -> TextGenerator:
    from s3_agent_memory.generation.ollama import OllamaGenerator

    host = settings.base_url or names.DEFAULT_OLLAMA_HOST
    return OllamaGenerator(settings.model, host=host, attempts=attempts, clock=clock)


def _open_bedrock(settings: ModelSettings, attempts: Attempts, _: Clock) -> TextGenerator:
    from s3_agent_memory.generation.bedrock import BedrockGenerator

    return BedrockGenerator(settings.model, endpoint_url=settings.base_url, attempts=attempts)


_OPENERS: Final[Mapping[str, Callable[[ModelSettings, Attempts, Clock], TextGenerator]]] = {
    "openai": _open_openai,
    "ollama": _open_ollama,
    "bedrock": _open_bedrock,
}
