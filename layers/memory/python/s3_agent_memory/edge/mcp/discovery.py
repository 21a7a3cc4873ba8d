"""What OAuth clients look up before they have a token: metadata documents, and the registration of a client.

The identity provider authorizes and issues tokens. If it cannot register clients (Amazon Cognito cannot), this origin
stands in front of it as far as metadata goes: it names the provider's endpoints and hands every client the one public
client that was made beforehand. It stores nothing and sees neither passwords nor tokens.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from s3_agent_memory import names
from s3_agent_memory.domain.access import AccessSettings, OAuthClient
from s3_agent_memory.domain.grants import Permission
from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.edge.mcp.messages import JSON, Reply
from s3_agent_memory.errors import ValidationError

RESOURCE_METADATA_PATH: Final = names.WELL_KNOWN_PREFIX + "oauth-protected-resource"
# The path of the resource may be appended (RFC 9728, section 3.1); clients look in one place or the other.
_RESOURCE_PATHS: Final = frozenset({RESOURCE_METADATA_PATH, RESOURCE_METADATA_PATH + names.MCP_PATH})
_SERVER_PATHS: Final = frozenset(
    {names.WELL_KNOWN_PREFIX + "oauth-authorization-server", names.WELL_KNOWN_PREFIX + "openid-configuration"}
)
_REGISTRATION_BYTES_MAX: Final = 64 * 1024
_REDIRECT_URI_COUNT_MAX: Final = 50
_NOT_FOUND: Final = {"error": "not_found", "error_description": "there is no such path"}
_GRANT_TYPES: Final = ("authorization_code", "refresh_token")


@dataclass(frozen=True, slots=True)
class Discovery:
    """Answers the public paths beside the MCP endpoint."""

    settings: AccessSettings

    @property
    def metadata_url(self) -> str | None:
        """Where the metadata of the protected resource lies."""
        base = self.settings.public_url
        return None if base is None else base + RESOURCE_METADATA_PATH + names.MCP_PATH

    @property
    def scopes(self) -> list[str]:
        """The scopes that the tools need, to ask for no more."""
        granted = {} if self.settings.oidc is None else self.settings.oidc.scopes
        return [scope for scope, permission in granted.items() if permission in (Permission.READ, Permission.WRITE)]

    def answer(self, method: str, path: str, body: bytes) -> Reply:
        """Return the reply for any path but the endpoint's own; what is not known is 404."""
        document = self._metadata(path)
        client = None if self.settings.oidc is None else self.settings.oidc.client
        if document is not None:
            return _reply(HTTPStatus.OK, document) if method in ("GET", "HEAD") else _not_allowed("GET, HEAD")
        if path == names.REGISTRATION_PATH and client is not None:
            return register(client, body) if method == "POST" else _not_allowed("POST")
        return _reply(HTTPStatus.NOT_FOUND, _NOT_FOUND)

    def _metadata(self, path: str) -> dict[str, object] | None:
        if path in _RESOURCE_PATHS:
            return self._resource_metadata()
        return self._server_metadata() if path in _SERVER_PATHS else None

    def _resource_metadata(self) -> dict[str, object] | None:
        """Return the metadata of the protected resource (RFC 9728)."""
        if self.settings.resource_url is None:
            return None
        document: dict[str, object] = {
            "resource": self.settings.resource_url,
            "resource_name": "Agent memory",
            "bearer_methods_supported": ["header"],
        }
        if self.settings.oidc is None:
            return document
        stands_in = self.settings.oidc.client is not None
        server = self.settings.public_url if stands_in else self.settings.oidc.issuer
        return document | {"authorization_servers": [server], "scopes_supported": self.scopes}

    def _server_metadata(self) -> dict[str, object] | None:
        """Return the metadata of the authorization server that this origin stands in for (RFC 8414)."""
        base, oidc = self.settings.public_url, self.settings.oidc
        if base is None or oidc is None or oidc.client is None:
            return None
        return {
            "issuer": base,
            "authorization_endpoint": oidc.client.authorization_url,
            "token_endpoint": oidc.client.token_url,
            "registration_endpoint": base + names.REGISTRATION_PATH,
            "scopes_supported": self.scopes,
            "response_types_supported": ["code"],
            "grant_types_supported": list(_GRANT_TYPES),
            "token_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
        }


def register(client: OAuthClient, body: bytes) -> Reply:
    """Return the answer to a registration (RFC 7591): the public client, with those redirects that it may use."""
    try:
        wanted = _redirect_uris(body)
    except ValidationError as error:
        return _refuse("invalid_client_metadata", str(error))
    allowed = [uri for uri in wanted if uri in client.redirect_uris]
    if not allowed:
        return _refuse("invalid_redirect_uri", "none of the redirect_uris is set up at the identity provider")
    document = {
        "client_id": client.client_id,
        "redirect_uris": allowed,
        "grant_types": list(_GRANT_TYPES),
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    return _reply(HTTPStatus.CREATED, document, cache_control="no-store")


def _redirect_uris(body: bytes) -> list[str]:
    if len(body) > _REGISTRATION_BYTES_MAX:
        raise ValidationError(f"a registration has at most {_REGISTRATION_BYTES_MAX} bytes")
    document = decode_json(body)
    uris: Any = document.get("redirect_uris") if isinstance(document, dict) else None
    is_list = isinstance(uris, list) and 1 <= len(uris) <= _REDIRECT_URI_COUNT_MAX
    if not is_list or not all(isinstance(uri, str) for uri in uris):
        raise ValidationError(f"redirect_uris must be a list of 1 to {_REDIRECT_URI_COUNT_MAX} URLs")
    return list(uris)


def _refuse(error: str, description: str) -> Reply:
    return _reply(HTTPStatus.BAD_REQUEST, {"error": error, "error_description": description}, cache_control="no-store")


def _not_allowed(allow: str) -> Reply:
    return Reply(status=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": allow})


def _reply(status: HTTPStatus, document: Mapping[str, object], *, cache_control: str = "max-age=300") -> Reply:
    headers = {"Content-Type": JSON, "Cache-Control": cache_control}
    return Reply(status=status, body=encode_json(document), headers=headers)
