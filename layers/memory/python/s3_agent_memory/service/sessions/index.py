"""Which sessions a scope concerns: an index of who wrote to which, kept beside the windows.

A write touches nothing but its window, so the index lags behind. It never lies: each entry names the ETag of the window
it was made of, and a window that has another one is read. The index is a cache and may be deleted at any moment.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.scopes import Contributor, Level, Scope
from s3_agent_memory.domain.session_codec import decode_window
from s3_agent_memory.domain.session_keys import (
    Session,
    attribution_key,
    parse_window_key,
    session_of,
    window_key,
    window_prefix,
)
from s3_agent_memory.domain.window import Window
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.sessions.store import SessionStore

SCHEMA_VERSION: Final = 1
_READ_COUNT_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """What the index knows of one session.

    Attributes:
        etag: of the window it was made of.
        is_idle: True if that window had nothing left to do.
        is_erasing: True if an erasure was not finished.
    """

    etag: str
    epoch: int
    done: int
    is_idle: bool
    is_erasing: bool
    contributors: tuple[Contributor, ...]


class SessionIndex:
    """Finds sessions by who wrote to them."""

    def __init__(self, runtime: Runtime, sessions: SessionStore) -> None:
        self._runtime = runtime
        self._sessions = sessions

    def find(self, namespace: Namespace, scope: Scope) -> list[Session]:
        """Return the sessions that somebody within the scope wrote to, and those whose erasure is to be finished.

        Raises:
            CorruptError: a window cannot be read.
        """
        if scope.level is Level.SESSION and scope.session_id is not None:
            return [session_of(namespace, scope.session_id)]
        return [
            Session(namespace, name)
            for name, entry in self.entries(namespace).items()
            if entry.is_erasing or any(scope.covers(contributor) for contributor in entry.contributors)
        ]

    def entries(self, namespace: Namespace) -> dict[str, SessionEntry]:
        """Return what is true now of every session, by its name; windows that changed are read."""
        known = self._load(namespace)
        entries: dict[str, SessionEntry] = {}
        stale: list[tuple[Session, str]] = []
        for item in self._sessions.listed(window_prefix(namespace)):
            session = parse_window_key(item.key)
            if session is None:
                continue
            entry = known.get(session.name)
            if entry is not None and entry.etag == item.etag:
                entries[session.name] = entry
            else:
                stale.append((session, item.etag))
        entries.update(self._read(stale))
        return entries

    def save(self, namespace: Namespace, entries: Mapping[str, SessionEntry]) -> None:
        """Keep the entries for the next time; of two at once the last one stays, which is as good."""
        body = encode_json(
            {"schema": SCHEMA_VERSION, "sessions": {name: _to_json(item) for name, item in entries.items()}}
        )
        self._runtime.store.put(attribution_key(namespace), body)

    def refresh(self, namespace: Namespace) -> dict[str, SessionEntry]:
        """Return what is true now of every session, and keep it if that is news."""
        known, entries = self._load(namespace), self.entries(namespace)
        if entries != known:
            self.save(namespace, entries)
        return entries

    def _load(self, namespace: Namespace) -> dict[str, SessionEntry]:
        found = self._runtime.store.get(attribution_key(namespace), size_max=self._runtime.limits.index_file_bytes_max)
        try:
            document: Any = decode_json(found.body) if found is not None else {}
            return {name: _from_json(item) for name, item in document["sessions"].items()}
        except (KeyError, TypeError, ValueError, AttributeError, ValidationError):
            # Whatever is wrong with a cache, it is made anew.
            return {}

    def _read(self, stale: list[tuple[Session, str]]) -> Iterator[tuple[str, SessionEntry]]:
        for start in range(0, len(stale), _READ_COUNT_MAX):
            part = stale[start : start + _READ_COUNT_MAX]
            keys = [window_key(session) for session, _ in part]
            for (session, etag), key, body in zip(part, keys, self._sessions.bodies(keys), strict=True):
                if body is not None:
                    yield session.name, _entry_of(decode_window(body, key), etag)


def _entry_of(window: Window, etag: str) -> SessionEntry:
    return SessionEntry(
        etag=etag,
        epoch=window.epoch,
        done=window.done,
        is_idle=window.is_idle,
        is_erasing=bool(window.erasures),
        contributors=window.contributors,
    )


def _to_json(entry: SessionEntry) -> list[object]:
    contributors = [[item.principal, item.agent_client_id] for item in entry.contributors]
    return [entry.etag, entry.epoch, entry.done, entry.is_idle, entry.is_erasing, contributors]


def _from_json(item: Any) -> SessionEntry:
    etag, epoch, done, is_idle, is_erasing, contributors = item
    return SessionEntry(
        etag=str(etag),
        epoch=int(epoch),
        done=int(done),
        is_idle=is_idle is True,
        is_erasing=is_erasing is True,
        contributors=tuple(Contributor(principal=name, agent_client_id=agent) for name, agent in contributors),
    )
