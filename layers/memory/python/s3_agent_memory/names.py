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

DEFAULT_URL: Final = "file://./.agent-memory"
DEFAULT_NAMESPACE: Final = "default"
DEFAULT_LANGUAGE: Final = "english"

# Prefixes below the root of a store: one a concern, so that event filters never overlap -------------------------------
MEMORY_PREFIX: Final = "memory/"
AUTH_PREFIX: Final = "auth/"
TOKEN_PREFIX: Final = AUTH_PREFIX + "tokens/"
NAMESPACE_MARKER_PREFIX: Final = MEMORY_PREFIX + "_namespaces/"

# Folders below a namespace --------------------------------------------------------------------------------------------
TOMBSTONE_FOLDER: Final = "_tombstones"
CLAIM_FOLDER: Final = "_ids"
INDEX_FOLDER: Final = "_index"
HEAD_NAME: Final = INDEX_FOLDER + "/HEAD"
LOG_FOLDER: Final = INDEX_FOLDER + "/log"
SEGMENT_FOLDER: Final = INDEX_FOLDER + "/segments"
VECTOR_FOLDER: Final = INDEX_FOLDER + "/vectors"

OBJECT_SUFFIX: Final = ".json"
SEGMENT_SUFFIX: Final = ".seg"
VECTOR_SUFFIX: Final = ".vec"
