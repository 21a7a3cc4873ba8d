"""The settings that say how a deployment is reached and whose tokens it accepts."""

import pytest

from s3_agent_memory import names
from s3_agent_memory.domain.access import AccessSettings
from s3_agent_memory.errors import ValidationError

OIDC = {"PUBLIC_URL": "https://memory.example.com", "OIDC_ISSUER": "https://login.example.com/"}
CLIENT = {
    "OIDC_CLIENT_ID": "client",
    "OIDC_AUTHORIZATION_URL": "https://login.example.com/authorize",
    "OIDC_TOKEN_URL": "https://login.example.com/token",
    "OIDC_REDIRECT_URIS": "https://claude.ai/api/mcp/auth_callback http://localhost:3118/callback",
}


def parse(**environment):
    return AccessSettings.from_environment({names.ENV_PREFIX + name: value for name, value in environment.items()})


def test_nothing_set_accepts_only_the_stores_own_tokens():
    assert parse() == AccessSettings()
    assert parse().resource_url is None


def test_the_resource_is_the_endpoint_below_the_public_url():
    assert parse(PUBLIC_URL="https://memory.example.com/").resource_url == "https://memory.example.com/mcp"


def test_lists_may_be_separated_by_spaces_or_commas():
    settings = parse(ALLOWED_HOSTS="a.example, b.example c.example")
    assert settings.allowed_hosts == {"a.example", "b.example", "c.example"}


def test_an_issuer_is_enough():
    oidc = parse(**OIDC).oidc
    assert (oidc.issuer, oidc.audiences) == ("https://login.example.com/", {"https://memory.example.com/mcp"})
    assert (oidc.namespace.segments, oidc.client, oidc.client_ids) == (("users", "{sub}"), None, set())
    assert oidc.scopes == {"memory:read": "read", "memory:write": "write", "memory:erase": "erase"}


def test_a_client_is_handed_out_when_its_endpoints_are_known():
    client = parse(**OIDC, **CLIENT).oidc.client
    assert (client.client_id, len(client.redirect_uris)) == ("client", 2)


@pytest.mark.parametrize(
    "environment",
    [
        {"PUBLIC_URL": "memory.example.com"},
        {"PUBLIC_URL": "http://memory.example.com"},
        {"PUBLIC_URL": "https://memory.example.com/base"},
        {"PUBLIC_URL": "https://memory.example.com?x=1"},
        {"PUBLIC_URL": "https://[x"},
        {"PUBLIC_URL": "https://"},
        {"PUBLIC_URL": 'https://memory.example.com\r\nX: "'},
        {"OIDC_ISSUER": "https://login.example.com"},
        OIDC | {"OIDC_ISSUER": "http://login.example.com"},
        OIDC | {"OIDC_ISSUER": "login"},
        OIDC | {"OIDC_JWKS_URL": "http://login.example.com/keys"},
        OIDC | {"OIDC_NAMESPACE": "users"},
        OIDC | {"OIDC_SCOPES": "memory:read"},
        OIDC | {"OIDC_SCOPES": "memory:read=everything"},
        OIDC | {"OIDC_SCOPES": "=read"},
        OIDC | {name: value for name, value in CLIENT.items() if name != "OIDC_TOKEN_URL"},
        OIDC | {name: value for name, value in CLIENT.items() if name != "OIDC_REDIRECT_URIS"},
        OIDC | CLIENT | {"OIDC_CLIENT_ID": "one two"},
    ],
)
def test_wrong_settings_are_refused(environment):
    with pytest.raises(ValidationError):
        parse(**environment)


def test_this_machine_may_do_without_tls():
    assert parse(PUBLIC_URL="http://127.0.0.1:8787", OIDC_ISSUER="http://localhost:9000").oidc is not None
