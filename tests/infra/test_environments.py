"""Conversations and language models: what the context says reaches the functions that need it, and no others."""

import json
from pathlib import Path
from typing import Any

import pytest

from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.generation.settings import ModelSettings
from tests.infra.synthesis import Template, findings, make_app, read_settings, synthesise

BEDROCK = "MODEL_PROVIDER=bedrock,SUMMARIZATION_MODEL=eu.amazon.nova-lite-v1:0"
URL = "https://models.example.org/v1"
OPENAI = json.dumps({"MODEL_BASE_URL": URL, "SUMMARIZATION_MODEL": "small"})
SECRET = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:model-AbCdEf"


def environment_of(template: Template, function: str) -> dict[str, Any]:
    found: dict[str, Any] = template.one("AWS::Lambda::Function", starts=function)["Environment"]["Variables"]
    return found


def invocations_of(template: Template, function: str) -> list[Any]:
    policy = template.one("AWS::IAM::Policy", starts=f"{function}Role")
    statements = policy["PolicyDocument"]["Statement"]
    return [statement for statement in statements if statement["Action"] == "bedrock:InvokeModel"]


def test_the_settings_of_conversations_reach_those_who_take_part_in_them() -> None:
    template = synthesise(conversation="TOKEN_BUDGET=2048,ROLLING_SUMMARY=False")
    for function in ("HttpApi", "Digester"):
        settings = TierSettings.from_environment(environment_of(template, function))
        assert (settings.token_budget, settings.rolling_summary) == (2_048, False)
    assert "S3_AGENT_MEMORY_TOKEN_BUDGET" not in environment_of(template, "Indexer")


def test_a_model_reaches_the_digester_and_nobody_who_answers_requests() -> None:
    template = synthesise(model=OPENAI)
    settings = ModelSettings.from_environment(environment_of(template, "Digester"))
    assert (settings.provider, settings.model, settings.base_url) == ("openai", "small", URL)
    assert not [name for name in environment_of(template, "HttpApi") if "MODEL" in name.removesuffix("EMBEDDING_MODEL")]


def test_only_the_one_model_of_bedrock_that_is_named_may_be_called() -> None:
    (statement,) = invocations_of(synthesise(model=BEDROCK), "Digester")
    resources = str(statement["Resource"])
    assert "foundation-model/amazon.nova-lite-v1:0" in resources
    assert "inference-profile/eu.amazon.nova-lite-v1:0" in resources
    assert "foundation-model/*" not in resources


def test_calling_a_model_of_bedrock_breaks_no_rule_of_the_packs(tmp_path: Path) -> None:
    app, _ = make_app(tmp_path, model=BEDROCK)
    assert findings(tmp_path, app) == []


@pytest.mark.parametrize("context", [{}, {"model": OPENAI}])
def test_without_bedrock_no_model_may_be_called(context: dict[str, Any]) -> None:
    assert invocations_of(synthesise(**context), "Digester") == []


def test_a_key_is_read_from_its_secret_and_stands_in_no_template() -> None:
    template = synthesise(model=OPENAI, modelApiKeySecretArn=SECRET)
    key = str(environment_of(template, "Digester")["S3_AGENT_MEMORY_MODEL_API_KEY"])
    assert key.startswith("{{resolve:secretsmanager:" + SECRET)


@pytest.mark.parametrize(
    "context",
    [
        {"conversation": {"TOKEN_BUDGET": 0}},
        {"conversation": {"TOKEN_BUDGT": 5}},
        {"conversation": {}},
        {"conversation": "TOKEN_BUDGET=100,COMPACTION_TRIGGER=200"},
        {"conversation": "TOKEN_BUDGET=100,COMPACTION_TARGET=100"},
        {"conversation": "{not json"},
        {"model": {"MODEL_PROVIDER": "bedrock"}},
        {"model": {"MODEL_PROVIDER": "openai", "SUMMARIZATION_MODEL": "small"}},
        {"model": {"MODEL_API_KEY": "sk-secret"}},
        {"modelApiKeySecretArn": SECRET},
    ],
    ids=str,
)
def test_what_the_functions_would_refuse_is_refused_before_anything_is_made(context: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"conversation|model"):
        read_settings(**context)
