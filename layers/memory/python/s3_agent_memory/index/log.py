"""Log entries: one small object per mutation, written before the mutation is acknowledged.

An entry makes a write visible to the next recall before any indexer ran. It only says "look at this id": a fold reads
the object again. It holds hashes of terms and the vectors of the text, never text.
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
from s3_agent_memory.domain.validity import MemoryVersion
from s3_agent_memory.errors import CorruptError, ValidationError
from s3_agent_memory.index.manifest import MODEL_LENGTH_MAX
from s3_agent_memory.index.row import Row
from s3_agent_memory.index.vectors.layout import DIMENSION_MAX
from s3_agent_memory.index.vectors.shard import KeyedVectors

SCHEMA_VERSION: Final = 2
# A memory of 16 KiB text, 256 filter values and a vector for each of its windows stays far below this.
ENTRY_BYTES_MAX: Final = 512 * 1024
WINDOW_COUNT_MAX: Final = 64
_INT64_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class EntryVectors:
    """The vectors of one text, and the model they come from."""

    model: str
    keyed: KeyedVectors


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One acknowledged mutation.

    Attributes:
        row: the index row it stands for.
        analyzer_signature: the text analysis its terms came from.
        vectors: of the row's text, if its writer had an embedder; they bear the row's ``text_key``.
    """

    row: Row
    analyzer_signature: str
    vectors: EntryVectors | None = None


def encode_entry(entry: LogEntry) -> bytes:
    """Return the bytes of a log entry: about 300, 12 more for each distinct term and 4 for 3 numbers of a vector."""
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
            "session": row.session,
            "sequence": row.sequence,
            "flags": row.flags,
            "text_key": row.text_key,
            "analyzer": entry.analyzer_signature,
            "terms": _packed(hashes.tobytes() + frequencies.tobytes()),
            **_encode_validity(row),
            **({} if entry.vectors is None else {"vectors": _encode_vectors(entry.vectors)}),
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
            raise ValidationError(f"not a log entry of schema {SCHEMA_VERSION}")
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
            session=_check_integer(document.get("session"), 2**64 - 1),
            sequence=_check_integer(document.get("sequence"), 2**64 - 1),
            flags=_check_integer(document.get("flags"), 2**8 - 1),
            text_key=_check_integer(document.get("text_key"), 2**64 - 1),
            valid_from_us=_check_moment(document.get("valid_from_us")),
            valid_to_us=_check_moment(document.get("valid_to_us")),
            supersedes=_decode_named(document.get("supersedes")),
            consolidated_from=_decode_named(document.get("consolidated_from")),
            terms=_decode_terms(document.get("terms")),
        )
        vectors = document.get("vectors")
        return LogEntry(
            row,
            str(document.get("analyzer")),
            None if vectors is None else _decode_vectors(vectors, row.text_key),
        )
    except ValidationError as error:
        raise CorruptError(f"{key} holds no readable log entry: {error}", key=key) from error


def _check_integer(value: object, maximum: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
        raise ValidationError("a number is missing or out of range")
    return value


def _encode_validity(row: Row) -> dict[str, object]:
    """Return what the row says of when it is true and what it names; nothing if it says nothing."""
    moments = {"valid_from_us": row.valid_from_us, "valid_to_us": row.valid_to_us}
    named = {"supersedes": row.supersedes, "consolidated_from": row.consolidated_from}
    return {
        **{name: moment for name, moment in moments.items() if moment is not None},
        **{name: [[item.id, item.version] for item in items] for name, items in named.items() if items},
    }


def _check_moment(value: object) -> int | None:
    return None if value is None else _check_integer(value, _INT64_MAX)


def _decode_named(value: object) -> tuple[MemoryVersion, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, list) and len(item) == 2 for item in value):
        raise ValidationError("the named versions are no pairs")
    return tuple(MemoryVersion(check_id(memory_id), check_version(version)) for memory_id, version in value)


def _decode_terms(value: object) -> dict[int, int]:
    packed = _unpacked(value, "terms")
    count, rest = divmod(len(packed), 9)
    if rest:
        raise ValidationError("the terms are cut")
    hashes = np.frombuffer(packed, dtype="<u8", count=count)
    frequencies = np.frombuffer(packed, dtype="u1", offset=8 * count)
    if not frequencies.all():
        raise ValidationError("a term has the frequency 0")
    return dict(zip(hashes.tolist(), frequencies.tolist(), strict=True))


def _encode_vectors(vectors: EntryVectors) -> dict[str, str]:
    return {
        "model": vectors.model,
        "scales": _packed(vectors.keyed.scales.astype("<f4").tobytes()),
        "codes": _packed(vectors.keyed.codes.tobytes()),
    }


def _decode_vectors(value: object, text_key: int) -> EntryVectors:
    if not isinstance(value, dict) or not text_key:
        raise ValidationError("the vectors are no object, or of no text")
    model, packed_scales = value.get("model"), _unpacked(value.get("scales"), "scales")
    if not isinstance(model, str) or not 1 <= len(model) <= MODEL_LENGTH_MAX:
        raise ValidationError("the vectors name no model")
    count, rest = divmod(len(packed_scales), 4)
    if rest or not 1 <= count <= WINDOW_COUNT_MAX:
        raise ValidationError("the scales are cut, missing or too many")
    scales = np.frombuffer(packed_scales, dtype="<f4").astype(np.float32)
    codes = np.frombuffer(_unpacked(value.get("codes"), "codes"), dtype=np.int8)
    dimension, rest = divmod(len(codes), count)
    if rest or not 1 <= dimension <= DIMENSION_MAX or not ((scales >= 0) & (scales <= 1)).all():
        raise ValidationError("the codes do not fit the scales, or a scale is out of range")
    return EntryVectors(model, KeyedVectors(text_key=text_key, codes=codes.reshape(count, dimension), scales=scales))


def _packed(body: bytes) -> str:
    return base64.b64encode(body).decode()


def _unpacked(value: object, what: str) -> bytes:
    try:
        return base64.b64decode(value if isinstance(value, str) else "!", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValidationError(f"the {what} are not base64") from error
