"""Log entries: one small object per mutation, written before the mutation is acknowledged.

An entry makes a write visible to the next recall before any indexer ran. It only says "look at this id": a fold reads
the object again. It holds hashes of terms, never text.
"""

import base64
import binascii
from dataclasses import dataclass
from typing import Final

import numpy as np

from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.domain.kinds import check_kind
from s3_agent_memory.domain.memory import check_importance, check_version
from s3_agent_memory.errors import CorruptError, ValidationError
from s3_agent_memory.index.row import Row

SCHEMA_VERSION: Final = 1
# A memory of 16 KiB text and 256 filter values stays far below this.
ENTRY_BYTES_MAX: Final = 512 * 1024
_INT64_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One acknowledged mutation: the index row it stands for, and the text analysis its terms came from."""

    row: Row
    analyzer_signature: str


def encode_entry(entry: LogEntry) -> bytes:
    """Return the bytes of a log entry: about 200 bytes and 12 more for each distinct term."""
    row = entry.row
    hashes = np.fromiter(row.terms.keys(), dtype="<u8", count=len(row.terms))
    frequencies = np.fromiter(row.terms.values(), dtype="u1", count=len(row.terms))
    return encode_json(
        {
            "schema": SCHEMA_VERSION,
            "id": row.id,
            "kind": row.kind.value,
            "version": row.version,
            "deleted": row.is_deleted,
            "etag_hash": row.etag_hash,
            "created_us": row.created_us,
            "updated_us": row.updated_us,
            "expires_us": row.expires_us,
            "importance": row.importance,
            "length": row.length,
            "analyzer": entry.analyzer_signature,
            "terms": base64.b64encode(hashes.tobytes() + frequencies.tobytes()).decode(),
        }
    )


def decode_entry(body: bytes, key: str) -> LogEntry:
    """Return the log entry stored in ``body``.

    Raises:
        CorruptError: the bytes are no log entry.
    """
    try:
        document = decode_json(body)
        if not isinstance(document, dict) or document.get("schema") != SCHEMA_VERSION:
            raise ValidationError("not a log entry of schema 1")
        row = Row(
            id=check_id(document.get("id")),
            kind=check_kind(document.get("kind")),
            version=check_version(document.get("version")),
            is_deleted=document.get("deleted") is True,
            etag_hash=_check_integer(document.get("etag_hash"), 2**64 - 1),
            created_us=_check_integer(document.get("created_us"), _INT64_MAX),
            updated_us=_check_integer(document.get("updated_us"), _INT64_MAX),
            expires_us=_check_integer(document.get("expires_us"), _INT64_MAX),
            importance=check_importance(document.get("importance")),
            length=_check_integer(document.get("length"), 2**32 - 1),
            terms=_decode_terms(document.get("terms")),
        )
        return LogEntry(row, str(document.get("analyzer")))
    except ValidationError as error:
        raise CorruptError(f"{key} holds no readable log entry: {error}", key=key) from error


def _check_integer(value: object, maximum: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
        raise ValidationError("a number is missing or out of range")
    return value


def _decode_terms(value: object) -> dict[int, int]:
    try:
        packed = base64.b64decode(value if isinstance(value, str) else "!", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValidationError("the terms are not base64") from error
    count, rest = divmod(len(packed), 9)
    if rest:
        raise ValidationError("the terms are cut")
    hashes = np.frombuffer(packed, dtype="<u8", count=count)
    frequencies = np.frombuffer(packed, dtype="u1", offset=8 * count)
    if not frequencies.all():
        raise ValidationError("a term has the frequency 0")
    return dict(zip(hashes.tolist(), frequencies.tolist(), strict=True))
