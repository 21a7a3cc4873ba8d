"""Who may read, erase and write what in a conversation: the rules by which a token narrows a request.

A token speaks for its own principal. Only an administrator's names others, or nobody, or the whole store. So a request
of anybody else is always about the token's own principal, whether it says so or not.
"""

from dataclasses import dataclass, replace

from s3_agent_memory.domain.grants import Grant, Permission
from s3_agent_memory.domain.scopes import Contributor, Level, Scope
from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.errors import AccessDeniedError, ValidationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sends a request.

    Attributes:
        principal: whom the token speaks for.
        is_admin: True if it may speak for others.
        has_actor: True if the request says that it is made on behalf of somebody.
    """

    principal: str
    is_admin: bool
    has_actor: bool = False

    def joins_as(self, contributor: Contributor) -> str | None:
        """Return the principal that must be a member of a session to write to it; None lets every write pass.

        An administrator who acts for somebody joins sessions as that one, so that a backend which takes session ids
        from its users brings none of them into a session of others.
        """
        if not self.is_admin:
            return self.principal
        return contributor.principal if self.has_actor else None


def caller_of(grant: Grant, *, has_actor: bool = False) -> Caller:
    """Return who the bearer of a token is."""
    return Caller(principal=grant.principal, is_admin=Permission.ADMIN in grant.permissions, has_actor=has_actor)


def entitled_scope(scope: Scope, caller: Caller, settings: TierSettings) -> Scope:
    """Return the scope that the caller gets for the one asked for: the same, or a narrower one.

    Raises:
        AccessDeniedError: it is another principal's or the whole store's, or a required identity is missing.
    """
    if scope.level is Level.STORE:
        if not caller.is_admin or caller.has_actor:
            raise AccessDeniedError("the scope 'store' is for administrators who act for themselves")
        return scope
    _require_identities(scope.principal, scope.agent_client_id, settings)
    return replace(scope, principal=_own_principal(scope.principal, caller))


def entitled_contributor(contributor: Contributor, caller: Caller, settings: TierSettings) -> Contributor:
    """Return as whom the caller writes.

    Raises:
        ValidationError: neither a user nor an agent is named.
        AccessDeniedError: it is another principal, or a required identity is missing.
    """
    if contributor == Contributor():
        raise ValidationError("an attribution needs principal or agent_client_id")
    _require_identities(contributor.principal, contributor.agent_client_id, settings)
    return replace(contributor, principal=_own_principal(contributor.principal, caller))


def _require_identities(principal: str | None, agent_client_id: str | None, settings: TierSettings) -> None:
    if settings.require_principal and principal is None:
        raise AccessDeniedError("every request must name a principal here")
    if settings.require_agent_identity and agent_client_id is None:
        raise AccessDeniedError("every request must name an agent_client_id here")


def _own_principal(principal: str | None, caller: Caller) -> str | None:
    if caller.is_admin:
        return principal
    if principal is not None and principal != caller.principal:
        raise AccessDeniedError("this token speaks for another principal")
    return caller.principal
