"""What a deployment tells its functions about conversations and language models: the library's own variables.

``conversation`` and ``model`` of the CDK context are JSON objects, or texts like ``TOKEN_BUDGET=2048,DEFAULT_TOP_K=5``.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from aws_cdk import Aws, SecretValue
from aws_cdk import aws_iam as iam

from infra import context_values as values
from infra import names

_COUNT: Final = values.whole_number(1, 1_000_000)
_AMOUNT: Final = values.text(r"\d{1,9}(\.\d{1,9})?", "a number from 0 on")
_MODEL: Final = values.text(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,2047}", "the name of a model")
_PROMPT: Final = values.text(r"(?s).{1,2000}", "text of at most 2,000 characters")
_CONVERSATION: Final[Mapping[str, values.Parser]] = {
    names.ENV_TOKEN_BUDGET: _COUNT,
    names.ENV_HARD_EVENT_CAP: _COUNT,
    names.ENV_COMPACTION_TRIGGER: _COUNT,
    names.ENV_COMPACTION_TARGET: _COUNT,
    names.ENV_ROLLING_SUMMARY: values.boolean,
    names.ENV_DIGEST_RETENTION: _COUNT,
    names.ENV_REQUIRE_PRINCIPAL: values.boolean,
    names.ENV_REQUIRE_AGENT_IDENTITY: values.boolean,
    names.ENV_DEFAULT_FAILURE_MODE: values.one_of("soft", "strict"),
    names.ENV_DEFAULT_TOP_K: values.whole_number(1, 100),
    names.ENV_SCORE_THRESHOLD: values.text(r"0(\.\d{1,9})?|1(\.0{1,9})?", "a number from 0 to 1"),
    names.ENV_LONG_TERM_ENABLED: values.boolean,
}
_MODELS: Final[Mapping[str, values.Parser]] = {
    names.ENV_MODEL_PROVIDER: values.one_of("none", "openai", "bedrock"),
    names.ENV_MODEL_BASE_URL: values.url,
    names.ENV_SUMMARIZATION_MODEL: _MODEL,
    names.ENV_EXTRACTION_SYSTEM_PROMPT: _PROMPT,
    names.ENV_SUMMARIZATION_SYSTEM_PROMPT: _PROMPT,
    names.ENV_MODEL_TOKENS_PER_RUN: _COUNT,
    names.ENV_MODEL_USD_PER_RUN: _AMOUNT,
    names.ENV_MODEL_INPUT_USD: _AMOUNT,
    names.ENV_MODEL_OUTPUT_USD: _AMOUNT,
}


_REGION_GROUPS: Final = frozenset({"us", "us-gov", "eu", "apac", "jp", "au", "ca", "global"})


def conversation(key: str, value: Any) -> Mapping[str, str]:
    """Parse how conversations are remembered, into environment variables."""
    found = _environment(key, value, _CONVERSATION)
    budget = int(found.get(names.ENV_TOKEN_BUDGET, 4_096))
    high = int(found.get(names.ENV_COMPACTION_TRIGGER, budget))
    if not int(found.get(names.ENV_COMPACTION_TARGET, budget // 2)) < high <= budget:
        raise ValueError(f"{key} must keep COMPACTION_TARGET < COMPACTION_TRIGGER <= TOKEN_BUDGET")
    return found


def model(key: str, value: Any) -> Mapping[str, str]:
    """Parse which language model writes digests and extracts facts, into environment variables."""
    found = _environment(key, value, _MODELS)
    provider = found.get(names.ENV_MODEL_PROVIDER) or ("openai" if names.ENV_MODEL_BASE_URL in found else "none")
    if provider != "none" and names.ENV_SUMMARIZATION_MODEL not in found:
        raise ValueError(f"{key} with the provider {provider} needs SUMMARIZATION_MODEL")
    if provider == "openai" and names.ENV_MODEL_BASE_URL not in found:
        raise ValueError(f"{key} with the provider openai needs MODEL_BASE_URL")
    return {**found, names.ENV_MODEL_PROVIDER: provider}


def _environment(key: str, value: Any, parsers: Mapping[str, values.Parser]) -> Mapping[str, str]:
    pairs = _pairs(value)
    allowed = {name.removeprefix(names.ENV_PREFIX): (name, parser) for name, parser in parsers.items()}
    if pairs is None or not pairs or not set(pairs) <= set(allowed):
        raise ValueError(f"{key} must be a JSON object, or name=value with commas, of {', '.join(sorted(allowed))}")
    parsed = {allowed[name][0]: allowed[name][1](f"{name} of {key}", item) for name, item in pairs.items()}
    return {name: str(item).lower() if isinstance(item, bool) else str(item) for name, item in parsed.items()}


def _pairs(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        return dict(pair.strip().partition("=")[::2] for pair in value.split(","))
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return value if isinstance(value, Mapping) else None


def with_api_key(environment: Mapping[str, str], secret_arn: str | None) -> Mapping[str, str]:
    """Return the environment with a model's API key, which CloudFormation reads from the secret when it deploys."""
    if secret_arn is None:
        return environment
    key = SecretValue.secrets_manager(secret_arn).unsafe_unwrap()
    return {**environment, names.ENV_MODEL_API_KEY: key}


def invocation(environment: Mapping[str, str]) -> iam.PolicyStatement | None:
    """Return the statement that allows calling the one model of Amazon Bedrock that is named, if one is.

    A model is called by its own id, or through an inference profile, whose id begins with a group of regions; the
    profile then calls the model in any region of the group.
    """
    if environment.get(names.ENV_MODEL_PROVIDER) != "bedrock":
        return None
    model_id = environment[names.ENV_SUMMARIZATION_MODEL]
    profile = f"arn:{Aws.PARTITION}:bedrock:{Aws.REGION}:{Aws.ACCOUNT_ID}:inference-profile/{model_id}"
    return iam.PolicyStatement(
        sid="InvokeModel",
        actions=["bedrock:InvokeModel"],
        resources=[
            f"arn:{Aws.PARTITION}{_model_path(model_id)}",
            model_id if model_id.startswith("arn:") else profile,
        ],
    )


def models_of(environment: Mapping[str, str]) -> str:
    """Return the one model in any region, as the rule packs write it."""
    return f"arn:<AWS::Partition>{_model_path(environment[names.ENV_SUMMARIZATION_MODEL])}"


def _model_path(model_id: str) -> str:
    base = model_id.rpartition("/")[2]
    group, _, rest = base.partition(".")
    return f":bedrock:*::foundation-model/{rest if group in _REGION_GROUPS else base}"
