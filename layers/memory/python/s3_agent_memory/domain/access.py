"""How the outside reaches a deployment and proves who it is: plain settings, checked once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import urlsplit

from s3_agent_memory import names
from s3_agent_memory.domain.claims import NamespaceTemplate
from s3_agent_memory.domain.grants import Permission, parse_permissions
from s3_agent_memory.errors import ValidationError

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_DEFAULT_SCOPES: Final = "memory:read=read memory:write=write memory:erase=erase"
_DEFAULT_NAMESPACE: Final = "users/{sub}"


def is_loopback(host: str) -> bool:
    """Return True if a host name is this machine."""
    return host.lower() in _LOOPBACK


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthClient:
    """The one public client that every OAuth client of this deployment is given when it registers.

    Attributes:
        client_id: of a client without a secret at the identity provider.
        authorization_url, token_url: endpoints of the identity provider.
        redirect_uris: the ones that the provider knows for this client.
    """

    client_id: str
    authorization_url: str
    token_url: str
    redirect_uris: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    """Whose access tokens are accepted, and what they grant.

    Attributes:
        issuer: must equal the ``iss`` claim exactly.
        audiences: one of them must be in the ``aud`` claim.
        client_ids: a token that has no audience is accepted if it was issued to one of these clients.
        jwks_url: where the issuer's keys lie; None asks the issuer's discovery document.
        namespace: how claims name the namespace.
        scopes: the permission of each scope; all other scopes mean nothing.
        client: handed out at registration, if there is one.
    """

    issuer: str
    audiences: frozenset[str]
    client_ids: frozenset[str]
    jwks_url: str | None
    namespace: NamespaceTemplate
    scopes: Mapping[str, Permission]
    client: OAuthClient | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessSettings:
    """Where a deployment is reached and which tokens it accepts besides its own.

    Attributes:
        public_url: scheme and host as clients type it, without a path; None if it is not known.
        allowed_hosts: further values of the ``Host`` header.
        allowed_origins: web pages that may call; empty allows all, except that a deployment on this machine allows only
            pages of this machine.
        oidc: None accepts no tokens but the store's own.
    """

    public_url: str | None = None
    allowed_hosts: frozenset[str] = frozenset()
    allowed_origins: frozenset[str] = frozenset()
    oidc: OidcSettings | None = None

    @property
    def resource_url(self) -> str | None:
        """The URL of the MCP endpoint, which is also what tokens are issued for."""
        return None if self.public_url is None else self.public_url + names.MCP_PATH

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Return the settings that the environment variables of ``names`` describe.

        Raises:
            ValidationError: one is wrong; the message names it.
        """
        public_url = _url(environ, names.ENV_PUBLIC_URL)
        if public_url is not None and urlsplit(public_url).path:
            raise ValidationError(f"{names.ENV_PUBLIC_URL} must be a scheme and a host, without a path")
        return cls(
            public_url=public_url,
            allowed_hosts=frozenset(_words(environ, names.ENV_ALLOWED_HOSTS)),
            allowed_origins=frozenset(_words(environ, names.ENV_ALLOWED_ORIGINS)),
            oidc=_oidc(environ, public_url),
        )


def _oidc(environ: Mapping[str, str], public_url: str | None) -> OidcSettings | None:
    if not environ.get(names.ENV_OIDC_ISSUER):
        return None
    _url(environ, names.ENV_OIDC_ISSUER)
    own_audience = () if public_url is None else (public_url + names.MCP_PATH,)
    audiences = _words(environ, names.ENV_OIDC_AUDIENCE) or own_audience
    if not audiences:
        raise ValidationError(f"{names.ENV_OIDC_ISSUER} needs {names.ENV_OIDC_AUDIENCE} or {names.ENV_PUBLIC_URL}")
    return OidcSettings(
        # The claim is compared letter by letter, so not even a slash at the end is taken away.
        issuer=environ[names.ENV_OIDC_ISSUER],
        audiences=frozenset(audiences),
        client_ids=frozenset(_words(environ, names.ENV_OIDC_CLIENT_ID)),
        jwks_url=_url(environ, names.ENV_OIDC_JWKS_URL),
        namespace=NamespaceTemplate.parse(environ.get(names.ENV_OIDC_NAMESPACE) or _DEFAULT_NAMESPACE),
        scopes=_scopes(environ.get(names.ENV_OIDC_SCOPES) or _DEFAULT_SCOPES),
        client=_client(environ),
    )


def _client(environ: Mapping[str, str]) -> OAuthClient | None:
    authorization_url = _url(environ, names.ENV_OIDC_AUTHORIZATION_URL)
    if authorization_url is None:
        return None
    token_url = _url(environ, names.ENV_OIDC_TOKEN_URL)
    client_ids = _words(environ, names.ENV_OIDC_CLIENT_ID)
    redirect_uris = _words(environ, names.ENV_OIDC_REDIRECT_URIS)
    if token_url is None or len(client_ids) != 1 or not redirect_uris:
        raise ValidationError(
            f"{names.ENV_OIDC_AUTHORIZATION_URL} needs {names.ENV_OIDC_TOKEN_URL}, {names.ENV_OIDC_REDIRECT_URIS} and "
            f"one client in {names.ENV_OIDC_CLIENT_ID}"
        )
    return OAuthClient(
        client_id=client_ids[0],
        authorization_url=authorization_url,
        token_url=token_url,
        redirect_uris=redirect_uris,
    )


def _scopes(text: str) -> dict[str, Permission]:
    pairs = [word.rpartition("=") for word in text.split()]
    if not all(scope and separator for scope, separator, _ in pairs):
        raise ValidationError(f"{names.ENV_OIDC_SCOPES} must be pairs such as 'memory:read=read memory:write=write'")
    return {scope: next(iter(parse_permissions([permission]))) for scope, _, permission in pairs}


def _words(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(environ.get(name, "").replace(",", " ").split())


def _url(environ: Mapping[str, str], name: str) -> str | None:
    text = environ.get(name)
    if not text:
        return None
    if not _is_safe_url(text):
        raise ValidationError(f"{name} must be an https:// URL without query (http:// only on this machine)")
    return text.rstrip("/")


def _is_safe_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    host = parts.hostname or ""
    is_guarded = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    return is_guarded and bool(host) and not parts.query and not parts.fragment and text.isprintable()
