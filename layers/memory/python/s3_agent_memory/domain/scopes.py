"""Whose conversations and memories a request means: contributors write, scopes select what is read or erased.

A scope never widens: what its level does not ask for narrows it if it is given, and what its level needs must be given.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.memory import check_label
from s3_agent_memory.errors import ValidationError


class Level(StrEnum):
    """How far a scope reaches: one session, one agent, one user, or the whole store (one namespace)."""

    SESSION = "session"
    AGENT = "agent"
    USER = "user"
    STORE = "store"


_NEEDED: Final = {Level.SESSION: "session_id", Level.AGENT: "agent_client_id", Level.USER: "principal"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contributor:
    """Who wrote something: a user, an agent, or an agent for a user."""

    principal: str | None = None
    agent_client_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is read or erased; made by ``make_scope``, so that it is complete."""

    level: Level
    principal: str | None = None
    agent_client_id: str | None = None
    session_id: str | None = None

    def conditions(self) -> dict[str, str]:
        """Return the filter on long-term memories; empty for the whole store."""
        if self.level is Level.STORE:
            return {}
        wanted = {"user_id": self.principal}
        if self.level is Level.AGENT:
            wanted["agent_id"] = self.agent_client_id
        if self.level is Level.SESSION:
            wanted["session_id"] = self.session_id
        return {name: value for name, value in wanted.items() if value is not None}

    def covers(self, contributor: Contributor) -> bool:
        """Return True if what a contributor wrote is within the scope (of a session: within that session)."""
        if self.level is Level.STORE:
            return True
        if self.level is Level.AGENT and contributor.agent_client_id != self.agent_client_id:
            return False
        return self.principal is None or contributor.principal == self.principal

    def may_read(self, principals: frozenset[str]) -> bool:
        """Return True if a session that these principals wrote to may be read: one of them must be the one named."""
        return self.principal is None or self.principal in principals


def make_scope(
    level: Level | str,
    *,
    principal: str | None = None,
    agent_client_id: str | None = None,
    session_id: str | None = None,
    limits: Limits,
) -> Scope:
    """Return a complete scope; blank texts count as absent.

    Raises:
        ValidationError: the field that the level needs is missing, or a field is no usable text.

    Example:
        >>> make_scope("user", principal="alice", limits=Limits()).conditions()
        {'user_id': 'alice'}
    """
    scope = Scope(
        level=Level(level),
        principal=check_identity(principal, limits, name="principal"),
        agent_client_id=check_identity(agent_client_id, limits, name="agent_client_id"),
        session_id=check_identity(session_id, limits, name="session_id"),
    )
    needed = _NEEDED.get(scope.level)
    if needed is not None and getattr(scope, needed) is None:
        raise ValidationError(f"a scope of level {scope.level.value!r} needs {needed}")
    return scope


def check_identity(value: str | None, limits: Limits, *, name: str) -> str | None:
    """Return the name of a user, an agent or a session exactly as given; None if it is blank.

    Raises:
        ValidationError: it is no text, or too long.
    """
    return None if value is None or not value.strip() else check_label(value, limits, field_name=name)
