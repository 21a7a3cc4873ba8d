"""Which language model is used, as settings say it; nothing is opened here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Self

from s3_agent_memory import names
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.generation.budget import Budget, Prices


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The language model of a store.

    Attributes:
        provider: ``openai`` (any server with that API), ``ollama``, ``bedrock``, or ``none``.
        model: its name there.
        base_url: of the API; None means Amazon's own endpoint for ``bedrock``.
        api_key: for ``openai``; never shown.
        extraction_system_prompt, summarization_system_prompt: instead of the usual ones.
        budget: of each run.
    """

    provider: str = names.DEFAULT_MODEL_PROVIDER
    model: str = ""
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    extraction_system_prompt: str | None = None
    summarization_system_prompt: str | None = None
    budget: Budget = field(default_factory=Budget)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Return the settings that the environment variables of ``names`` describe.

        A provider that is not named follows from what is set: a base URL means ``openai``, a model of Ollama
        ``ollama``, nothing of both ``none``.

        Raises:
            ValidationError: there is no such provider, or it lacks a setting; the message names the variable.
        """
        provider = environ.get(names.ENV_MODEL_PROVIDER) or _implied_provider(environ)
        if provider not in names.MODEL_PROVIDERS:
            allowed = ", ".join(names.MODEL_PROVIDERS)
            raise ValidationError(f"{names.ENV_MODEL_PROVIDER} must be one of {allowed}, not {provider!r}")
        return cls(
            provider=provider,
            model=_model(provider, environ),
            base_url=_base_url(provider, environ),
            api_key=environ.get(names.ENV_MODEL_API_KEY) or None,
            extraction_system_prompt=environ.get(names.ENV_EXTRACTION_SYSTEM_PROMPT) or None,
            summarization_system_prompt=environ.get(names.ENV_SUMMARIZATION_SYSTEM_PROMPT) or None,
            budget=_budget(environ),
        )


def _implied_provider(environ: Mapping[str, str]) -> str:
    if environ.get(names.ENV_MODEL_BASE_URL):
        return "openai"
    return "ollama" if environ.get(names.ENV_OLLAMA_MODEL) else names.DEFAULT_MODEL_PROVIDER


def _model(provider: str, environ: Mapping[str, str]) -> str:
    model = environ.get(names.ENV_SUMMARIZATION_MODEL) or ""
    if provider == "ollama":
        return environ.get(names.ENV_OLLAMA_MODEL) or model or names.DEFAULT_OLLAMA_MODEL
    if provider != "none" and not model:
        raise ValidationError(f"the model provider {provider} needs {names.ENV_SUMMARIZATION_MODEL}")
    return model


def _base_url(provider: str, environ: Mapping[str, str]) -> str | None:
    base_url = environ.get(names.ENV_MODEL_BASE_URL) or None
    if provider == "ollama":
        return base_url or environ.get(names.ENV_OLLAMA_HOST) or names.DEFAULT_OLLAMA_HOST
    if provider == "openai" and base_url is None:
        raise ValidationError(f"the model provider openai needs {names.ENV_MODEL_BASE_URL}")
    return base_url


def _budget(environ: Mapping[str, str]) -> Budget:
    usual = Budget()
    prices = Prices(
        input_usd=_amount(environ, names.ENV_MODEL_INPUT_USD) or 0.0,
        output_usd=_amount(environ, names.ENV_MODEL_OUTPUT_USD) or 0.0,
    )
    cost_usd_max = _amount(environ, names.ENV_MODEL_USD_PER_RUN)
    if cost_usd_max is not None and prices == Prices():
        # Without prices everything would cost nothing, and the limit would be none.
        raise ValidationError(
            f"{names.ENV_MODEL_USD_PER_RUN} needs {names.ENV_MODEL_INPUT_USD} or {names.ENV_MODEL_OUTPUT_USD}"
        )
    token_count_max = _amount(environ, names.ENV_MODEL_TOKENS_PER_RUN)
    return Budget(
        token_count_max=usual.token_count_max if token_count_max is None else int(token_count_max),
        cost_usd_max=cost_usd_max,
        prices=prices,
    )


def _amount(environ: Mapping[str, str], name: str) -> float | None:
    text = environ.get(name)
    if not text:
        return None
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not isfinite(amount) or amount < 0:
        raise ValidationError(f"{name} must be a number from 0 on")
    return amount
