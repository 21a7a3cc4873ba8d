"""Where a store lies and how it is opened."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from s3_agent_memory import names


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where a store lies and how it is opened.

    Attributes:
        url: ``s3://bucket/prefix``, ``file://directory``, ``memory://`` (fresh) or ``memory://name`` (one a process).
        namespace: the namespace of commands that name none.
        endpoint_url, region: of S3; None leaves them to boto3.
        sse, kms_key_id: server-side encryption of each object: AES256, aws:kms or aws:kms:dsse.
        language: whose words are stemmed in new indexes, as Snowball names it.
        embeddings: what turns texts into vectors: ``none``, ``onnx``, ``fastembed`` or ``sentence-transformers``.
        memory_mb: of the process, where it is limited; index files may take half of it.
        embedding_model: a model's name in those libraries, its directory for ``onnx``; None means the usual one.
    """

    url: str = names.DEFAULT_URL
    namespace: str = names.DEFAULT_NAMESPACE
    endpoint_url: str | None = None
    region: str | None = None
    sse: str | None = None
    kms_key_id: str | None = None
    language: str = names.DEFAULT_LANGUAGE
    embeddings: str = names.DEFAULT_EMBEDDINGS
    embedding_model: str | None = None
    memory_mb: int | None = None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Return the settings that the environment variables of ``names`` describe."""
        return cls(
            url=environ.get(names.ENV_URL) or names.DEFAULT_URL,
            namespace=environ.get(names.ENV_NAMESPACE) or names.DEFAULT_NAMESPACE,
            endpoint_url=environ.get(names.ENV_ENDPOINT_URL) or None,
            region=environ.get(names.ENV_REGION) or None,
            sse=environ.get(names.ENV_SSE) or None,
            kms_key_id=environ.get(names.ENV_KMS_KEY_ID) or None,
            language=environ.get(names.ENV_LANGUAGE) or names.DEFAULT_LANGUAGE,
            embeddings=environ.get(names.ENV_EMBEDDINGS) or names.DEFAULT_EMBEDDINGS,
            embedding_model=environ.get(names.ENV_EMBEDDING_MODEL) or None,
            memory_mb=_whole_number(environ.get(names.ENV_FUNCTION_MEMORY_MB)),
        )


def _whole_number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() else None
