"""When a memory is true, and which versions of other memories it takes the place of.

A memory is true at ``t`` if ``begin <= t < end``: from ``valid_from`` (``created_at`` where that is not set) until
``valid_to`` (for ever where that is not set), or until the first memory that supersedes this version of it begins.
The newer memory names what it replaces; the older one is never touched.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.timestamps import format_timestamp, parse_timestamp
from s3_agent_memory.errors import ValidationError


@dataclass(frozen=True, slots=True, order=True)
class MemoryVersion:
    """One version of one memory, and of no other version of it."""

    id: str
    version: int


@dataclass(frozen=True, slots=True)
class Moment:
    """The moment whose truth is asked for.

    Attributes:
        us: microseconds since the epoch.
        is_present: True for now. What was stored before is true now whatever two clocks make of it; only what a memory
            says itself (``valid_from``, ``valid_to``) is then compared with the clock.
    """

    us: int
    is_present: bool = True


def check_moment(value: object, *, field: str) -> datetime | None:
    """Return an optional timestamp; see ``parse_timestamp`` for the errors."""
    return None if value is None else parse_timestamp(value, field=field)


def check_interval(valid_from: datetime | None, valid_to: datetime | None, *, created_at: datetime) -> None:
    """Do nothing if a memory does not end before it begins; one that ends as it begins is never true.

    Raises:
        ValidationError: it does.
    """
    begin = created_at if valid_from is None else valid_from
    if valid_to is not None and valid_to < begin:
        name = "created_at" if valid_from is None else "valid_from"
        raise ValidationError(
            f"valid_to must not be before {name} ({format_timestamp(begin)}); give a valid_from that is earlier"
        )


def check_named_versions(value: object, limits: Limits, *, field: str) -> tuple[MemoryVersion, ...]:
    """Return named versions without repetitions, in the order given.

    Raises:
        ValidationError: one is no ``MemoryVersion``, or names no version that can be.
        LimitExceededError: there are too many.
    """
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise ValidationError(f"{field} must be a list of memory versions")
    named = tuple(dict.fromkeys(_check_named(item, field) for item in value))
    limits.check("named_version_count_max", len(named), f"{field} names {len(named)} versions")
    return named


def _check_named(value: object, field: str) -> MemoryVersion:
    version = value.version if isinstance(value, MemoryVersion) else None
    if not isinstance(value, MemoryVersion) or type(version) is not int or not 1 <= version <= 2**53:
        raise ValidationError(f"each of {field} must be an id and a version from 1 to 2^53")
    return MemoryVersion(check_id(value.id), version)


def named_to_json(named: Iterable[MemoryVersion]) -> list[dict[str, object]]:
    """Return named versions as they are stored."""
    return [{"id": item.id, "version": item.version} for item in named]


def named_from_json(document: object, *, field: str) -> tuple[MemoryVersion, ...]:
    """Return the versions that a list of objects names, to be checked by ``check_named_versions``.

    Raises:
        ValidationError: it is no list of objects.
    """
    if document is None:
        return ()
    if not isinstance(document, list) or not all(isinstance(item, Mapping) for item in document):
        raise ValidationError(f"{field} must be a list of objects with id and version")
    return tuple(MemoryVersion(item.get("id", ""), item.get("version", 0)) for item in document)
