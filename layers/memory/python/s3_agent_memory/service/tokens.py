"""Access tokens: created once, stored as a hash, revoked by deletion."""

import builtins
from contextlib import suppress
from typing import Final

from s3_agent_memory import names
from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.grants import (
    TOKEN_PREFIX,
    Grant,
    new_token,
    parse_permissions,
    token_id_of,
)
from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.domain.keys import format_namespace, parse_namespace
from s3_agent_memory.domain.memory import check_label, expiry_after
from s3_agent_memory.domain.timestamps import format_timestamp, parse_timestamp
from s3_agent_memory.errors import (
    AuthenticationError,
    ConflictError,
    CorruptError,
    NotFoundError,
    PreconditionFailedError,
    ThrottledError,
    UnknownOutcomeError,
    ValidationError,
)
from s3_agent_memory.service.listing import pages
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.storage.port import StoredObject

SCHEMA_VERSION: Final = 1
_GRANT_BYTES_MAX: Final = 64 * 1024
_ID_PREFIX_LENGTH_MIN: Final = 8
_TOKEN_LENGTH_MAX: Final = 512


class TokenService:
    """Creates, verifies, lists and revokes tokens of one store."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def create(
        self,
        *,
        principal: str,
        namespace: str,
        covers_children: bool = False,
        permissions: tuple[str, ...] = ("read", "write"),
        ttl: float | None = None,
    ) -> tuple[str, Grant]:
        """Store a grant and return its token, which is shown this once only, with the grant.

        Args:
            ttl: seconds until the token expires; None for never.

        Raises:
            ValidationError: an argument is wrong.

        Example:
            >>> token, grant = tokens.create(principal="alice", namespace="users/alice")  # doctest: +SKIP
        """
        now_us = self._runtime.clock.now_us()
        checked = check_label(principal, self._runtime.limits, field_name="principal")
        if checked is None:
            raise ValidationError("principal must be text that is not empty")
        token = new_token(self._runtime.entropy)
        grant = Grant(
            token_id=token_id_of(token),
            principal=checked,
            namespace=parse_namespace(namespace),
            covers_children=covers_children,
            permissions=parse_permissions(permissions),
            created_at=to_datetime(now_us),
            expires_at=None if ttl is None else expiry_after(now_us, ttl),
        )
        self._write(grant)
        return token, grant

    def _write(self, grant: Grant) -> None:
        key = _key_of(grant.token_id)
        for _ in self._runtime.retrier.attempts("write a token"):
            try:
                self._runtime.store.put(key, _encode_grant(grant), if_absent=True)
            except PreconditionFailedError:
                # The key is the hash of 256 random bits: what lies there is an earlier attempt.
                if self._runtime.store.get(key, size_max=1) is None:
                    continue
            except (ThrottledError, UnknownOutcomeError):
                continue
            return

    def verify(self, token: str) -> Grant:
        """Return what a token grants.

        Raises:
            AuthenticationError: the token is unknown, revoked or expired.
        """
        if not token.startswith(TOKEN_PREFIX) or len(token) > _TOKEN_LENGTH_MAX:
            raise AuthenticationError("the token is not one of this store")
        grant = self._read(token_id_of(token))
        if grant is None or grant.is_expired(self._runtime.clock.now_us()):
            raise AuthenticationError("the token is unknown, revoked or expired")
        return grant

    def list(self) -> list[Grant]:
        """Return all grants that can be read, expired ones included, without their tokens."""
        grants: builtins.list[Grant] = []
        for token_id in self._ids():
            with suppress(CorruptError):
                grant = self._read(token_id)
                grants.extend([grant] if grant else [])
        return sorted(grants, key=lambda grant: (grant.created_at, grant.token_id))

    def _ids(self) -> builtins.list[str]:
        return [
            item.key.removeprefix(names.TOKEN_PREFIX).removesuffix(names.OBJECT_SUFFIX)
            for page in pages(self._runtime.store, names.TOKEN_PREFIX)
            for item in page
        ]

    def revoke(self, token_id: str) -> str:
        """Delete the grant whose id starts with ``token_id`` (at least 8 hexadecimal digits) and return its whole id.

        A grant that cannot be read is revoked like any other.

        Raises:
            ValidationError: the id is too short.
            NotFoundError: there is no such grant.
            ConflictError: several grants begin like that.
        """
        if len(token_id) < _ID_PREFIX_LENGTH_MIN or not set(token_id) <= set("0123456789abcdef"):
            raise ValidationError(f"a token id is at least {_ID_PREFIX_LENGTH_MIN} hexadecimal digits; see token list")
        found = [candidate for candidate in self._ids() if candidate.startswith(token_id)]
        if not found:
            raise NotFoundError(f"there is no token {token_id}")
        if len(found) > 1:
            raise ConflictError(f"{len(found)} tokens begin with {token_id}; give more digits")
        self._runtime.store.delete(_key_of(found[0]))
        return found[0]

    def _read(self, token_id: str) -> Grant | None:
        key = _key_of(token_id)
        found = self._runtime.store.get(key, size_max=_GRANT_BYTES_MAX)
        return None if found is None else _decode_grant(found, key, token_id)


def _key_of(token_id: str) -> str:
    return f"{names.TOKEN_PREFIX}{token_id}{names.OBJECT_SUFFIX}"


def _encode_grant(grant: Grant) -> bytes:
    return encode_json(
        {
            "schema": SCHEMA_VERSION,
            "principal": grant.principal,
            "namespace": format_namespace(grant.namespace),
            "covers_children": grant.covers_children,
            "permissions": sorted(grant.permissions),
            "created_at": format_timestamp(grant.created_at),
            "expires_at": None if grant.expires_at is None else format_timestamp(grant.expires_at),
        }
    )


def _decode_grant(found: StoredObject, key: str, token_id: str) -> Grant:
    try:
        document = decode_json(found.body)
        if not isinstance(document, dict) or document.get("schema") != SCHEMA_VERSION:
            raise ValidationError("not a grant of schema 1")
        expires_at = document.get("expires_at")
        permissions = document.get("permissions")
        return Grant(
            token_id=token_id,
            principal=_check_principal(document.get("principal")),
            namespace=parse_namespace(document.get("namespace")),
            covers_children=document.get("covers_children") is True,
            permissions=parse_permissions(permissions if isinstance(permissions, list) else ()),
            created_at=parse_timestamp(document.get("created_at"), field="created_at"),
            expires_at=None if expires_at is None else parse_timestamp(expires_at, field="expires_at"),
        )
    except ValidationError as error:
        raise CorruptError(f"{key} holds no readable grant: {error}", key=key) from error


def _check_principal(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValidationError("the principal is missing")
    encode_json(value)  # Refuses a text that no list of tokens could show.
    return value
