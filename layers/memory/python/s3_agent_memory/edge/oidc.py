"""Access tokens of an OpenID Connect provider: from a signed JWT to a grant.

A token counts if its signature is made with a key of the issuer and an asymmetric algorithm that fits the key, if it
was issued by this issuer for this resource, and if now lies in its time. Its claims name the namespace, its scopes the
permissions. Whatever is wrong with it, the bearer is told only that it is not valid.
"""

from collections.abc import Mapping
from typing import Any, Final

import jwt
from jwt.exceptions import PyJWTError

from s3_agent_memory.domain.access import OidcSettings
from s3_agent_memory.domain.clock import Clock, to_datetime
from s3_agent_memory.domain.grants import Grant, Permission, token_id_of
from s3_agent_memory.edge.oidc_keys import ALGORITHMS, KeySet
from s3_agent_memory.errors import AccessDeniedError, AuthenticationError, ValidationError

TOKEN_LENGTH_MAX: Final = 8 * 1024
# How far the clocks of issuer and verifier may be apart.
SKEW_SECONDS: Final = 60
PRINCIPAL_LENGTH_MAX: Final = 512
_TYPES: Final = frozenset({"jwt", "at+jwt", "application/at+jwt"})


class OidcVerifier:
    """Verifies the access tokens of one issuer."""

    def __init__(self, settings: OidcSettings, *, clock: Clock, keys: KeySet | None = None) -> None:
        self._settings = settings
        self._clock = clock
        self._keys = keys or KeySet(settings, clock=clock)

    def verify(self, token: str) -> Grant:
        """Return what an access token grants.

        Raises:
            AuthenticationError: it is not valid here.
            AccessDeniedError: it is valid, but none of its scopes allows anything.
            BackendError: the keys of the issuer cannot be had.
        """
        claims = self._read_claims(token)
        self._check_claims(claims)
        permissions = self._permissions(claims)
        now_s = self._clock.now_us() // 1_000_000
        try:
            namespace = self._settings.namespace.fill(claims)
        except ValidationError as error:
            raise AuthenticationError(str(error)) from error
        return Grant(
            token_id=token_id_of(token),
            principal=_principal(claims),
            namespace=namespace,
            covers_children=False,
            permissions=permissions,
            created_at=to_datetime(_seconds(claims, "iat", default=now_s) * 1_000_000),
            expires_at=to_datetime(_seconds(claims, "exp") * 1_000_000),
        )

    def _read_claims(self, token: str) -> Mapping[str, Any]:
        if len(token) > TOKEN_LENGTH_MAX or not token.isascii():
            raise AuthenticationError("the token is too long")
        try:
            header = jwt.get_unverified_header(token)
            algorithm, key_id = header.get("alg"), header.get("kid")
            if algorithm not in ALGORITHMS or str(header.get("typ", "jwt")).lower() not in _TYPES or "crit" in header:
                raise AuthenticationError("the token is not signed as it must be")
            key = self._keys.key_for(key_id)
            # PyJWT checks that the algorithm fits the key. Times are checked against the clock of this process below.
            unchecked = {f"verify_{name}": False for name in ("exp", "iat", "nbf", "aud", "iss", "sub", "jti")}
            claims: dict[str, Any] = jwt.decode(token, key, algorithms=[algorithm], options=unchecked)  # type: ignore[arg-type]
        except (PyJWTError, ValueError, TypeError) as error:
            raise AuthenticationError("the token is not a signed JWT of its issuer") from error
        return claims

    def _check_claims(self, claims: Mapping[str, Any]) -> None:
        now_s = self._clock.now_us() // 1_000_000
        if claims.get("iss") != self._settings.issuer or not self._is_for_us(claims):
            raise AuthenticationError("the token is from another issuer or for another audience")
        # Some issuers sign identity tokens with the same keys; those say who somebody is, not what he allows.
        if claims.get("token_use", "access") != "access":
            raise AuthenticationError("the token is no access token")
        _text(claims, "sub")
        if _seconds(claims, "exp") <= now_s:
            raise AuthenticationError("the token has expired")
        if max(_seconds(claims, name, default=now_s) for name in ("nbf", "iat")) > now_s + SKEW_SECONDS:
            raise AuthenticationError("the token is not valid yet")

    def _is_for_us(self, claims: Mapping[str, Any]) -> bool:
        audience = claims.get("aud")
        if audience is None:
            # Some issuers name the client instead of an audience.
            client_id = claims.get("client_id")
            return isinstance(client_id, str) and client_id in self._settings.client_ids
        named = audience if isinstance(audience, list) else [audience]
        return any(isinstance(item, str) and item in self._settings.audiences for item in named)

    def _permissions(self, claims: Mapping[str, Any]) -> frozenset[Permission]:
        scopes = claims.get("scope", claims.get("scp", ()))
        listed = scopes.split() if isinstance(scopes, str) else scopes if isinstance(scopes, list) else ()
        known = self._settings.scopes
        permissions = frozenset(known[scope] for scope in listed if isinstance(scope, str) and scope in known)
        if not permissions:
            raise AccessDeniedError("none of the token's scopes allows anything here; known are: " + " ".join(known))
        return permissions


def _principal(claims: Mapping[str, Any]) -> str:
    """Return whom a token speaks for; two subjects must never become one, so nothing is cut."""
    subject = _text(claims, "sub")
    if not subject.strip() or len(subject) > PRINCIPAL_LENGTH_MAX or not subject.isprintable():
        raise AuthenticationError(
            f"the claim sub must be 1 to {PRINCIPAL_LENGTH_MAX} printable characters that are not all blank"
        )
    return subject


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or not value:
        raise AuthenticationError(f"the token has no claim {name!r}")
    return value


def _seconds(claims: Mapping[str, Any], name: str, *, default: int | None = None) -> int:
    """Return a time in whole seconds since the epoch, within the years that a datetime knows."""
    value = claims.get(name, default)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= value < 253_402_300_800:
        raise AuthenticationError(f"the claim {name!r} is no time")
    return int(value)
