"""Where conversations lie below the root of a store, and the ids of the memories that come out of them.

A session is known by a hash: its name may hold anything, and a key must not.
"""

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from s3_agent_memory import names
from s3_agent_memory.domain.json_values import encode_json
from s3_agent_memory.domain.keys import Namespace, format_namespace, parse_namespace
from s3_agent_memory.domain.scopes import Contributor
from s3_agent_memory.errors import ValidationError

_NAME: Final = re.compile("[0-9a-f]{32}")
_NAME_BYTES: Final = 16
_COUNTER: Final = re.compile("[0-9]{20}")
_ID_PREFIX: Final = "turns-"
_MEMORY_ID: Final = re.compile(_ID_PREFIX + r"[0-9a-f]{32}-(\d{1,20})-(\d{1,20})-(\d{1,20})")


@dataclass(frozen=True, slots=True)
class Session:
    """One session of one namespace.

    Attributes:
        name: 32 hexadecimal digits; see ``session_of`` and ``unnamed_session_of``.
    """

    namespace: Namespace
    name: str


def session_of(namespace: Namespace, session_id: str) -> Session:
    """Return the session with this id; different ids, however alike, are different sessions."""
    return Session(namespace, _hash(["session", session_id]))


def unnamed_session_of(namespace: Namespace, contributor: Contributor) -> Session:
    """Return where the turns go that a contributor writes outside of any session."""
    return Session(namespace, _hash(["contributor", contributor.principal, contributor.agent_client_id]))


def _hash(parts: list[str | None]) -> str:
    return blake2b(encode_json(parts), digest_size=_NAME_BYTES).hexdigest()


def session_prefix(namespace: Namespace) -> str:
    """Return the key prefix of all conversations of a namespace (and of the namespaces below it)."""
    return f"{names.SESSION_PREFIX}{format_namespace(namespace)}/"


def window_prefix(namespace: Namespace) -> str:
    """Return the key prefix of the windows."""
    return f"{session_prefix(namespace)}{names.WINDOW_FOLDER}/"


def window_key(session: Session) -> str:
    """Return the key of a session's window."""
    return f"{window_prefix(session.namespace)}{session.name}{names.OBJECT_SUFFIX}"


def batches_prefix(namespace: Namespace) -> str:
    """Return the key prefix of batches, digests and extractions of all sessions."""
    return f"{session_prefix(namespace)}{names.BATCH_FOLDER}/"


def session_batches_prefix(session: Session) -> str:
    """Return the key prefix of batches, digests and extractions of one session."""
    return f"{batches_prefix(session.namespace)}{session.name}/"


def batch_key(session: Session, epoch: int, number: int) -> str:
    """Return the key of the turns that left the window together."""
    return _numbered(session, epoch, number) + names.TURNS_SUFFIX


def digest_key(session: Session, epoch: int, number: int) -> str:
    """Return the key of the digest that took in a batch."""
    return _numbered(session, epoch, number) + names.DIGEST_SUFFIX


def facts_key(session: Session, epoch: int, number: int) -> str:
    """Return the key of the extraction of a batch."""
    return _numbered(session, epoch, number) + names.FACTS_SUFFIX


def _numbered(session: Session, epoch: int, number: int) -> str:
    return f"{session_batches_prefix(session)}{epoch:020d}/{number:020d}"


def attribution_key(namespace: Namespace) -> str:
    """Return the key of the index of who wrote to which session, a cache."""
    return session_prefix(namespace) + names.ATTRIBUTION_NAME


def derived_id_prefix(session: Session) -> str:
    """Return how the ids of all memories of a session begin."""
    return f"{_ID_PREFIX}{session.name}-"


def derived_id(session: Session, epoch: int, number: int, position: int) -> str:
    """Return the id of the memory at ``position`` of the extraction of a batch: the same whoever makes it."""
    return f"{derived_id_prefix(session)}{epoch}-{number}-{position}"


def parse_derived_id(memory_id: str) -> tuple[int, int, int] | None:
    """Return epoch, batch and position of a derived id, or None if it is another kind of id."""
    found = _MEMORY_ID.fullmatch(memory_id)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


@dataclass(frozen=True, slots=True)
class SessionKey:
    """What a key below the batches of a namespace says: whose object lies there, and which.

    Attributes:
        suffix: tells batches, digests and extractions apart.
    """

    session: Session
    epoch: int
    number: int
    suffix: str

    @property
    def path(self) -> str:
        """The key itself."""
        return _numbered(self.session, self.epoch, self.number) + self.suffix


def parse_session_key(key: str) -> SessionKey | None:
    """Return what the key of a batch, digest or extraction says, or None if it is another key.

    Example:
        >>> key = batch_key(session_of(Namespace(("team",)), "s1"), 1, 7)
        >>> parse_session_key(key).number
        7
    """
    path, _, tail = key.removeprefix(names.SESSION_PREFIX).partition(f"/{names.BATCH_FOLDER}/")
    parts = tail.split("/")
    if not key.startswith(names.SESSION_PREFIX) or len(parts) != 3:
        return None
    number, _, ending = parts[2].partition(".")
    is_well_formed = _NAME.fullmatch(parts[0]) and _COUNTER.fullmatch(parts[1]) and _COUNTER.fullmatch(number)
    if not is_well_formed or f".{ending}" not in (names.TURNS_SUFFIX, names.DIGEST_SUFFIX, names.FACTS_SUFFIX):
        return None
    try:
        return SessionKey(Session(parse_namespace(path), parts[0]), int(parts[1]), int(number), f".{ending}")
    except ValidationError:
        return None


def parse_batch_key(key: str) -> Session | None:
    """Return whose turns left the window, or None if the key is that of no batch."""
    found = parse_session_key(key)
    return None if found is None or found.suffix != names.TURNS_SUFFIX else found.session


def parse_window_key(key: str) -> Session | None:
    """Return whose window lies under a key, or None if the key is that of no window."""
    path, _, name = key.removeprefix(names.SESSION_PREFIX).partition(f"/{names.WINDOW_FOLDER}/")
    name = name.removesuffix(names.OBJECT_SUFFIX)
    if not key.startswith(names.SESSION_PREFIX) or not _NAME.fullmatch(name):
        return None
    try:
        return Session(parse_namespace(path), name)
    except ValidationError:
        return None
