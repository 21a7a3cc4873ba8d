"""Names: those that the infrastructure shares with the library, and those by which others find the deployed stack.

This is the only module of the infrastructure that imports the library, and ``names`` is all it imports.
"""

from typing import Final

from s3_agent_memory.names import (
    ATTRIBUTION_NAME,
    BATCH_FOLDER,
    CLAIM_FOLDER,
    CONSOLIDATION_FOLDER,
    ENV_ALLOWED_HOSTS,
    ENV_ALLOWED_ORIGINS,
    ENV_COMPACTION_TARGET,
    ENV_COMPACTION_TRIGGER,
    ENV_DEFAULT_FAILURE_MODE,
    ENV_DEFAULT_TOP_K,
    ENV_DIGEST_RETENTION,
    ENV_EMBEDDINGS,
    ENV_EXTRACTION_SYSTEM_PROMPT,
    ENV_HARD_EVENT_CAP,
    ENV_LANGUAGE,
    ENV_LONG_TERM_ENABLED,
    ENV_MODEL_API_KEY,
    ENV_MODEL_BASE_URL,
    ENV_MODEL_INPUT_USD,
    ENV_MODEL_OUTPUT_USD,
    ENV_MODEL_PROVIDER,
    ENV_MODEL_TOKENS_PER_RUN,
    ENV_MODEL_USD_PER_RUN,
    ENV_OIDC_AUDIENCE,
    ENV_OIDC_AUTHORIZATION_URL,
    ENV_OIDC_CLIENT_ID,
    ENV_OIDC_ISSUER,
    ENV_OIDC_JWKS_URL,
    ENV_OIDC_NAMESPACE,
    ENV_OIDC_REDIRECT_URIS,
    ENV_OIDC_SCOPES,
    ENV_OIDC_TOKEN_URL,
    ENV_PREFIX,
    ENV_PUBLIC_URL,
    ENV_REQUIRE_AGENT_IDENTITY,
    ENV_REQUIRE_PRINCIPAL,
    ENV_ROLLING_SUMMARY,
    ENV_SCORE_THRESHOLD,
    ENV_SUMMARIZATION_MODEL,
    ENV_SUMMARIZATION_SYSTEM_PROMPT,
    ENV_TOKEN_BUDGET,
    ENV_URL,
    ERASURE_PREFIX,
    HEAD_NAME,
    HISTORY_FOLDER,
    INDEX_FOLDER,
    KIND_FOLDERS,
    LEFTOVER_FOLDERS,
    LOG_FOLDER,
    MCP_PATH,
    MEMORY_PREFIX,
    MODEL_PACKAGE,
    NAMESPACE_MARKER_PREFIX,
    OBJECT_SUFFIX,
    OPEN_SUFFIX,
    REGISTRATION_PATH,
    ROUND_PREFIX,
    SEGMENT_FOLDER,
    SEGMENT_SUFFIX,
    SESSION_PREFIX,
    TOKEN_PREFIX,
    TOMBSTONE_FOLDER,
    TURNS_SUFFIX,
    VECTOR_FOLDER,
    WELL_KNOWN_PREFIX,
    WINDOW_FOLDER,
)

__all__ = [
    "ATTRIBUTION_NAME",
    "BATCH_FOLDER",
    "CLAIM_FOLDER",
    "CONSOLIDATION_FOLDER",
    "ENV_ALLOWED_HOSTS",
    "ENV_ALLOWED_ORIGINS",
    "ENV_COMPACTION_TARGET",
    "ENV_COMPACTION_TRIGGER",
    "ENV_DEFAULT_FAILURE_MODE",
    "ENV_DEFAULT_TOP_K",
    "ENV_DIGEST_RETENTION",
    "ENV_EMBEDDINGS",
    "ENV_EXTRACTION_SYSTEM_PROMPT",
    "ENV_HARD_EVENT_CAP",
    "ENV_LANGUAGE",
    "ENV_LONG_TERM_ENABLED",
    "ENV_MODEL_API_KEY",
    "ENV_MODEL_BASE_URL",
    "ENV_MODEL_INPUT_USD",
    "ENV_MODEL_OUTPUT_USD",
    "ENV_MODEL_PROVIDER",
    "ENV_MODEL_TOKENS_PER_RUN",
    "ENV_MODEL_USD_PER_RUN",
    "ENV_OIDC_AUDIENCE",
    "ENV_OIDC_AUTHORIZATION_URL",
    "ENV_OIDC_CLIENT_ID",
    "ENV_OIDC_ISSUER",
    "ENV_OIDC_JWKS_URL",
    "ENV_OIDC_NAMESPACE",
    "ENV_OIDC_REDIRECT_URIS",
    "ENV_OIDC_SCOPES",
    "ENV_OIDC_TOKEN_URL",
    "ENV_PREFIX",
    "ENV_PUBLIC_URL",
    "ENV_REQUIRE_AGENT_IDENTITY",
    "ENV_REQUIRE_PRINCIPAL",
    "ENV_ROLLING_SUMMARY",
    "ENV_SCORE_THRESHOLD",
    "ENV_SUMMARIZATION_MODEL",
    "ENV_SUMMARIZATION_SYSTEM_PROMPT",
    "ENV_TOKEN_BUDGET",
    "ENV_URL",
    "ERASURE_PREFIX",
    "HEAD_NAME",
    "HISTORY_FOLDER",
    "INDEX_FOLDER",
    "KIND_FOLDERS",
    "LEFTOVER_FOLDERS",
    "LOG_FOLDER",
    "MCP_PATH",
    "MEMORY_PREFIX",
    "MODEL_PACKAGE",
    "NAMESPACE_MARKER_PREFIX",
    "OBJECT_SUFFIX",
    "OPEN_SUFFIX",
    "REGISTRATION_PATH",
    "ROUND_PREFIX",
    "SEGMENT_FOLDER",
    "SEGMENT_SUFFIX",
    "SESSION_PREFIX",
    "TOKEN_PREFIX",
    "TOMBSTONE_FOLDER",
    "TURNS_SUFFIX",
    "VECTOR_FOLDER",
    "WELL_KNOWN_PREFIX",
    "WINDOW_FOLDER",
]

# Outputs of the stack -------------------------------------------------------------------------------------------------
API_URL: Final = "ApiUrl"
API_ENDPOINT: Final = "ApiEndpoint"
MCP_URL: Final = "McpUrl"
BUCKET_NAME: Final = "BucketName"
STORE_URL: Final = "StoreUrl"
# After the name of the function whose messages they are.
DEAD_LETTER_QUEUE_URL: Final = "DeadLetterQueueUrl"
DASHBOARD_NAME: Final = "DashboardName"
CUSTOM_DOMAIN_TARGET: Final = "CustomDomainTarget"
USER_POOL_ID: Final = "UserPoolId"
OAUTH_CLIENT_ID: Final = "OAuthClientId"

# Metrics --------------------------------------------------------------------------------------------------------------
METRIC_NAMESPACE: Final = "S3AgentMemory"
# Made of the access log.
RECALL_METRIC: Final = "RecallLatency"
REMEMBER_METRIC: Final = "RememberLatency"
# Sent by the indexer.
LOG_LENGTH_METRIC: Final = "LogEntries"
INDEX_LAG_METRIC: Final = "IndexLag"

# A function's code --------------------------------------------------------------------------------------------------
HANDLER: Final = "handler.lambda_handler"
ALIAS: Final = "live"
