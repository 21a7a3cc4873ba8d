"""A memory of mem0 as a line of an import.

Whose it is becomes the attribution (``run_id`` is the session), ``categories`` become tags, ``metadata`` stays what it
is, and every other field is kept below ``data.mem0``.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final

from s3_agent_memory.domain.ids import ID_LENGTH_MAX, check_id
from s3_agent_memory.domain.json_values import encode_json
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.service.migration.ids import id_of

_SOURCE: Final = "mem0"
_METADATA_BYTES_MAX: Final = 4 * 1024
# Fields of an entry that have a place of their own; ``input`` repeats the conversation and is not the memory.
_PLACED: Final = frozenset(
    {"id", "memory", "text", "created_at", "updated_at", "user_id", "agent_id", "run_id", "actor_id", "metadata"}
    | {"categories", "expiration_date", "score", "input"}
)
_ATTRIBUTION: Final[Mapping[str, str]] = {
    "user_id": "user_id",
    "agent_id": "agent_id",
    "session_id": "run_id",
    "author": "actor_id",
}


def mem0_line(entry: object) -> dict[str, object]:
    """Return the line for one entry.

    Raises:
        ValidationError: it is no memory of mem0.
    """
    if not isinstance(entry, Mapping):
        raise ValidationError("an entry must be a JSON object")
    content = entry.get("memory", entry.get("text"))
    if not isinstance(content, str) or not content.strip():
        raise ValidationError("an entry needs a text as memory")
    metadata, data = _objects(entry)
    line: dict[str, object] = {
        "id": _id(entry, content),
        "kind": _kind(metadata),
        "content": content,
        "source": _SOURCE,
        "tags": _tags(entry.get("categories")),
        "metadata": metadata,
        "data": data or None,
        "attribution": {ours: str(entry[theirs]) for ours, theirs in _ATTRIBUTION.items() if entry.get(theirs)},
        "expires_at": _expiry(entry.get("expiration_date")),
    }
    times = {name: entry[name] for name in ("created_at", "updated_at") if entry.get(name)}
    if "created_at" not in times and "updated_at" in times:
        times["created_at"] = times["updated_at"]
    return line | times


def _id(entry: Mapping[str, object], content: str) -> str:
    found = entry.get("id")
    if isinstance(found, str) and len(found) <= ID_LENGTH_MAX:
        try:
            return check_id(found)
        except ValidationError:
            return id_of(_SOURCE, found)
    owners = [entry.get(theirs) for theirs in _ATTRIBUTION.values()]
    return id_of(_SOURCE, "" if found is None else str(found), content, *map(str, owners))


def _kind(metadata: Mapping[str, object]) -> str:
    is_procedural = metadata.get("memory_type") == "procedural_memory"
    return (Kind.PROCEDURAL if is_procedural else Kind.SEMANTIC).value


def _objects(entry: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """Return metadata and data; metadata that is too large for its place goes to the data."""
    metadata = entry.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise ValidationError("metadata must be a JSON object")
    rest: dict[str, object] = {
        name: value for name, value in entry.items() if name not in _PLACED and value is not None
    }
    if len(encode_json(dict(metadata))) > _METADATA_BYTES_MAX:
        rest["metadata"], metadata = dict(metadata), {}
    return dict(metadata), {_SOURCE: rest} if rest else {}


def _tags(categories: object) -> list[str]:
    if not isinstance(categories, list):
        return []
    return [item.strip() for item in categories if isinstance(item, str) and item.strip()]


def _expiry(value: object) -> str | None:
    """Return when a memory expires: it lives to the end of its expiration date."""
    if value is None:
        return None
    try:
        last_day = date.fromisoformat(str(value)[:10])
        return f"{(last_day + timedelta(days=1)).isoformat()}T00:00:00Z"
    except (ValueError, OverflowError):
        raise ValidationError("expiration_date must be a date such as 2027-01-31") from None
