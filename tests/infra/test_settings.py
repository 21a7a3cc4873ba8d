"""Settings: everything has a default, and what is wrong is refused by its name before anything is made of it."""

from collections.abc import Callable
from dataclasses import fields

import pytest

from infra.settings import Settings, _parsers, context_key
from s3_agent_memory.domain.claims import NamespaceTemplate
from s3_agent_memory.errors import ValidationError

FUNCTIONS = frozenset({"http_api", "indexer"})
ARN = "arn:aws:acm:eu-central-1:123456789012:certificate/abc"


def read(**context: object) -> Settings:
    return Settings.from_context(context, function_names=FUNCTIONS)


def test_nothing_needs_to_be_set() -> None:
    settings = read()
    assert (settings.architecture, settings.python_version, settings.noncurrent_days) == ("arm64", "3.13", 30)


def test_every_setting_has_a_context_key() -> None:
    assert {context_key(field.name) for field in fields(Settings)} == set(_parsers(FUNCTIONS))


@pytest.mark.parametrize("value", ["a b", "a,b", "a, b", ["a", "b"]])
def test_a_list_is_written_with_commas_or_spaces_or_as_json(value: object) -> None:
    assert read(oidcIssuer="https://login.example.org", oidcAudience=value).oidc_audience == ("a", "b")


def test_an_empty_value_is_none() -> None:
    assert read(alarmEmail="").alarm_email is None


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("stackName", "memory-prod", "memory-prod"),
        ("architecture", "x86_64", "x86_64"),
        ("pythonVersion", 3.12, "3.12"),
        ("snapStart", "false", False),
        ("noncurrentDays", "7", 7),
        ("noncurrentDays", 7, 7),
        ("corsAllowOrigins", "https://a.example,http://localhost:3000", ("https://a.example", "http://localhost:3000")),
        ("corsAllowOrigins", ["https://a.example"], ("https://a.example",)),
        ("pruneRate", "rate(1 minute)", "rate(1 minute)"),
        ("sweepRate", "cron(0 3 * * ? *)", "cron(0 3 * * ? *)"),
        ("reservedConcurrency", "http_api=50,indexer=5", {"http_api": 50, "indexer": 5}),
        ("reservedConcurrency", {"http_api": 50}, {"http_api": 50}),
        ("memoryMb", "http_api=1769", {"http_api": 1_769}),
        ("logRetentionDays", "90", 90),
        ("indexerMaximumConcurrency", "0", 0),
        ("embeddings", "none", "none"),
        ("oidcIssuer", "https://login.example.org/realm/", "https://login.example.org/realm/"),
        ("cognito", True, True),
        ("alarmEmail", "ops@example.org", "ops@example.org"),
        ("kmsKeyArn", "arn:aws:kms:eu-central-1:123456789012:key/abc", "arn:aws:kms:eu-central-1:123456789012:key/abc"),
    ],
)
def test_a_value_is_read(key: str, value: object, expected: object) -> None:
    name = next(field.name for field in fields(Settings) if context_key(field.name) == key)
    assert getattr(read(**{key: value}), name) == expected


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("stackName", "1st"),
        ("stackName", "a b"),
        ("architecture", "arm"),
        ("pythonVersion", "3.10"),
        ("pythonVersion", ["3.13"]),
        ("snapStart", "yes"),
        ("bucketName", "Upper"),
        ("removalPolicy", "keep"),
        ("noncurrentDays", "0"),
        ("noncurrentDays", "-1"),
        ("noncurrentDays", "1.5"),
        ("noncurrentDays", True),
        ("noncurrentDays", "9" * 5_000),
        ("noncurrentDays", "٣"),
        ("kmsKeyArn", "alias/key"),
        ("kmsKeyArn", "arn:aws:sns:eu-central-1:123456789012:topic"),
        ("language", "English!"),
        ("corsAllowOrigins", "example.org"),
        ("corsAllowOrigins", []),
        ("corsAllowOrigins", [1]),
        ("corsAllowOrigins", "*,https://a.example"),
        ("throttleRate", "0"),
        ("tokenCacheSeconds", "3601"),
        ("indexerBatchWindowSeconds", "301"),
        ("indexerMaximumConcurrency", "1"),
        ("indexerTimeoutSeconds", "901"),
        ("visibilityTimeoutSeconds", "43201"),
        ("pruneRate", "1 hour"),
        ("pruneRate", "rate(1 minutes)"),
        ("pruneRate", "rate(0 minutes)"),
        ("pruneRate", "rate(5 minute)"),
        ("sweepRate", 5),
        ("reservedConcurrency", "http_api"),
        ("reservedConcurrency", "nobody=1"),
        ("reservedConcurrency", "http_api=-1"),
        ("memoryMb", "http_api=128"),
        ("reservedConcurrency", 5),
        ("logRetentionDays", "31"),
        ("embeddings", "openai"),
        ("publicUrl", "http://memory.example.org"),
        ("publicUrl", "https://memory.example.org/"),
        ("embedderTimeoutSeconds", "59"),
        ("oidcIssuer", "http://login.example.org"),
        ("oidcIssuer", "https://login.example.org/?a=b"),
        ("oidcScopes", "memory:read"),
        ("oidcScopes", "memory:read=everything"),
        ("oidcAudience", []),
        ("oidcAudience", " "),
        ("oidcRedirectUris", "example.org/callback"),
        ("oidcNamespace", "users/{sub} "),
        ("cognito", "yes"),
        ("cognitoDomainPrefix", "Upper"),
        ("alarmEmail", "nobody"),
        ("alarmTopicArn", "topic"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{key}"):
        read(**{key: value})


def test_an_unknown_setting_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(ValueError, match=r"no setting 'noncurentDays'.*noncurrentDays"):
        read(noncurentDays="7")


@pytest.mark.parametrize("key", ["@aws-cdk/core:checkSecretUsage", "aws:cdk:bundling-stacks", "cli-telemetry"])
def test_what_the_cdk_itself_keeps_in_the_context_is_let_through(key: str) -> None:
    assert read(**{key: True}) == read()


@pytest.mark.parametrize(
    "context",
    [
        {"domainName": "memory.example.org"},
        {"certificateArn": ARN},
        {"alarmEmail": "ops@example.org", "alarmTopicArn": "arn:aws:sns:eu-central-1:123456789012:alarms"},
        {"visibilityTimeoutSeconds": "300", "indexerTimeoutSeconds": "300"},
        {"domainName": "a.example.org", "certificateArn": ARN, "publicUrl": "https://b.example.org"},
        {"cognito": "true", "oidcIssuer": "https://login.example.org"},
        {"cognito": "true", "oidcAudience": "https://memory.example.org/mcp"},
        {"cognitoDomainPrefix": "memory"},
        {"oidcNamespace": "users/{sub}"},
        {"oidcRedirectUris": "https://example.org/callback"},
        {"oidcClientId": "abc"},
        {"oidcIssuer": "https://login.example.org", "oidcAuthorizationUrl": "https://login.example.org/authorize"},
    ],
)
def test_settings_that_contradict_each_other_are_refused(context: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"together|both|more than"):
        read(**context)


def test_a_message_stays_hidden_for_six_timeouts_and_a_window() -> None:
    assert read(indexerTimeoutSeconds="100", indexerBatchWindowSeconds="10").indexer_queue.visibility_seconds == 610


NAMESPACES = [
    *(
        "users/{sub}",
        "{sub}",
        "tenants/{tenant}/{sub}",
        "a/b/c/d/e/f/g/{sub}",
        "users/{custom:id}",
        "users/{https:claim}",
    ),
    *("users", "{sub", "users/{a}{b}", "semantic/{sub}", "/{sub}", "users/{sub}/", "a/b/c/d/e/f/g/h/{sub}", "a./{sub}"),
    *("users//{sub}", "_x/{sub}", "users/x{sub}", "users/{}", "{a/b}", "procedural/x/{sub}", "semantics/{sub}"),
]


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_a_namespace_of_claims_is_accepted_exactly_if_the_functions_accept_it(namespace: str) -> None:
    def is_accepted(read_it: Callable[[], object]) -> bool:
        try:
            read_it()
        except (ValidationError, ValueError):
            return False
        return True

    by_functions = is_accepted(lambda: NamespaceTemplate.parse(namespace))
    assert by_functions == is_accepted(lambda: read(oidcIssuer="https://login.example.org", oidcNamespace=namespace))


@pytest.mark.parametrize("key", ["Foo", "stack_name", "stack-name", "foo"])
def test_an_unknown_key_is_refused_however_it_is_written(key: str) -> None:
    with pytest.raises(ValueError, match="there is no setting"):
        read(**{key: "x"})


def test_a_language_without_a_stemmer_is_refused() -> None:
    with pytest.raises(ValueError, match="language"):
        read(language="klingon")
