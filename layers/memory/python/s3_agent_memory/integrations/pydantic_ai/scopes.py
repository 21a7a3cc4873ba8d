"""Whose memory a run may read and write: decided by its dependencies alone, never by what a model says.

Dependencies are any object, or mapping, with ``security_context`` (of it ``principal``, the user, and ``actor``, the
agent that acts for them) and ``session_id``. What is missing or blank is absent.
"""

from collections.abc import Mapping
from typing import Final

from s3_agent_memory.errors import ValidationError
from s3_agent_memory.wire.conversation import Attribution, LevelName, Scope

# From the one that remembers most to the one that remembers least; all of a store is for administrators only.
LEVELS: Final[tuple[LevelName, ...]] = ("user", "agent", "session")
_NEEDED: Final[Mapping[str, str]] = {
    "user": "principal",
    "agent": "agent_client_id",
    "session": "session_id",
}


def attribution_from_deps(deps: object) -> Attribution:
    """Return who writes in a run.

    Raises:
        ValidationError: the dependencies name neither a user nor an agent.
    """
    attribution = _identities(deps)
    if attribution.principal is None and attribution.agent_client_id is None:
        raise ValidationError("the dependencies of the run must name a principal or an actor in security_context")
    return attribution


def entitled_levels(deps: object) -> tuple[LevelName, ...]:
    """Return the levels that a run may read at, most memories first."""
    attribution = _identities(deps)
    return tuple(level for level in LEVELS if getattr(attribution, _NEEDED[level]) is not None)


def scope_from_deps(deps: object, level: LevelName | None = None) -> Scope:
    """Return what a run may read at a level.

    A user who is known narrows every level: what an agent or a session remembers of others is never read.

    Args:
        level: None takes the first of ``entitled_levels``.

    Raises:
        ValidationError: the run is not entitled to the level.
    """
    levels = entitled_levels(deps)
    chosen = level if level is not None else next(iter(levels), None)
    if chosen not in levels:
        allowed = ", ".join(levels) or "none"
        raise ValidationError(f"the run may not read at the level {chosen}; its levels: {allowed}")
    attribution = _identities(deps)
    return Scope(
        level=chosen,
        principal=attribution.principal,
        agent_client_id=attribution.agent_client_id if chosen == "agent" else None,
        # The session is named at each level, so that its turns come along.
        session_id=attribution.session_id,
    )


def _identities(deps: object) -> Attribution:
    context = _field(deps, "security_context")
    return Attribution(
        principal=_text(_field(context, "principal")),
        agent_client_id=_text(_field(context, "actor")),
        session_id=_text(_field(deps, "session_id")),
    )


def _field(holder: object, name: str) -> object:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ValidationError(f"principal, actor and session_id must be texts, not {type(value).__name__}")
