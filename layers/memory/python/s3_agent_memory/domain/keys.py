"""Namespaces and object keys: the only place that knows where things lie below the root of a store."""

import re
from dataclasses import dataclass
from typing import Final, NewType

from s3_agent_memory import names
from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import ValidationError

Namespace = NewType("Namespace", tuple[str, ...])

SEGMENT_COUNT_MAX: Final = 8
SEGMENT_LENGTH_MAX: Final = 128
# The marker of a namespace is one file name, and file names have at most 255 bytes.
NAMESPACE_LENGTH_MAX: Final = 240
_SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}")
_RESERVED = frozenset(kind.value for kind in Kind)
_ALLOWED = (
    "namespace must be 1 to 8 segments joined by '/', each 1 to 128 characters out of A-Z a-z 0-9 . _ @ + - that start "
    "with a letter or digit and do not end with '.', none of them semantic, episodic or procedural, "
    "240 characters in all"
)
# "~" cannot occur in a segment, so the encoding is unique and keeps the order of names readable in a listing.
_MARKER_SEPARATOR = "~"


def parse_namespace(value: object) -> Namespace:
    """Return the namespace written as ``users/alice`` or given as a sequence of segments.

    Raises:
        ValidationError: the message says what is allowed.

    Example:
        >>> parse_namespace("users/alice")
        ('users', 'alice')
    """
    if isinstance(value, str):
        segments = tuple(value.split("/"))
    elif isinstance(value, (tuple, list)) and all(isinstance(segment, str) for segment in value):
        segments = tuple(value)
    else:
        raise ValidationError(_ALLOWED)
    is_well_sized = (
        1 <= len(segments) <= SEGMENT_COUNT_MAX and len(_MARKER_SEPARATOR.join(segments)) <= NAMESPACE_LENGTH_MAX
    )
    if not is_well_sized or not all(_is_segment(segment) for segment in segments):
        raise ValidationError(_ALLOWED)
    return Namespace(segments)


def _is_segment(segment: str) -> bool:
    return bool(_SEGMENT.fullmatch(segment)) and segment not in _RESERVED and not segment.endswith(".")


def format_namespace(namespace: Namespace) -> str:
    """Return the namespace as ``users/alice``."""
    return "/".join(namespace)


def namespace_prefix(namespace: Namespace) -> str:
    """Return the key prefix of everything that belongs to a namespace (and of the namespaces below it)."""
    return f"{names.MEMORY_PREFIX}{format_namespace(namespace)}/"


def memory_prefix(namespace: Namespace, kind: Kind) -> str:
    """Return the key prefix of the memories of one kind."""
    return f"{namespace_prefix(namespace)}{kind}/"


def memory_key(namespace: Namespace, kind: Kind, memory_id: str) -> str:
    """Return the key of a memory object."""
    return f"{memory_prefix(namespace, kind)}{memory_id}{names.OBJECT_SUFFIX}"


def tombstone_prefix(namespace: Namespace) -> str:
    """Return the key prefix of the tombstones."""
    return f"{namespace_prefix(namespace)}{names.TOMBSTONE_FOLDER}/"


def tombstone_key(namespace: Namespace, memory_id: str) -> str:
    """Return the key of the tombstone of an id."""
    return f"{tombstone_prefix(namespace)}{memory_id}{names.OBJECT_SUFFIX}"


def claim_key(namespace: Namespace, memory_id: str) -> str:
    """Return the key of the claim that binds a caller-chosen id to its kind for ever."""
    return f"{namespace_prefix(namespace)}{names.CLAIM_FOLDER}/{memory_id}"


def consolidation_prefix(namespace: Namespace) -> str:
    """Return the key prefix of the records of consolidations."""
    return f"{namespace_prefix(namespace)}{names.CONSOLIDATION_FOLDER}/"


def consolidation_key(namespace: Namespace, run_id: str) -> str:
    """Return the key of the record of one consolidation."""
    return f"{consolidation_prefix(namespace)}{run_id}{names.OBJECT_SUFFIX}"


def history_prefix(namespace: Namespace) -> str:
    """Return the key prefix of earlier versions of all memories."""
    return f"{namespace_prefix(namespace)}{names.HISTORY_FOLDER}/"


def versions_prefix(namespace: Namespace, memory_id: str) -> str:
    """Return the key prefix of earlier versions of one memory."""
    return f"{history_prefix(namespace)}{memory_id}/"


def version_key(namespace: Namespace, memory_id: str, version: int) -> str:
    """Return the key of an earlier version of a memory; keys are in the order of versions.

    It does not end like the objects that wake an indexer.
    """
    return f"{versions_prefix(namespace, memory_id)}{version:016d}"


def index_prefix(namespace: Namespace) -> str:
    """Return the key prefix of the index of a namespace, a cache that may be deleted as a whole."""
    return f"{namespace_prefix(namespace)}{names.INDEX_FOLDER}/"


def head_key(namespace: Namespace) -> str:
    """Return the key of the manifest."""
    return f"{namespace_prefix(namespace)}{names.HEAD_NAME}"


def log_prefix(namespace: Namespace) -> str:
    """Return the key prefix of the log entries."""
    return f"{namespace_prefix(namespace)}{names.LOG_FOLDER}/"


def segment_prefix(namespace: Namespace) -> str:
    """Return the key prefix of the segments."""
    return f"{namespace_prefix(namespace)}{names.SEGMENT_FOLDER}/"


def segment_key(namespace: Namespace, segment_id: str) -> str:
    """Return the key of a segment."""
    return f"{segment_prefix(namespace)}{segment_id}{names.SEGMENT_SUFFIX}"


def vector_prefix(namespace: Namespace) -> str:
    """Return the key prefix of the vector shards."""
    return f"{namespace_prefix(namespace)}{names.VECTOR_FOLDER}/"


def vector_key(namespace: Namespace, shard_id: str) -> str:
    """Return the key of a vector shard."""
    return f"{vector_prefix(namespace)}{shard_id}{names.VECTOR_SUFFIX}"


def marker_key(namespace: Namespace) -> str:
    """Return the key of the marker by which schedules find a namespace."""
    return names.NAMESPACE_MARKER_PREFIX + _MARKER_SEPARATOR.join(namespace)


def parse_marker_key(key: str) -> Namespace | None:
    """Return the namespace a marker stands for, or None if the key is no marker."""
    if not key.startswith(names.NAMESPACE_MARKER_PREFIX):
        return None
    try:
        return parse_namespace(key.removeprefix(names.NAMESPACE_MARKER_PREFIX).split(_MARKER_SEPARATOR))
    except ValidationError:
        return None


@dataclass(frozen=True, slots=True)
class TruthKey:
    """A key under which truth lies: a memory object (``kind`` set) or a tombstone (``kind`` None)."""

    namespace: Namespace
    kind: Kind | None
    memory_id: str


def parse_truth_key(key: str) -> TruthKey | None:
    """Return what a key says if a memory object or a tombstone lies there, else None.

    Example:
        >>> parse_truth_key("memory/users/alice/semantic/units.json").memory_id
        'units'
    """
    if not key.startswith(names.MEMORY_PREFIX) or not key.endswith(names.OBJECT_SUFFIX):
        return None
    *segments, folder, name = key.removeprefix(names.MEMORY_PREFIX).split("/")
    if folder != names.TOMBSTONE_FOLDER and folder not in _RESERVED:
        return None
    try:
        kind = None if folder == names.TOMBSTONE_FOLDER else Kind(folder)
        return TruthKey(parse_namespace(segments), kind, check_id(name.removesuffix(names.OBJECT_SUFFIX)))
    except ValidationError:
        return None


def parse_segment_key(key: str) -> Namespace | None:
    """Return whose index a segment belongs to, or None if the key is that of no segment.

    Example:
        >>> parse_segment_key("memory/users/alice/_index/segments/1.seg")
        ('users', 'alice')
    """
    folder = f"/{names.SEGMENT_FOLDER}/"
    path, _, name = key.removeprefix(names.MEMORY_PREFIX).rpartition(folder)
    if not key.startswith(names.MEMORY_PREFIX) or not name.endswith(names.SEGMENT_SUFFIX) or "/" in name:
        return None
    try:
        return parse_namespace(path)
    except ValidationError:
        return None
