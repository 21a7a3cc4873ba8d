"""What a token allows: one namespace or everything below one, and what may be done there."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from s3_agent_memory.domain.clock import Entropy, to_datetime
from s3_agent_memory.domain.keys import Namespace, format_namespace, parse_namespace
from s3_agent_memory.errors import AccessDeniedError, ValidationError

TOKEN_PREFIX: Final = "sam_"


class Permission(StrEnum):
    """What a grant may allow; ``admin`` includes all others."""

    READ = "read"
    WRITE = "write"
    ERASE = "erase"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What the bearer of a token may do.

    Attributes:
        token_id: the SHA-256 of the token in hexadecimal; names the grant, reveals nothing.
        principal: who the bearer is.
        namespace: the namespace itself, or the root of many when ``covers_children``.
        covers_children: True if the bearer may choose any namespace below ``namespace`` (and itself).
        permissions: what is allowed there.
        expires_at: from then on the token is refused.
    """

    token_id: str
    principal: str
    namespace: Namespace
    covers_children: bool
    permissions: frozenset[Permission]
    created_at: datetime
    expires_at: datetime | None = None

    def is_expired(self, now_us: int) -> bool:
        """Return True if the token must be refused at ``now_us``."""
        return self.expires_at is not None and self.expires_at <= to_datetime(now_us)

    def require(self, permission: Permission) -> None:
        """Do nothing if the permission is granted.

        Raises:
            AccessDeniedError: it is not.
        """
        if permission not in self.permissions and Permission.ADMIN not in self.permissions:
            raise AccessDeniedError(f"this token does not have the permission {permission.value!r}")

    def resolve_namespace(self, requested: str | None) -> Namespace:
        """Return the namespace a request works in; it never lies outside the grant.

        Args:
            requested: the namespace asked for, or None for the grant's own.

        Raises:
            ValidationError: it is not a namespace.
            AccessDeniedError: it lies outside the grant.
        """
        if requested is None:
            return self.namespace
        namespace = parse_namespace(requested)
        root_length = len(self.namespace) if self.covers_children else len(namespace)
        if namespace[:root_length] != self.namespace:
            raise AccessDeniedError(f"this token does not cover the namespace {format_namespace(namespace)}")
        return namespace


def new_token(entropy: Entropy) -> str:
    """Return a fresh secret token of 256 random bits."""
    return TOKEN_PREFIX + entropy.random_bytes(32).hex()


def token_id_of(token: str) -> str:
    """Return the SHA-256 of a token in hexadecimal, under which its grant is stored."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def parse_permissions(values: Iterable[object]) -> frozenset[Permission]:
    """Return a set of permissions.

    Raises:
        ValidationError: one is unknown, or there is none.
    """
    try:
        permissions = frozenset(Permission(str(value)) for value in values)
    except ValueError:
        permissions = frozenset()
    if not permissions:
        raise ValidationError("permissions must be one or more of: " + ", ".join(Permission))
    return permissions
