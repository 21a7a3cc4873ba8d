"""Which language model the environment means."""

import pytest

from s3_agent_memory import bootstrap
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.generation.budget import Budget, Prices
from s3_agent_memory.generation.settings import ModelSettings

PREFIX = "S3_AGENT_MEMORY_"


def settings_of(**variables):
    prefixed = {name if name == "OLLAMA_HOST" else PREFIX + name: value for name, value in variables.items()}
    return ModelSettings.from_environment(prefixed)


def name_of(settings):
    generator = bootstrap.build_generator(settings)
    assert generator is not None
    return generator.name


def test_nothing_set_means_no_model():
    assert bootstrap.build_generator(settings_of()) is None


def test_a_base_url_means_the_api_of_openai():
    settings = settings_of(MODEL_BASE_URL="http://127.0.0.1:1/v1", SUMMARIZATION_MODEL="m")
    assert name_of(settings) == "openai/m"


def test_a_model_of_ollama_means_ollama():
    settings = settings_of(OLLAMA_MODEL="llama3.2:1b", OLLAMA_HOST="127.0.0.1:1")
    assert settings.base_url == "127.0.0.1:1"
    assert name_of(settings) == "ollama/llama3.2:1b"


def test_ollama_has_a_usual_model_and_host():
    settings = settings_of(MODEL_PROVIDER="ollama")
    assert (settings.model, settings.base_url) == ("llama3.2", "http://localhost:11434")


def test_bedrock_is_chosen_by_name(monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    settings = settings_of(MODEL_PROVIDER="bedrock", SUMMARIZATION_MODEL="m")
    assert name_of(settings) == "bedrock/m"


def test_bedrock_without_a_region_says_so(monkeypatch, tmp_path):
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(ValidationError, match="region"):
        bootstrap.build_generator(settings_of(MODEL_PROVIDER="bedrock", SUMMARIZATION_MODEL="m"))


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"MODEL_PROVIDER": "oracle"}, "openai, ollama, bedrock"),
        ({"MODEL_PROVIDER": "openai", "SUMMARIZATION_MODEL": "m"}, PREFIX + "MODEL_BASE_URL"),
        ({"MODEL_BASE_URL": "http://127.0.0.1:1"}, PREFIX + "SUMMARIZATION_MODEL"),
        ({"MODEL_PROVIDER": "bedrock"}, PREFIX + "SUMMARIZATION_MODEL"),
        ({"MODEL_TOKENS_PER_RUN": "many"}, PREFIX + "MODEL_TOKENS_PER_RUN"),
        ({"MODEL_USD_PER_RUN": "-1"}, PREFIX + "MODEL_USD_PER_RUN"),
        ({"MODEL_USD_PER_RUN": "nan"}, PREFIX + "MODEL_USD_PER_RUN"),
        ({"MODEL_USD_PER_RUN": "1"}, PREFIX + "MODEL_INPUT_USD_PER_MILLION_TOKENS"),
    ],
)
def test_a_wrong_setting_is_named(variables, named):
    with pytest.raises(ValidationError, match=named):
        settings_of(**variables)


def test_the_key_is_not_shown():
    settings = settings_of(MODEL_BASE_URL="http://127.0.0.1:1", SUMMARIZATION_MODEL="m", MODEL_API_KEY="sk-secret")
    assert "sk-secret" not in repr(settings)


def test_system_prompts_are_read():
    settings = settings_of(EXTRACTION_SYSTEM_PROMPT="extract", SUMMARIZATION_SYSTEM_PROMPT="sum up")
    assert (settings.extraction_system_prompt, settings.summarization_system_prompt) == ("extract", "sum up")


def test_the_budget_of_a_run_is_read():
    settings = settings_of(
        MODEL_TOKENS_PER_RUN="5000",
        MODEL_USD_PER_RUN="0.5",
        MODEL_INPUT_USD_PER_MILLION_TOKENS="3",
        MODEL_OUTPUT_USD_PER_MILLION_TOKENS="15",
    )
    assert settings.budget == Budget(token_count_max=5_000, cost_usd_max=0.5, prices=Prices(input_usd=3, output_usd=15))
