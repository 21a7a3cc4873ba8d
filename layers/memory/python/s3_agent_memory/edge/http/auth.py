"""Who sends a request: from a bearer token to a grant, and the grant's way from the authorizer to the functions.

The authorizer answers "authorized" to every request. API Gateway would turn a refusal into 403 without the headers a
client needs, so a request without a valid token travels on with an ``error`` in its context and the function behind
answers 401. That fails closed: no grant in the context means 401, and nothing but the context is ever trusted.

API Gateway keeps what the authorizer answers for a while. So only what holds for a while is an answer; where the token
could not be checked (the storage or the identity provider failed), the authorizer fails, which is not kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from s3_agent_memory.domain.access import AccessSettings
from s3_agent_memory.domain.clock import Clock, SystemClock
from s3_agent_memory.domain.grants import TOKEN_PREFIX, Grant, Permission, parse_permissions
from s3_agent_memory.domain.keys import Namespace, format_namespace, parse_namespace
from s3_agent_memory.domain.timestamps import format_timestamp, parse_timestamp
from s3_agent_memory.edge.http.problems import InvalidTokenError
from s3_agent_memory.errors import AccessDeniedError, AuthenticationError, ValidationError

_SCHEME: Final = "bearer "
_NO_TOKEN: Final = "no_token"
_NO_SCOPE: Final = "none of the token's scopes allows anything here"
_MISSING: Final = "send a token as 'Authorization: Bearer <token>'"
_INVALID: Final = "the token is unknown, revoked or expired"


class TokenVerifier(Protocol):
    """What the authorizer needs: the token service of a store, an identity provider's tokens, or both."""

    def verify(self, token: str) -> Grant:
        """Return the grant behind a token, or raise ``AuthenticationError``."""


class _EitherVerifier:
    """Knows the store's own tokens by how they begin; all others are the identity provider's."""

    def __init__(self, own: TokenVerifier, foreign: TokenVerifier) -> None:
        self._own = own
        self._foreign = foreign

    def verify(self, token: str) -> Grant:
        return (self._own if token.startswith(TOKEN_PREFIX) else self._foreign).verify(token)


def build_verifier(own: TokenVerifier, access: AccessSettings, *, clock: Clock | None = None) -> TokenVerifier:
    """Return what verifies the tokens of a deployment: its own, and those of its identity provider if it has one."""
    if access.oidc is None:
        return own
    # Cryptography takes long to load, and only a deployment with an identity provider needs it.
    from s3_agent_memory.edge.oidc import OidcVerifier  # noqa: PLC0415

    return _EitherVerifier(own, OidcVerifier(access.oidc, clock=clock or SystemClock()))


@dataclass(frozen=True, slots=True)
class Access:
    """What one request may do: the grant of its token and the namespace it asked for, if any."""

    grant: Grant
    requested: str | None = None

    def namespace_for(self, permission: Permission) -> Namespace:
        """Return the namespace to work in.

        Raises:
            AccessDeniedError: the grant lacks the permission or does not cover the namespace.
            ValidationError: what was asked for is no namespace.
        """
        self.grant.require(permission)
        return self.grant.resolve_namespace(self.requested)

    @property
    def may_read(self) -> bool:
        """True if it may be shown what is stored."""
        return not {Permission.READ, Permission.ADMIN}.isdisjoint(self.grant.permissions)


def authorize(event: Mapping[str, Any], tokens: TokenVerifier) -> dict[str, Any]:
    """Return the simple response (payload format 2.0) of the Lambda authorizer; see the module's docstring.

    Raises:
        AgentMemoryError: the token could not be checked now.
    """
    token = _bearer_token(event)
    if token is None:
        return _pass_on({"error": _NO_TOKEN})
    try:
        return _pass_on(_grant_to_context(tokens.verify(token)))
    except (AccessDeniedError, AuthenticationError) as error:
        return _pass_on({"error": error.code})


def _pass_on(context: dict[str, str]) -> dict[str, Any]:
    return {"isAuthorized": True, "context": context}


def read_grant(event: Mapping[str, Any], *, now_us: int) -> Grant:
    """Return the grant that the authorizer put into an API Gateway event.

    Args:
        now_us: the present moment; API Gateway may hand out a cached answer of the authorizer.

    Raises:
        AuthenticationError: there is no valid grant.
        AccessDeniedError: the token is valid, but its scopes allow nothing.
    """
    context = ((event.get("requestContext") or {}).get("authorizer") or {}).get("lambda") or {}
    _refuse_error(context.get("error"))
    try:
        grant = _grant_from_context(context)
    except (KeyError, ValidationError):
        raise AuthenticationError(_MISSING) from None
    if grant.is_expired(now_us):
        raise InvalidTokenError(_INVALID)
    return grant


def _refuse_error(code: object) -> None:
    if code is None:
        return
    if code == _NO_TOKEN:
        raise AuthenticationError(_MISSING)
    if code == AccessDeniedError.code:
        raise AccessDeniedError(_NO_SCOPE)
    raise InvalidTokenError(_INVALID)


def _bearer_token(event: Mapping[str, Any]) -> str | None:
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    value = str(headers.get("authorization", ""))
    return value[len(_SCHEME) :].strip() if value.lower().startswith(_SCHEME) else None


def _grant_to_context(grant: Grant) -> dict[str, str]:
    return {
        "token_id": grant.token_id,
        "principal": grant.principal,
        "namespace": format_namespace(grant.namespace),
        "covers_children": "true" if grant.covers_children else "false",
        "permissions": " ".join(sorted(grant.permissions)),
        "created_at": format_timestamp(grant.created_at),
        "expires_at": "" if grant.expires_at is None else format_timestamp(grant.expires_at),
    }


def _grant_from_context(context: Mapping[str, Any]) -> Grant:
    expires_at = context["expires_at"]
    return Grant(
        token_id=str(context["token_id"]),
        principal=str(context["principal"]),
        namespace=parse_namespace(context["namespace"]),
        covers_children=context["covers_children"] == "true",
        permissions=parse_permissions(str(context["permissions"]).split()),
        created_at=parse_timestamp(context["created_at"], field="created_at"),
        expires_at=parse_timestamp(expires_at, field="expires_at") if expires_at else None,
    )
