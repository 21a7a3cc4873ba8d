"""Erasures: what is to go for good, how far it has come, and the report that stays.

The record of an erasure lies outside of the namespace it is about, so that it survives it. It names ids, users and
figures, never text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Final, Self

from s3_agent_memory import names
from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.domain.keys import Namespace, format_namespace, marker_key, parse_namespace
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.memory import check_label
from s3_agent_memory.domain.scopes import Level, Scope
from s3_agent_memory.errors import CorruptError, ValidationError

SCHEMA_VERSION: Final = 1
ID_COUNT_MAX: Final = 1_000
UNREADABLE_COUNT_MAX: Final = 100
_ERASURE_ID: Final = re.compile(r"\d{13}-[0-9a-f]{16}")
_LEVELS: Final = {"user_id": Level.USER, "agent_id": Level.AGENT, "session_id": Level.SESSION}


class Phase(StrEnum):
    """The steps of an erasure, in their order; each may be done again without harm."""

    SESSIONS = "sessions"
    MEMORIES = "memories"
    LEFTOVERS = "leftovers"
    INDEX = "index"
    VERSIONS = "versions"
    FINISHED = "finished"

    @property
    def following(self) -> "Phase":
        """The step after this one."""
        steps = list(Phase)
        return steps[min(steps.index(self) + 1, len(steps) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureScope:
    """What of a namespace is erased: all of it (nothing is set), or what exactly one field names."""

    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    ids: tuple[str, ...] | None = None

    @property
    def is_whole(self) -> bool:
        """True if the whole namespace is erased."""
        return all(getattr(self, item.name) is None for item in fields(self))

    @property
    def conversation(self) -> Scope | None:
        """The same scope for conversations; None if they are not concerned."""
        if self.is_whole:
            return Scope(level=Level.STORE)
        if self.ids is not None:
            return None
        level = next(level for name, level in _LEVELS.items() if getattr(self, name) is not None)
        return Scope(level=level, principal=self.user_id, agent_client_id=self.agent_id, session_id=self.session_id)

    def covers(self, document: object) -> bool:
        """Return True if a stored memory, as a JSON object, is within the scope, whatever else is wrong with it.

        So is one that was merged from one of the ids, because it says what that one said.
        """
        if self.is_whole:
            return True
        if not isinstance(document, Mapping):
            return False
        if self.ids is not None:
            merged_from = document.get("consolidated_from")
            named = merged_from if isinstance(merged_from, list) else []
            ids = [document.get("id"), *(item.get("id") for item in named if isinstance(item, Mapping))]
            return any(memory_id in self.ids for memory_id in ids)
        attribution = document.get("attribution")
        found = attribution if isinstance(attribution, Mapping) else {}
        return all(found.get(name) == value for name in _LEVELS if (value := getattr(self, name)) is not None)

    def to_json(self) -> dict[str, object]:
        """Return the fields that are set."""
        return {
            name: list(value) if name == "ids" else value for name, value in asdict(self).items() if value is not None
        }


def make_erasure_scope(
    *,
    user_id: str | None = None,
    agent_id: str | None = None,
    session_id: str | None = None,
    ids: Sequence[str] | None = None,
    limits: Limits,
) -> ErasureScope:
    """Return a checked scope; nothing given means the whole namespace, but nothing blank ever does.

    Raises:
        ValidationError: more than one field is given, one is blank, or an id is none.
    """
    given = {"user_id": user_id, "agent_id": agent_id, "session_id": session_id, "ids": ids}
    named = {name: value for name, value in given.items() if value is not None}
    if len(named) > 1:
        raise ValidationError("an erasure is of one user, one agent, one session or a list of ids, not of several")
    if ids is not None:
        if isinstance(ids, str) or not 1 <= len(ids) <= ID_COUNT_MAX:
            raise ValidationError(f"ids must be a list of 1 to {ID_COUNT_MAX} ids")
        return ErasureScope(ids=tuple(dict.fromkeys(check_id(item) for item in ids)))
    labels = {name: check_label(str(value), limits, field_name=name) for name, value in named.items()}
    blank = [name for name, label in labels.items() if label is None or not label.strip()]
    if blank:
        raise ValidationError(f"{blank[0]} must not be blank; to erase the whole namespace leave it out")
    return ErasureScope(
        user_id=labels.get("user_id"), agent_id=labels.get("agent_id"), session_id=labels.get("session_id")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureCounts:
    """What was removed. After a crash that removed more than it could note, the figures are too low.

    Attributes:
        semantic, episodic, procedural: memories.
        leftovers: earlier contents kept for ``history``, and other objects beside the memories.
        sessions: conversations that something was erased from.
        index_files: segments and vector shards that were replaced or never in use.
        log_entries: log entries of what was erased.
        objects: objects deleted; ``bytes`` is the size of those memories and leftovers.
        versions, delete_markers, version_bytes: noncurrent versions, where the store keeps them.
        kept_versions: at least so many versions the store would not show or delete.
    """

    semantic: int = 0
    episodic: int = 0
    procedural: int = 0
    leftovers: int = 0
    sessions: int = 0
    index_files: int = 0
    log_entries: int = 0
    objects: int = 0
    bytes: int = 0
    versions: int = 0
    delete_markers: int = 0
    version_bytes: int = 0
    kept_versions: int = 0

    @property
    def memories(self) -> int:
        """Memories of all kinds."""
        return self.semantic + self.episodic + self.procedural

    def __add__(self, other: "ErasureCounts") -> "ErasureCounts":
        return ErasureCounts(
            **{item.name: getattr(self, item.name) + getattr(other, item.name) for item in fields(self)}
        )


@dataclass(frozen=True, slots=True)
class Remainder:
    """Something that an erasure leaves, and until when."""

    what: str
    until: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """One erasure: what was asked for, how far it is, and what it has removed.

    Attributes:
        id: of this erasure; ids sort by time.
        requested_by: who asked, as the caller said it.
        cursor: where the phase goes on, empty for its beginning.
        started_at, finished_at: RFC 3339; ``finished_at`` is None until nothing is left to do.
        since_ms: when the store noted the beginning, by its own clock; what was made later is left alone.
        unreadable_keys: objects that could not be read, so that nobody knows whose they are; the first 100.
        remains: what stays, and until when.
        nonce: by which a writer recognises its own record.
    """

    id: str
    namespace: Namespace
    scope: ErasureScope
    requested_by: str | None
    phase: Phase
    started_at: str
    since_ms: int
    cursor: str = ""
    finished_at: str | None = None
    counts: ErasureCounts = field(default_factory=ErasureCounts)
    unreadable_keys: tuple[str, ...] = ()
    remains: tuple[Remainder, ...] = ()
    nonce: str = ""

    @property
    def is_finished(self) -> bool:
        """True if nothing is left to do."""
        return self.phase is Phase.FINISHED

    def at(self, phase: Phase, cursor: str = "") -> Self:
        """Return the erasure at another place."""
        return replace(self, phase=phase, cursor=cursor)

    def with_more(self, counts: ErasureCounts, unreadable_keys: Sequence[str] = ()) -> Self:
        """Return the erasure with more removed, and more found that cannot be read."""
        keys = tuple(dict.fromkeys((*self.unreadable_keys, *unreadable_keys)))[:UNREADABLE_COUNT_MAX]
        return replace(self, counts=self.counts + counts, unreadable_keys=keys)


def erasure_prefix(namespace: Namespace) -> str:
    """Return the key prefix of the records of the erasures of one namespace."""
    return f"{names.ERASURE_PREFIX}{marker_key(namespace).removeprefix(names.NAMESPACE_MARKER_PREFIX)}/"


def erasure_key(namespace: Namespace, erasure_id: str) -> str:
    """Return the key of the record of an erasure."""
    return f"{erasure_prefix(namespace)}{erasure_id}{names.OBJECT_SUFFIX}"


def open_erasure_key(namespace: Namespace, erasure_id: str) -> str:
    """Return the key that exists while an erasure is not finished."""
    return f"{erasure_prefix(namespace)}{erasure_id}{names.OPEN_SUFFIX}"


def check_erasure_id(value: str) -> str:
    """Return the id of an erasure.

    Raises:
        ValidationError: it is none.
    """
    if not _ERASURE_ID.fullmatch(value):
        raise ValidationError("the id of an erasure is 13 digits, a hyphen and 16 hexadecimal digits")
    return value


def erasure_to_json(erasure: Erasure) -> dict[str, object]:
    """Return what a caller is told of an erasure."""
    return {
        "id": erasure.id,
        "namespace": format_namespace(erasure.namespace),
        "scope": erasure.scope.to_json() or "namespace",
        "requested_by": erasure.requested_by,
        "is_finished": erasure.is_finished,
        "phase": erasure.phase.value,
        "started_at": erasure.started_at,
        "finished_at": erasure.finished_at,
        "memories": erasure.counts.memories,
        "counts": asdict(erasure.counts),
        "unreadable_keys": list(erasure.unreadable_keys),
        "remains": [asdict(item) for item in erasure.remains],
    }


def encode_erasure(erasure: Erasure) -> bytes:
    """Return the bytes stored for an erasure."""
    document = erasure_to_json(erasure)
    place = {"since_ms": erasure.since_ms, "cursor": erasure.cursor, "nonce": erasure.nonce}
    return encode_json({"schema": SCHEMA_VERSION, **document, **place})


def decode_erasure(body: bytes, key: str) -> Erasure:
    """Return the erasure stored in ``body``.

    Raises:
        CorruptError: the bytes are no record of an erasure.
    """
    try:
        document: Any = decode_json(body)
        scope = document["scope"]
        return Erasure(
            id=check_erasure_id(document["id"]),
            namespace=parse_namespace(document["namespace"]),
            scope=ErasureScope() if scope == "namespace" else _scope_of(scope),
            requested_by=document["requested_by"],
            phase=Phase(document["phase"]),
            started_at=str(document["started_at"]),
            since_ms=int(document["since_ms"]),
            cursor=str(document["cursor"]),
            finished_at=document["finished_at"],
            counts=ErasureCounts(**{item.name: int(document["counts"][item.name]) for item in fields(ErasureCounts)}),
            unreadable_keys=tuple(str(item) for item in document["unreadable_keys"]),
            remains=tuple(Remainder(str(item["what"]), str(item["until"])) for item in document["remains"]),
            nonce=str(document["nonce"]),
        )
    except (ValidationError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptError(f"{key} holds no readable record of an erasure", key=key) from error


def _scope_of(document: Mapping[str, Any]) -> ErasureScope:
    """Return a stored scope; one with a field that this version does not know must not become a wider one."""
    if not document:
        raise ValidationError("an empty scope")
    ids = document.get("ids")
    return ErasureScope(**{**document, "ids": None if ids is None else tuple(check_id(item) for item in ids)})
