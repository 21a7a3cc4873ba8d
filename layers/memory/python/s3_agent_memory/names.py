"""Names that the library, the functions and the infrastructure share.

This module owns constants only and imports nothing, so that the infrastructure code can read it without loading
the library.
"""

from typing import Final

# Environment variables -----------------------------------------------------------------------------------------------
ENV_PREFIX: Final = "S3_AGENT_MEMORY_"
ENV_URL: Final = ENV_PREFIX + "URL"
ENV_NAMESPACE: Final = ENV_PREFIX + "NAMESPACE"
ENV_ENDPOINT_URL: Final = ENV_PREFIX + "ENDPOINT_URL"
ENV_REGION: Final = ENV_PREFIX + "REGION"
ENV_SSE: Final = ENV_PREFIX + "SSE"
ENV_KMS_KEY_ID: Final = ENV_PREFIX + "KMS_KEY_ID"
ENV_LANGUAGE: Final = ENV_PREFIX + "LANGUAGE"
ENV_EMBEDDINGS: Final = ENV_PREFIX + "EMBEDDINGS"
ENV_EMBEDDING_MODEL: Final = ENV_PREFIX + "EMBEDDING_MODEL"
# Lambda's own variable, the memory of the function.
ENV_FUNCTION_MEMORY_MB: Final = "AWS_LAMBDA_FUNCTION_MEMORY_SIZE"
ENV_PUBLIC_URL: Final = ENV_PREFIX + "PUBLIC_URL"
ENV_ALLOWED_HOSTS: Final = ENV_PREFIX + "ALLOWED_HOSTS"
ENV_ALLOWED_ORIGINS: Final = ENV_PREFIX + "ALLOWED_ORIGINS"
ENV_OIDC_ISSUER: Final = ENV_PREFIX + "OIDC_ISSUER"
ENV_OIDC_AUDIENCE: Final = ENV_PREFIX + "OIDC_AUDIENCE"
ENV_OIDC_JWKS_URL: Final = ENV_PREFIX + "OIDC_JWKS_URL"
ENV_OIDC_NAMESPACE: Final = ENV_PREFIX + "OIDC_NAMESPACE"
ENV_OIDC_SCOPES: Final = ENV_PREFIX + "OIDC_SCOPES"
ENV_OIDC_CLIENT_ID: Final = ENV_PREFIX + "OIDC_CLIENT_ID"
ENV_OIDC_AUTHORIZATION_URL: Final = ENV_PREFIX + "OIDC_AUTHORIZATION_URL"
ENV_OIDC_TOKEN_URL: Final = ENV_PREFIX + "OIDC_TOKEN_URL"
ENV_OIDC_REDIRECT_URIS: Final = ENV_PREFIX + "OIDC_REDIRECT_URIS"
ENV_MODEL_PROVIDER: Final = ENV_PREFIX + "MODEL_PROVIDER"
ENV_MODEL_BASE_URL: Final = ENV_PREFIX + "MODEL_BASE_URL"
ENV_MODEL_API_KEY: Final = ENV_PREFIX + "MODEL_API_KEY"
ENV_SUMMARIZATION_MODEL: Final = ENV_PREFIX + "SUMMARIZATION_MODEL"
ENV_EXTRACTION_SYSTEM_PROMPT: Final = ENV_PREFIX + "EXTRACTION_SYSTEM_PROMPT"
ENV_SUMMARIZATION_SYSTEM_PROMPT: Final = ENV_PREFIX + "SUMMARIZATION_SYSTEM_PROMPT"
ENV_MODEL_TOKENS_PER_RUN: Final = ENV_PREFIX + "MODEL_TOKENS_PER_RUN"
ENV_MODEL_USD_PER_RUN: Final = ENV_PREFIX + "MODEL_USD_PER_RUN"
ENV_MODEL_INPUT_USD: Final = ENV_PREFIX + "MODEL_INPUT_USD_PER_MILLION_TOKENS"
ENV_MODEL_OUTPUT_USD: Final = ENV_PREFIX + "MODEL_OUTPUT_USD_PER_MILLION_TOKENS"
ENV_OLLAMA_MODEL: Final = ENV_PREFIX + "OLLAMA_MODEL"
# Ollama's own variable, which its other programs read as well.
ENV_OLLAMA_HOST: Final = "OLLAMA_HOST"
ENV_TOKEN_BUDGET: Final = ENV_PREFIX + "TOKEN_BUDGET"
ENV_HARD_EVENT_CAP: Final = ENV_PREFIX + "HARD_EVENT_CAP"
ENV_COMPACTION_TRIGGER: Final = ENV_PREFIX + "COMPACTION_TRIGGER"
ENV_COMPACTION_TARGET: Final = ENV_PREFIX + "COMPACTION_TARGET"
ENV_ROLLING_SUMMARY: Final = ENV_PREFIX + "ROLLING_SUMMARY"
ENV_DIGEST_RETENTION: Final = ENV_PREFIX + "DIGEST_RETENTION"
ENV_REQUIRE_PRINCIPAL: Final = ENV_PREFIX + "REQUIRE_PRINCIPAL"
ENV_REQUIRE_AGENT_IDENTITY: Final = ENV_PREFIX + "REQUIRE_AGENT_IDENTITY"
ENV_DEFAULT_FAILURE_MODE: Final = ENV_PREFIX + "DEFAULT_FAILURE_MODE"
ENV_DEFAULT_TOP_K: Final = ENV_PREFIX + "DEFAULT_TOP_K"
ENV_SCORE_THRESHOLD: Final = ENV_PREFIX + "SCORE_THRESHOLD"
ENV_LONG_TERM_ENABLED: Final = ENV_PREFIX + "LONG_TERM_ENABLED"

# Paths of the MCP endpoint's function; all others belong to the HTTP API ----------------------------------------------
MCP_PATH: Final = "/mcp"
WELL_KNOWN_PREFIX: Final = "/.well-known/"
REGISTRATION_PATH: Final = "/register"

DEFAULT_URL: Final = "file://./.agent-memory"
DEFAULT_NAMESPACE: Final = "default"
DEFAULT_LANGUAGE: Final = "english"
EMBEDDINGS: Final = ("none", "onnx", "fastembed", "sentence-transformers")
DEFAULT_EMBEDDINGS: Final = EMBEDDINGS[0]
MODEL_PROVIDERS: Final = ("none", "openai", "ollama", "bedrock")
DEFAULT_MODEL_PROVIDER: Final = MODEL_PROVIDERS[0]
DEFAULT_OLLAMA_MODEL: Final = "llama3.2"
DEFAULT_OLLAMA_HOST: Final = "http://localhost:11434"
# Begins the block of memories that is put before a model; what follows it is never stored again.
RECALLED_HEADING: Final = "## Relevant memory"
# Where `make model` builds the model of the embedder "onnx".
DEFAULT_MODEL_DIRECTORY: Final = ".build/model"
# The package in which a deployment finds that model instead.
MODEL_PACKAGE: Final = "s3_agent_memory_model"

# Prefixes below the root of a store: one a concern, so that event filters never overlap -------------------------------
MEMORY_PREFIX: Final = "memory/"
SESSION_PREFIX: Final = "sessions/"
AUTH_PREFIX: Final = "auth/"
TOKEN_PREFIX: Final = AUTH_PREFIX + "tokens/"
NAMESPACE_MARKER_PREFIX: Final = MEMORY_PREFIX + "_namespaces/"
ROUND_PREFIX: Final = MEMORY_PREFIX + "_rounds/"
ERASURE_PREFIX: Final = MEMORY_PREFIX + "_erasures/"

# Folders below a namespace --------------------------------------------------------------------------------------------
KIND_FOLDERS: Final = ("semantic", "episodic", "procedural")
TOMBSTONE_FOLDER: Final = "_tombstones"
CLAIM_FOLDER: Final = "_ids"
HISTORY_FOLDER: Final = "_history"
CONSOLIDATION_FOLDER: Final = "_consolidations"
INDEX_FOLDER: Final = "_index"
HEAD_NAME: Final = INDEX_FOLDER + "/HEAD"
LOG_FOLDER: Final = INDEX_FOLDER + "/log"
SEGMENT_FOLDER: Final = INDEX_FOLDER + "/segments"
VECTOR_FOLDER: Final = INDEX_FOLDER + "/vectors"

# Folders of earlier contents and of reports, which an erasure of the namespace empties.
LEFTOVER_FOLDERS: Final = (CONSOLIDATION_FOLDER, HISTORY_FOLDER)

# Folders of conversations below a namespace ---------------------------------------------------------------------------
WINDOW_FOLDER: Final = "_windows"
BATCH_FOLDER: Final = "_batches"
ATTRIBUTION_NAME: Final = "_attribution/index.json"
TURNS_SUFFIX: Final = ".turns.json"
DIGEST_SUFFIX: Final = ".digest.json"
FACTS_SUFFIX: Final = ".facts.json"

OBJECT_SUFFIX: Final = ".json"
# Marks an erasure that is not finished yet, beside its record.
OPEN_SUFFIX: Final = ".open"
SEGMENT_SUFFIX: Final = ".seg"
VECTOR_SUFFIX: Final = ".vec"
