"""A memory, the unit of everything: its fields, their rules, and how it changes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Final

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.json_values import check_json_object
from s3_agent_memory.domain.keys import Namespace, memory_key, parse_namespace
from s3_agent_memory.domain.kinds import Kind, check_kind
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.timestamps import parse_timestamp
from s3_agent_memory.domain.validity import MemoryVersion, Moment, check_interval, check_moment, check_named_versions
from s3_agent_memory.errors import ValidationError

IMPORTANCE_DEFAULT: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Who a memory is about or from; set by the caller's code, never taken from text or metadata.

    Attributes:
        user_id, agent_id, session_id: identities that filters can select by.
        author: who said it, as a name or a role.
    """

    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    author: str | None = None

    def is_empty(self) -> bool:
        """Return True if nothing is set."""
        return all(getattr(self, item.name) is None for item in fields(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One memory (schema 1).

    Attributes:
        id: unique in its namespace across kinds.
        namespace: 1 to 8 segments; nothing is ever shared between two namespaces.
        kind: semantic, episodic or procedural.
        content: the text, never empty.
        source: where it came from, as the writer puts it.
        importance: 0 to 1, a prior that ranking uses.
        tags: short labels; a filter selects by them.
        created_at, updated_at: aware UTC datetimes; reading never changes them.
        expires_at: from then on the memory is never returned.
        data: any JSON object of the application, searchable by filter.
        metadata: small JSON object of the application; never identity.
        version: 1 for the first, one more with every update.
        attribution: who it is about or from.
        valid_from, valid_to: when it is true, half-open; see ``domain.validity``.
        supersedes: versions of other memories that are no longer true from the moment on that this one is.
        consolidated_from: versions of other memories that this one says all of; they are never returned beside it.
        pinned: True keeps it out of every consolidation.
    """

    id: str
    namespace: Namespace
    kind: Kind
    content: str
    source: str | None = None
    importance: float = IMPORTANCE_DEFAULT
    tags: tuple[str, ...] = ()
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    data: Mapping[str, object] | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    version: int = 1
    attribution: Attribution = Attribution()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    supersedes: tuple[MemoryVersion, ...] = ()
    consolidated_from: tuple[MemoryVersion, ...] = ()
    pinned: bool = False

    @property
    def key(self) -> str:
        """The object key below the root of the store."""
        return memory_key(self.namespace, self.kind, self.id)

    @property
    def named_version(self) -> MemoryVersion:
        """This version of this memory, as others name it."""
        return MemoryVersion(self.id, self.version)

    @property
    def begin(self) -> datetime:
        """The first moment at which it is true."""
        return self.created_at if self.valid_from is None else self.valid_from

    def is_true_at(self, moment: Moment) -> bool:
        """Return True if the memory, by what it says itself, is true at a moment."""
        at = to_datetime(moment.us)
        has_begun = self.begin <= at or (moment.is_present and self.valid_from is None)
        return has_begun and (self.valid_to is None or at < self.valid_to)

    def is_expired(self, now_us: int) -> bool:
        """Return True if the memory must not be returned at ``now_us`` (microseconds since the epoch)."""
        return self.expires_at is not None and self.expires_at <= to_datetime(now_us)


def check_memory(memory: Memory, limits: Limits) -> Memory:
    """Return the memory with every field checked and normalised.

    Raises:
        ValidationError: a field is wrong; the message names it and says what is allowed.
        LimitExceededError: a field is larger than ``limits`` allow.
    """
    checked = replace(
        memory,
        id=check_id(memory.id),
        namespace=parse_namespace(memory.namespace),
        kind=check_kind(memory.kind),
        content=check_content(memory.content, limits),
        source=check_label(memory.source, limits, field_name="source"),
        importance=check_importance(memory.importance),
        tags=check_tags(memory.tags, limits),
        created_at=parse_timestamp(memory.created_at, field="created_at"),
        updated_at=parse_timestamp(memory.updated_at, field="updated_at"),
        expires_at=None if memory.expires_at is None else parse_timestamp(memory.expires_at, field="expires_at"),
        data=None if memory.data is None else check_data(memory.data, limits),
        metadata=check_metadata(memory.metadata, limits),
        version=check_version(memory.version),
        attribution=check_attribution(memory.attribution, limits),
        valid_from=check_moment(memory.valid_from, field="valid_from"),
        valid_to=check_moment(memory.valid_to, field="valid_to"),
        supersedes=check_named_versions(memory.supersedes, limits, field="supersedes"),
        consolidated_from=check_named_versions(memory.consolidated_from, limits, field="consolidated_from"),
        pinned=check_pinned(memory.pinned),
    )
    check_interval(checked.valid_from, checked.valid_to, created_at=checked.created_at)
    if any(named.id == checked.id for named in (*checked.supersedes, *checked.consolidated_from)):
        raise ValidationError("a memory must not supersede itself, or be consolidated from itself")
    return checked


def check_pinned(value: object) -> bool:
    """Return whether a memory is pinned.

    Raises:
        ValidationError: it is neither true nor false.
    """
    if not isinstance(value, bool):
        raise ValidationError("pinned must be true or false")
    return value


def check_content(value: object, limits: Limits) -> str:
    """Return the text of a memory.

    Raises:
        ValidationError: it is no text, or has nothing but white space.
        LimitExceededError: it is too long.
    """
    if not isinstance(value, str) or not value.strip():
        raise ValidationError("content must be text that is not empty")
    size_bytes = len(_utf8(value, "content"))
    limits.check("content_bytes_max", size_bytes, f"content is {size_bytes} bytes")
    return value


def check_label(value: object, limits: Limits, *, field_name: str) -> str | None:
    """Return a short text such as ``source``, or None.

    Raises:
        ValidationError: it is no text.
        LimitExceededError: it is too long.
    """
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise ValidationError(f"{field_name} must be text that is not empty, or null")
    _utf8(value, field_name)
    limits.check("label_length_max", len(value), f"{field_name} has {len(value)} characters")
    return value


def check_importance(value: object) -> float:
    """Return an importance.

    Raises:
        ValidationError: it is not a number from 0 to 1.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValidationError("importance must be a number from 0 to 1")
    return float(value)


def check_tags(value: object, limits: Limits) -> tuple[str, ...]:
    """Return tags without repetitions, in the order given.

    Raises:
        ValidationError: a tag is no text, is empty, or has white space at an end.
        LimitExceededError: there are too many, or one is too long.
    """
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise ValidationError("tags must be a list of texts")
    tags = tuple(dict.fromkeys(_check_tag(tag, limits) for tag in value))
    limits.check("tag_count_max", len(tags), f"there are {len(tags)} tags")
    return tags


def _check_tag(value: object, limits: Limits) -> str:
    if not isinstance(value, str) or not value or value != value.strip():
        raise ValidationError("a tag must be text that is not empty, without white space at its ends")
    _utf8(value, "tags")
    limits.check("tag_length_max", len(value), f"a tag has {len(value)} characters")
    return value


def check_data(value: object, limits: Limits) -> dict[str, object]:
    """Return a private copy of ``data``; see ``check_json_object`` for the errors."""
    return check_json_object(value, field="data", limits=limits, limit="data_bytes_max")


def check_metadata(value: object, limits: Limits) -> dict[str, object]:
    """Return a private copy of ``metadata``; see ``check_json_object`` for the errors."""
    return check_json_object(value, field="metadata", limits=limits, limit="metadata_bytes_max")


def check_version(value: object) -> int:
    """Return a version.

    Raises:
        ValidationError: it is not a whole number from 1 to 2^53.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 2**53:
        raise ValidationError("version must be a whole number from 1 to 2^53")
    return value


def check_attribution(value: object, limits: Limits) -> Attribution:
    """Return an attribution with every field checked; see ``check_label`` for the errors."""
    names = [item.name for item in fields(Attribution)]
    if not isinstance(value, Attribution):
        raise ValidationError("attribution must be an Attribution with any of: " + ", ".join(names))
    return Attribution(
        **{name: check_label(getattr(value, name), limits, field_name=f"attribution.{name}") for name in names}
    )


def expiry_after(now_us: int, ttl_seconds: object) -> datetime:
    """Return the moment ``ttl_seconds`` after ``now_us`` (microseconds since the epoch).

    Raises:
        ValidationError: the time to live is not a positive number, or ends after the year 9999.
    """
    if isinstance(ttl_seconds, bool) or not isinstance(ttl_seconds, (int, float)) or not ttl_seconds > 0:
        raise ValidationError("ttl must be a positive number of seconds")
    try:
        return to_datetime(now_us) + timedelta(seconds=ttl_seconds)
    except (OverflowError, ValueError):
        raise ValidationError("ttl must end before the year 10000") from None


def new_expiry(now_us: int, ttl_seconds: object, expires_at: object) -> datetime | None:
    """Return when a memory expires, given as a time to live or as a moment; None for never.

    Raises:
        ValidationError: both are given, or one is wrong.
    """
    if ttl_seconds is not None and expires_at is not None:
        raise ValidationError("give ttl or expires_at, not both")
    return check_moment(expires_at, field="expires_at") if ttl_seconds is None else expiry_after(now_us, ttl_seconds)


def _utf8(value: str, field_name: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise ValidationError(f"{field_name} must be valid Unicode text") from None
