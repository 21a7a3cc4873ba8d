"""Settings of a deployment: what the CDK context says (``-c name=value`` or ``cdk.json``), checked first of all."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

import Stemmer

from infra import context_values as values
from infra import environments, names
from infra.queue_settings import QueueSettings, long_runs, short_runs

# A user pool of this stack decides on these by itself.
_ISSUER_ONLY: Final = (
    "oidc_audience",
    "oidc_jwks_url",
    "oidc_scopes",
    "oidc_client_id",
    "oidc_authorization_url",
    "oidc_token_url",
)
# A namespace of the library in which at least one whole part is a claim in braces.
_PART: Final = r"(?!(?:semantic|episodic|procedural)(?:/|$))[A-Za-z0-9](?:[A-Za-z0-9._@+-]{0,126}[A-Za-z0-9_@+-])?"
_CLAIM: Final = r"\{[^{}/\s]{1,128}\}"
_NAMESPACE: Final = rf"(?=.*\{{)(?:{_PART}|{_CLAIM})(?:/(?:{_PART}|{_CLAIM})){{0,7}}"
# The CDK's own keys have a colon, or begin so.
_OWN_KEY: Final = re.compile(r"(?!cli-)[^:@]+")
_LOG_RETENTION_DAYS: Final = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What may differ from one deployment to another; each is the context key of the same name in camel case.

    Attributes:
        stack_name: of the CloudFormation stack.
        architecture: ``arm64`` or ``x86_64``, of functions and layers.
        python_version: of the Lambda runtime; 3.11 has no SnapStart.
        snap_start: start functions that answer requests from a snapshot, which costs money while idle.
        bucket_name: of the bucket; None lets CloudFormation choose.
        removal_policy: what becomes of the bucket with the stack, ``retain`` or ``destroy`` (only if it is empty).
        noncurrent_days: after which deleted and replaced objects are gone for good.
        kms_key_arn: of the key that encrypts the bucket; None for keys of S3.
        language: whose words are stemmed in new indexes, as Snowball names it.
        embeddings: what turns texts into vectors: ``onnx``, or ``none`` to find memories by their words alone.
        domain_name, certificate_arn: of a domain of your own, both or none.
        public_url: as clients type it, if something stands in front of the API.
        cors_allow_origins: web pages that may call the API.
        throttle_rate: requests a second that the API lets through for long.
        throttle_burst: requests at once.
        token_cache_seconds: for which a revoked token may go on working; 0 verifies every request anew.
        indexer_batch_window_seconds: for which changes are collected before they are folded.
        indexer_maximum_concurrency: indexers at once; 0 for no limit, with which Lambda polls an idle queue less.
        indexer_timeout_seconds: of one batch.
        visibility_timeout_seconds: until a batch that was not finished comes again; None for six timeouts and a window.
        indexer_receive_count_max: how often a message comes before it goes to the dead-letter queue.
        embedder_batch_window_seconds, embedder_maximum_concurrency, embedder_timeout_seconds: likewise of the embedder.
        digester_batch_window_seconds, digester_maximum_concurrency, digester_timeout_seconds: likewise of the digester.
        prune_rate, sweep_rate, session_sweep_rate, consolidation_rate: of the scheduled rounds, ``rate(1 hour)`` or
            ``cron(0 3 * * ? *)``.
        reserved_concurrency: executions kept for a function and no more, by its name.
        memory_mb: of a function, by its name, instead of what was measured to be best for namespaces of usual size.
        log_retention_days: of all logs.
        oidc_issuer: whose access tokens are accepted besides those of the store.
        oidc_audience, oidc_jwks_url, oidc_namespace, oidc_scopes, oidc_client_id: what makes these tokens valid, and
            what they grant; the library has defaults.
        oidc_authorization_url, oidc_token_url, oidc_redirect_uris: of the one client that is handed out to clients
            that register.
        cognito: make a user pool, and accept its tokens.
        cognito_domain_prefix: of its login pages; by default the name of the stack and the account.
        conversation: how conversations are remembered, as environment variables of the functions.
        model: which language model writes digests and extracts facts, as environment variables of the functions.
        model_api_key_secret_arn: of the secret in Secrets Manager that holds the model's API key.
        alarm_email: address that alarms are sent to.
        alarm_topic_arn: SNS topic that exists already, instead of an address.
    """

    stack_name: str = "S3AgentMemory"
    architecture: str = "arm64"
    python_version: str = "3.13"
    snap_start: bool = True
    bucket_name: str | None = None
    removal_policy: str = "retain"
    noncurrent_days: int = 30
    kms_key_arn: str | None = None
    language: str = "english"
    embeddings: str = "onnx"
    domain_name: str | None = None
    certificate_arn: str | None = None
    public_url: str | None = None
    cors_allow_origins: tuple[str, ...] = ("*",)
    throttle_rate: int = 100
    throttle_burst: int = 200
    token_cache_seconds: int = 60
    indexer_batch_window_seconds: int = 60
    indexer_maximum_concurrency: int = 5
    indexer_timeout_seconds: int = 300
    visibility_timeout_seconds: int | None = None
    indexer_receive_count_max: int = 5
    embedder_batch_window_seconds: int = 60
    embedder_maximum_concurrency: int = 2
    embedder_timeout_seconds: int = 900
    digester_batch_window_seconds: int = 5
    digester_maximum_concurrency: int = 5
    digester_timeout_seconds: int = 900
    prune_rate: str = "rate(1 day)"
    sweep_rate: str = "rate(1 day)"
    session_sweep_rate: str = "rate(1 day)"
    consolidation_rate: str = "rate(1 day)"
    reserved_concurrency: Mapping[str, int]
    memory_mb: Mapping[str, int]
    log_retention_days: int = 30
    oidc_issuer: str | None = None
    oidc_audience: tuple[str, ...] = ()
    oidc_jwks_url: str | None = None
    oidc_namespace: str | None = None
    oidc_scopes: tuple[str, ...] = ()
    oidc_client_id: tuple[str, ...] = ()
    oidc_authorization_url: str | None = None
    oidc_token_url: str | None = None
    oidc_redirect_uris: tuple[str, ...] = ()
    cognito: bool = False
    cognito_domain_prefix: str | None = None
    conversation: Mapping[str, str]
    model: Mapping[str, str]
    model_api_key_secret_arn: str | None = None
    alarm_email: str | None = None
    alarm_topic_arn: str | None = None

    @classmethod
    def from_context(cls, context: Mapping[str, Any], *, function_names: frozenset[str]) -> Self:
        """Return the settings that the context describes.

        Args:
            function_names: that ``reservedConcurrency`` may speak of.

        Raises:
            ValueError: a value is not what it may be, or a key is unknown; the message names it.
        """
        parsers = _parsers(function_names)
        unknown = sorted(key for key in context if _OWN_KEY.fullmatch(key) and key not in parsers)
        if unknown:
            raise ValueError(f"there is no setting {unknown[0]!r}; there are {', '.join(sorted(parsers))}")
        values: dict[str, Any] = {"reserved_concurrency": {}, "memory_mb": {}, "conversation": {}, "model": {}}
        for field in fields(cls):
            key = context_key(field.name)
            if context.get(key) is not None and context[key] != "":
                values[field.name] = parsers[key](key, context[key])
        settings = cls(**values)
        settings._check_together()
        return settings

    @property
    def has_embeddings(self) -> bool:
        """True if memories get vectors."""
        return self.embeddings != "none"

    @property
    def has_identity_provider(self) -> bool:
        """True if tokens of an identity provider are accepted."""
        return self.cognito or self.oidc_issuer is not None

    @property
    def indexer_queue(self) -> QueueSettings:
        """How the indexer works through changed memories."""
        return short_runs(
            batch_window_seconds=self.indexer_batch_window_seconds,
            maximum_concurrency=self.indexer_maximum_concurrency,
            timeout_seconds=self.indexer_timeout_seconds,
            visibility_seconds=self.visibility_timeout_seconds,
            receive_count_max=self.indexer_receive_count_max,
        )

    @property
    def embedder_queue(self) -> QueueSettings:
        """How the embedder works through new segments."""
        return long_runs(
            batch_window_seconds=self.embedder_batch_window_seconds,
            maximum_concurrency=self.embedder_maximum_concurrency,
            timeout_seconds=self.embedder_timeout_seconds,
        )

    @property
    def digester_queue(self) -> QueueSettings:
        """How the digester works through turns that left their windows."""
        return long_runs(
            batch_window_seconds=self.digester_batch_window_seconds,
            maximum_concurrency=self.digester_maximum_concurrency,
            timeout_seconds=self.digester_timeout_seconds,
        )

    def _check_together(self) -> None:
        if (self.domain_name is None) != (self.certificate_arn is None):
            raise ValueError("domainName and certificateArn go together: give both or none")
        if self.domain_name is not None and self.public_url is not None:
            raise ValueError("give domainName or publicUrl, not both")
        if self.alarm_email is not None and self.alarm_topic_arn is not None:
            raise ValueError("give alarmEmail or alarmTopicArn, not both")
        if self.indexer_queue.visibility_seconds <= self.indexer_timeout_seconds:
            raise ValueError(
                f"visibilityTimeoutSeconds must be more than indexerTimeoutSeconds ({self.indexer_timeout_seconds}), "
                "else a message comes again while it is worked on"
            )
        if "*" in self.cors_allow_origins and len(self.cors_allow_origins) > 1:
            raise ValueError("corsAllowOrigins must be '*' or a list of origins, not both")
        if self.model_api_key_secret_arn is not None and names.ENV_MODEL_BASE_URL not in self.model:
            raise ValueError("modelApiKeySecretArn and a model with MODEL_BASE_URL go together")
        self._check_identity()

    def _check_identity(self) -> None:
        """Refuse what the functions would refuse when they start."""
        if self.cognito and self.oidc_issuer is not None:
            raise ValueError("give cognito or oidcIssuer, not both")
        if self.cognito_domain_prefix is not None and not self.cognito:
            raise ValueError("cognitoDomainPrefix and cognito=true go together")
        unused = [name for name in _ISSUER_ONLY if getattr(self, name) and self.oidc_issuer is None]
        if unused:
            raise ValueError(f"{context_key(unused[0])} and oidcIssuer go together")
        if (self.oidc_namespace or self.oidc_redirect_uris) and not self.has_identity_provider:
            raise ValueError("oidcNamespace and oidcRedirectUris go together with oidcIssuer or cognito=true")
        client = (self.oidc_token_url, self.oidc_redirect_uris, len(self.oidc_client_id) == 1)
        if self.oidc_authorization_url is not None and not all(client):
            raise ValueError(
                "oidcAuthorizationUrl, oidcTokenUrl, oidcRedirectUris and one oidcClientId go together: "
                "they describe the client that is handed out"
            )


def context_key(field_name: str) -> str:
    """Return the context key of a setting.

    Example:
        >>> context_key("noncurrent_days")
        'noncurrentDays'
    """
    first, *others = field_name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _parsers(function_names: frozenset[str]) -> Mapping[str, values.Parser]:
    return {
        "stackName": values.text(r"[A-Za-z][A-Za-z0-9-]{0,127}", "letters, digits and '-', beginning with a letter"),
        "architecture": values.one_of("arm64", "x86_64"),
        "pythonVersion": values.one_of("3.11", "3.12", "3.13"),
        "snapStart": values.boolean,
        "bucketName": values.text(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "a bucket name"),
        "removalPolicy": values.one_of("retain", "destroy"),
        "noncurrentDays": values.whole_number(1, 36_500),
        "kmsKeyArn": values.arn("kms"),
        "language": values.one_of(*Stemmer.algorithms()),
        "embeddings": values.one_of("onnx", "none"),
        "domainName": values.text(r"([a-z0-9-]{1,63}\.)+[a-z]{2,63}", "a domain name in lower case"),
        "certificateArn": values.arn("acm"),
        "publicUrl": values.text(r"https://[a-z0-9.-]{1,253}(:\d{1,5})?", "like https://memory.example.org"),
        "corsAllowOrigins": values.origins,
        "throttleRate": values.whole_number(1, 100_000),
        "throttleBurst": values.whole_number(1, 100_000),
        "tokenCacheSeconds": values.whole_number(0, 3_600),
        "indexerBatchWindowSeconds": values.whole_number(1, 300),
        "indexerMaximumConcurrency": values.maximum_concurrency,
        "indexerTimeoutSeconds": values.whole_number(30, 900),
        "visibilityTimeoutSeconds": values.whole_number(6, 43_200),
        "indexerReceiveCountMax": values.whole_number(1, 1_000),
        "embedderBatchWindowSeconds": values.whole_number(1, 300),
        "embedderMaximumConcurrency": values.maximum_concurrency,
        "embedderTimeoutSeconds": values.whole_number(60, 900),
        "digesterBatchWindowSeconds": values.whole_number(1, 300),
        "digesterMaximumConcurrency": values.maximum_concurrency,
        "digesterTimeoutSeconds": values.whole_number(120, 900),
        "pruneRate": values.rate,
        "sweepRate": values.rate,
        "sessionSweepRate": values.rate,
        "consolidationRate": values.rate,
        "reservedConcurrency": values.by_function(function_names, 0, 100_000),
        "memoryMb": values.by_function(function_names, 512, 10_240),
        "logRetentionDays": values.one_of_numbers(_LOG_RETENTION_DAYS),
        "oidcIssuer": values.url,
        "oidcAudience": values.words(r"\S{1,500}", "audiences"),
        "oidcJwksUrl": values.url,
        "oidcNamespace": values.text(_NAMESPACE, "of 1 to 8 parts, one of them a claim, like users/{sub}"),
        "oidcScopes": values.words(r"\S{1,200}=(read|write|erase|admin)", "pairs like memory:read=read"),
        "oidcClientId": values.words(r"\S{1,200}", "ids of clients"),
        "oidcAuthorizationUrl": values.url,
        "oidcTokenUrl": values.url,
        "oidcRedirectUris": values.words(r"[a-z][a-z0-9.+-]{1,50}://\S{1,500}", "callback URLs"),
        "cognito": values.boolean,
        "cognitoDomainPrefix": values.text(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", "lower-case letters, digits and '-'"),
        "conversation": environments.conversation,
        "model": environments.model,
        "modelApiKeySecretArn": values.arn("secretsmanager"),
        "alarmEmail": values.text(r"[^@\s]{1,64}@[^@\s]{1,255}", "an e-mail address"),
        "alarmTopicArn": values.arn("sns"),
    }
