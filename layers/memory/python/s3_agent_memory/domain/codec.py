"""Stored forms of memories, tombstones and claims: JSON that a person can read.

A plain memory is exactly the object of schema 1; fields beyond it are written only when they are set.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.domain.keys import TruthKey, parse_namespace
from s3_agent_memory.domain.kinds import Kind, check_kind
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.memory import Attribution, Memory, check_memory, check_version
from s3_agent_memory.domain.timestamps import format_timestamp, parse_timestamp
from s3_agent_memory.domain.validity import named_from_json, named_to_json
from s3_agent_memory.errors import CorruptError, ValidationError

SCHEMA_VERSION: Final = 1
MEMORY_FIELDS: Final = (
    "schema",
    "id",
    "namespace",
    "kind",
    "content",
    "source",
    "importance",
    "tags",
    "created_at",
    "updated_at",
    "expires_at",
    "data",
    "metadata",
    "version",
    "attribution",
    "valid_from",
    "valid_to",
    "supersedes",
    "consolidated_from",
    "pinned",
)

# What is stored was within the limits of its day; a later, lower limit must not make it unreadable.
_UNLIMITED: Final = Limits(
    content_bytes_max=2**30,
    data_bytes_max=2**30,
    metadata_bytes_max=2**30,
    tag_count_max=2**30,
    tag_length_max=2**30,
    label_length_max=2**30,
    named_version_count_max=2**30,
)


def memory_to_json(memory: Memory) -> dict[str, object]:
    """Return a memory as the JSON object of schema 1, in the order of the specification."""
    document: dict[str, object] = {
        "schema": SCHEMA_VERSION,
        "id": memory.id,
        "namespace": list(memory.namespace),
        "kind": memory.kind.value,
        "content": memory.content,
        "source": memory.source,
        "importance": memory.importance,
        "tags": list(memory.tags),
        "created_at": format_timestamp(memory.created_at),
        "updated_at": format_timestamp(memory.updated_at),
        "expires_at": None if memory.expires_at is None else format_timestamp(memory.expires_at),
        "data": memory.data,
        "metadata": memory.metadata,
        "version": memory.version,
    }
    if not memory.attribution.is_empty():
        values = {item.name: getattr(memory.attribution, item.name) for item in fields(Attribution)}
        document["attribution"] = {name: value for name, value in values.items() if value is not None}
    return document | _validity_to_json(memory)


def _validity_to_json(memory: Memory) -> dict[str, object]:
    moments = {"valid_from": memory.valid_from, "valid_to": memory.valid_to}
    named = {"supersedes": memory.supersedes, "consolidated_from": memory.consolidated_from}
    return {
        **{name: format_timestamp(moment) for name, moment in moments.items() if moment is not None},
        **{name: named_to_json(versions) for name, versions in named.items() if versions},
        **({"pinned": True} if memory.pinned else {}),
    }


def memory_from_json(document: object) -> Memory:
    """Return the memory that a JSON object of schema 1 describes; unknown fields are ignored.

    Raises:
        ValidationError: a required field is missing, or a field has the wrong type.
    """
    if not isinstance(document, Mapping):
        raise ValidationError("a memory must be a JSON object")
    schema = document.get("schema", SCHEMA_VERSION)
    if type(schema) is not int or schema != SCHEMA_VERSION:
        raise ValidationError(f"schema must be {SCHEMA_VERSION}")
    missing = [name for name in ("id", "namespace", "kind", "content", "created_at") if name not in document]
    if missing:
        raise ValidationError("a memory needs the fields: " + ", ".join(missing))
    created_at = parse_timestamp(document["created_at"], field="created_at")
    updated_at = document.get("updated_at")
    expires_at = document.get("expires_at")
    metadata = document.get("metadata")
    # check_memory narrows every field that is passed on as it came.
    return check_memory(
        Memory(
            id=document["id"],
            namespace=parse_namespace(document["namespace"]),
            kind=document["kind"],
            content=document["content"],
            source=document.get("source"),
            importance=document.get("importance", 0.5),
            tags=document.get("tags", ()),
            created_at=created_at,
            updated_at=created_at if updated_at is None else parse_timestamp(updated_at, field="updated_at"),
            expires_at=None if expires_at is None else parse_timestamp(expires_at, field="expires_at"),
            data=document.get("data"),
            metadata={} if metadata is None else metadata,
            version=document.get("version", 1),
            attribution=_attribution_from_json(document.get("attribution")),
            valid_from=document.get("valid_from"),
            valid_to=document.get("valid_to"),
            supersedes=named_from_json(document.get("supersedes"), field="supersedes"),
            consolidated_from=named_from_json(document.get("consolidated_from"), field="consolidated_from"),
            pinned=document.get("pinned", False),
        ),
        _UNLIMITED,
    )


def _attribution_from_json(document: object) -> Attribution:
    if document is None:
        return Attribution()
    if not isinstance(document, Mapping):
        raise ValidationError("attribution must be a JSON object")
    return Attribution(**{item.name: document.get(item.name) for item in fields(Attribution)})


def encode_memory(memory: Memory) -> bytes:
    """Return the bytes stored for a memory.

    Raises:
        ValidationError: a text is not valid Unicode.
    """
    return encode_json(memory_to_json(memory))


def decode_memory(body: bytes, key: str, expected: TruthKey) -> Memory:
    """Return the memory stored in ``body``.

    Args:
        key: where the bytes were found.
        expected: what ``key`` says must lie there.

    Raises:
        CorruptError: the bytes are no memory, or a memory that belongs under another key.
    """
    try:
        memory = memory_from_json(decode_json(body))
    except ValidationError as error:
        raise CorruptError(f"{key} holds no readable memory: {error}", key=key) from error
    if (memory.namespace, memory.kind, memory.id) != (expected.namespace, expected.kind, expected.memory_id):
        raise CorruptError(f"{key} holds a memory that belongs under another key", key=key)
    return memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """Says that an id is forgotten up to a version; holds no content and is kept for ever.

    Attributes:
        deletes_version: objects of this id up to this version are dead; only ever rises.
        nonce: by which a writer recognises its own tombstone.
    """

    id: str
    kind: Kind
    deletes_version: int
    forgotten_at: str
    reason: str | None
    nonce: str


def encode_tombstone(tombstone: Tombstone) -> bytes:
    """Return the bytes stored for a tombstone."""
    return encode_json(
        {
            "schema": SCHEMA_VERSION,
            "id": tombstone.id,
            "kind": tombstone.kind.value,
            "deletes_version": tombstone.deletes_version,
            "forgotten_at": tombstone.forgotten_at,
            "reason": tombstone.reason,
            "nonce": tombstone.nonce,
        }
    )


def decode_tombstone(body: bytes, key: str) -> Tombstone:
    """Return the tombstone stored in ``body``.

    Raises:
        CorruptError: the bytes are no tombstone.
    """
    try:
        document = decode_json(body)
        if not isinstance(document, dict) or document.get("schema") != SCHEMA_VERSION:
            raise ValidationError("not a tombstone of schema 1")
        reason = document.get("reason")
        forgotten_at = parse_timestamp(document.get("forgotten_at"), field="forgotten_at")
        return Tombstone(
            id=check_id(document.get("id")),
            kind=check_kind(document.get("kind")),
            deletes_version=check_version(document.get("deletes_version")),
            forgotten_at=format_timestamp(forgotten_at),
            reason=reason if isinstance(reason, str) else None,
            nonce=str(document.get("nonce")),
        )
    except ValidationError as error:
        raise CorruptError(f"{key} holds no readable tombstone: {error}", key=key) from error


def encode_claim(kind: Kind) -> bytes:
    """Return the bytes of a claim: a caller-chosen id stays with its kind for ever."""
    return encode_json({"schema": SCHEMA_VERSION, "kind": kind.value})


def decode_claim(body: bytes, key: str) -> Kind:
    """Return the kind a claim binds its id to.

    Raises:
        CorruptError: the bytes are no claim.
    """
    try:
        document = decode_json(body)
        return check_kind(document.get("kind") if isinstance(document, dict) else None)
    except ValidationError as error:
        raise CorruptError(f"{key} holds no readable claim: {error}", key=key) from error
