"""Identity: the functions understand what they are told of the outside, and a user pool lets in whom it should."""

from collections.abc import Mapping
from typing import Any

import pytest

from infra import identity, names
from s3_agent_memory.domain.access import AccessSettings
from s3_agent_memory.domain.grants import Permission
from s3_agent_memory.edge.mcp.discovery import Discovery
from tests.infra.synthesis import Resource, Template, synthesise

FUNCTIONS = ("authorizer", "mcp_endpoint")
ENDPOINT = "https://abc123.execute-api.eu-central-1.amazonaws.com"
ISSUER = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_pool"
POOL = "AWS::Cognito::UserPool"
CLIENT = "AWS::Cognito::UserPoolClient"
_ATTRIBUTES = {"ApiEndpoint": ENDPOINT, "ProviderURL": ISSUER}
_PSEUDO_PARAMETERS = {"AWS::Region": "eu-central-1", "AWS::AccountId": "123456789012"}


def fill_in(value: Any) -> str:
    """Return what CloudFormation makes of a value."""
    if isinstance(value, str):
        return value
    ((function, argument),) = value.items()
    if function == "Ref":
        return _PSEUDO_PARAMETERS.get(argument, argument)
    if function == "Fn::GetAtt":
        return _ATTRIBUTES[argument[1]]
    if function == "Fn::Join":
        return str(argument[0]).join(fill_in(part) for part in argument[1])
    if function == "Fn::Select":
        return fill_in_split(argument[1])[int(argument[0])]
    raise AssertionError(f"{function} is not known here")


def fill_in_split(value: Mapping[str, Any]) -> list[str]:
    separator, text = value["Fn::Split"]
    return fill_in(text).split(separator)


def access_of(template: Template, name: str) -> AccessSettings:
    """Return what a function makes of its environment when it starts."""
    variables = template.function(name)["Environment"]["Variables"]
    return AccessSettings.from_environment({key: fill_in(value) for key, value in variables.items()})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_deployment_knows_where_it_is_reached_and_accepts_only_its_own_tokens(template: Template, name: str) -> None:
    access = access_of(template, name)
    assert access.public_url == ENDPOINT
    assert access.allowed_hosts == {ENDPOINT.removeprefix("https://")}
    assert access.oidc is None
    # Whoever has a token may call from any page.
    assert not access.allowed_origins


def test_no_other_function_is_told_of_the_outside(template: Template) -> None:
    for resource in template.all("AWS::Lambda::Function").values():
        is_told = names.ENV_PUBLIC_URL in resource["Properties"]["Environment"]["Variables"]
        assert is_told is resource["Properties"]["Description"].endswith(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "context",
    [
        {"publicUrl": "https://memory.example.org"},
        {
            "domainName": "memory.example.org",
            "certificateArn": "arn:aws:acm:eu-central-1:123456789012:certificate/12345678-1234-1234-1234-123456789012",
        },
    ],
    ids=lambda context: next(iter(context)),
)
def test_what_stands_in_front_is_where_clients_reach_it(name: str, context: dict[str, str]) -> None:
    template = synthesise(**context)
    access = access_of(template, name)
    assert access.public_url == "https://memory.example.org"
    # What stands in front calls the API by the name that it has at AWS.
    assert access.allowed_hosts == {ENDPOINT.removeprefix("https://")}
    assert fill_in(template.outputs[names.MCP_URL]["Value"]) == "https://memory.example.org/mcp"
    assert fill_in(template.outputs[names.API_ENDPOINT]["Value"]) == ENDPOINT


def test_pages_that_may_call_are_those_of_the_gateway() -> None:
    template = synthesise(corsAllowOrigins="https://a.example,https://b.example")
    assert access_of(template, "mcp_endpoint").allowed_origins == {"https://a.example", "https://b.example"}


def test_an_identity_provider_is_a_setting() -> None:
    template = synthesise(
        oidcIssuer="https://login.example.org/realm/",
        oidcAudience="https://memory.example.org/mcp,memory",
        oidcJwksUrl="https://login.example.org/keys",
        oidcNamespace="teams/{team}/{sub}",
        oidcScopes="read:memory=read,write:memory=write",
        oidcClientId="connector",
        oidcAuthorizationUrl="https://login.example.org/authorize",
        oidcTokenUrl="https://login.example.org/token",
        oidcRedirectUris="https://claude.ai/api/mcp/auth_callback",
    )
    for name in FUNCTIONS:
        oidc = access_of(template, name).oidc
        assert oidc is not None
        # The claim is compared letter by letter.
        assert oidc.issuer == "https://login.example.org/realm/"
        assert oidc.audiences == {"https://memory.example.org/mcp", "memory"}
        assert oidc.jwks_url == "https://login.example.org/keys"
        assert oidc.scopes == {"read:memory": Permission.READ, "write:memory": Permission.WRITE}
        assert oidc.client is not None
        assert (oidc.client.client_id, oidc.client.token_url) == ("connector", "https://login.example.org/token")


def test_an_issuer_alone_is_enough() -> None:
    template = synthesise(oidcIssuer="https://login.example.org")
    oidc = access_of(template, "authorizer").oidc
    assert oidc is not None
    assert oidc.audiences == {f"{ENDPOINT}/mcp"}


def test_only_the_authorizer_of_a_deployment_with_an_identity_provider_has_what_verifies_its_tokens() -> None:
    template = synthesise(oidcIssuer="https://login.example.org")
    layers = {layer["Ref"].partition("Layer")[0] for layer in template.function("authorizer")["Layers"]}
    assert layers == {"Memory", "Vendor", "Mcp"}


# --- a user pool ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_pool() -> Template:
    return synthesise(cognito="true")


def client_of(template: Template) -> Resource:
    return template.one(CLIENT)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_accept_tokens_of_the_pool(with_pool: Template, name: str) -> None:
    oidc = access_of(with_pool, name).oidc
    assert oidc is not None
    assert oidc.issuer == ISSUER
    assert oidc.audiences == {f"{ENDPOINT}/mcp"}
    (client_id,) = with_pool.all(CLIENT)
    # A token that names no audience names its client.
    assert oidc.client_ids == {client_id}
    assert oidc.scopes == {
        "memory/read": Permission.READ,
        "memory/write": Permission.WRITE,
        "memory/erase": Permission.ERASE,
    }


def test_a_client_that_registers_gets_the_client_of_the_pool(with_pool: Template) -> None:
    oidc = access_of(with_pool, "mcp_endpoint").oidc
    assert oidc is not None
    assert oidc.client is not None
    domain = "https://s3agentmemory-123456789012.auth.eu-central-1.amazoncognito.com"
    # The prefix of the domain refers to the resource that has it.
    (domain_id,) = with_pool.all("AWS::Cognito::UserPoolDomain")
    endpoint = oidc.client.authorization_url.replace(domain_id, "s3agentmemory-123456789012")
    assert endpoint == f"{domain}/oauth2/authorize"
    assert fill_in(with_pool.one("AWS::Cognito::UserPoolDomain")["Domain"]) == "s3agentmemory-123456789012"
    assert list(oidc.client.redirect_uris) == client_of(with_pool)["CallbackURLs"] == list(identity.REDIRECT_URIS)


def test_clients_find_this_origin_in_place_of_the_pool(with_pool: Template) -> None:
    discovery = Discovery(access_of(with_pool, "mcp_endpoint"))
    assert discovery.scopes == ["memory/read", "memory/write"]
    reply = discovery.answer("GET", "/.well-known/oauth-authorization-server", b"")
    assert reply.status == 200
    assert b'"registration_endpoint":"' + ENDPOINT.encode() + b'/register"' in reply.body.replace(b": ", b":")


def test_the_client_is_public_and_may_do_no_more_than_get_codes(with_pool: Template) -> None:
    client = client_of(with_pool)
    assert client["GenerateSecret"] is False
    assert client["AllowedOAuthFlows"] == ["code"]
    (server_id,) = with_pool.all("AWS::Cognito::UserPoolResourceServer")
    scopes = {fill_in(scope).replace(server_id, identity.RESOURCE_SERVER) for scope in client["AllowedOAuthScopes"]}
    assert scopes == {"memory/read", "memory/write", "memory/erase"}
    assert client["PreventUserExistenceErrors"] == "ENABLED"


def test_callbacks_are_a_setting() -> None:
    template = synthesise(cognito="true", oidcRedirectUris="https://example.org/callback")
    assert client_of(template)["CallbackURLs"] == ["https://example.org/callback"]


def test_nobody_signs_himself_up(with_pool: Template) -> None:
    assert with_pool.one(POOL)["AdminCreateUserConfig"]["AllowAdminCreateUserOnly"] is True


def test_the_pool_stays_when_the_stack_goes_as_the_bucket_does(with_pool: Template) -> None:
    (pool,) = with_pool.all(POOL).values()
    assert (pool["DeletionPolicy"], pool["Properties"]["DeletionProtection"]) == ("Retain", "ACTIVE")
    (pool,) = synthesise(cognito="true", removalPolicy="destroy").all(POOL).values()
    assert pool["DeletionPolicy"] == "Delete"


def test_there_is_no_pool_unless_it_is_asked_for(template: Template) -> None:
    assert not [resource for resource in template.body["Resources"].values() if "Cognito" in resource["Type"]]


def test_the_stack_tells_where_pool_and_client_are(with_pool: Template) -> None:
    assert set(with_pool.outputs) >= {names.USER_POOL_ID, names.OAUTH_CLIENT_ID}
