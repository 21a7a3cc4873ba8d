"""Access tokens of an identity provider: signatures, claims, namespaces, scopes, and how keys are kept."""

import base64
import hashlib
import hmac
import json

import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from s3_agent_memory.domain.access import AccessSettings
from s3_agent_memory.edge.oidc import OidcVerifier
from s3_agent_memory.edge.oidc_keys import DOCUMENT_BYTES_MAX, FRESH_SECONDS, REFRESH_PAUSE_SECONDS, STALE_SECONDS
from s3_agent_memory.errors import AuthenticationError, BackendError
from tests.fakes.clock import FakeClock
from tests.functions.deployment import answer_of, make_event
from tests.mcp.identity_provider import IdentityProvider, SigningKey
from tests.mcp.remote import API_HOST, PUBLIC_URL, Deployment, Remote, request

PREFIX = "S3_AGENT_MEMORY_"


@pytest.fixture
def provider():
    with IdentityProvider() as provider:
        yield provider


def access(provider, **environment):
    settings = {"PUBLIC_URL": PUBLIC_URL, "ALLOWED_HOSTS": API_HOST, "OIDC_ISSUER": provider.issuer} | environment
    return AccessSettings.from_environment({PREFIX + name: value for name, value in settings.items()})


def make_verifier(provider, clock=None, **environment):
    return OidcVerifier(access(provider, **environment).oidc, clock=clock or FakeClock("2026-11-30T12:00:00Z"))


def now_s(clock):
    return clock.now_us() // 1_000_000


@pytest.fixture
def clock():
    return FakeClock("2026-11-30T12:00:00Z")


# Through the whole endpoint ------------------------------------------------------------------------------------------


@pytest.fixture
def deployment(provider):
    return Deployment(access(provider))


def test_a_token_of_the_provider_reaches_the_namespace_of_its_subject(provider, deployment):
    alice = Remote(deployment, provider.token())
    alice.answer("remember", content="Alice is vegetarian")
    assert deployment.memories.namespaces() == ["users/auth0+7Calice"]
    assert len(alice.answer("recall", query="vegetarian")["memories"]) == 1


def test_two_subjects_never_meet(provider, deployment):
    subjects = ["auth0|alice", "auth0+7Calice", "auth0/alice", "alice", "Alice", "alice.", "../alice", "semantic"]
    for subject in subjects:
        Remote(deployment, provider.token(sub=subject)).answer("remember", content=f"secret of {subject}")
    for subject in subjects:
        found = Remote(deployment, provider.token(sub=subject)).answer("recall", query="secret")["memories"]
        assert [memory["content"] for memory in found] == [f"secret of {subject}"]


def test_both_kinds_of_tokens_are_taken(provider, deployment):
    assert deployment.caller().modern("tools/list").status == 200
    assert Remote(deployment, provider.token()).modern("tools/list").status == 200


@pytest.mark.parametrize(
    ("scope", "tools"),
    [
        ("memory:read", {"recall", "list", "get"}),
        ("memory:write openid", {"remember", "update", "forget"}),
        ("profile memory:read memory:write", {"recall", "list", "get", "remember", "update", "forget"}),
    ],
)
def test_scopes_are_permissions(provider, deployment, scope, tools):
    answer = Remote(deployment, provider.token(scope=scope)).modern("tools/list")
    assert {tool["name"] for tool in answer.json["result"]["tools"]} == tools


@pytest.mark.parametrize("scope", ["openid profile", "", None, "memory:admin", "MEMORY:READ", 7])
def test_a_token_whose_scopes_allow_nothing_is_403(provider, deployment, scope):
    answer = Remote(deployment, provider.token(scope=scope)).modern("tools/list")
    challenge = answer.headers["www-authenticate"]
    assert (answer.status, answer.json["error"]["data"]) == (403, {"code": "forbidden"})
    assert 'error="insufficient_scope", scope="memory:read memory:write"' in challenge


def test_a_token_that_is_not_valid_is_401_with_scopes_and_metadata(provider, deployment):
    answer = Remote(deployment, provider.token(exp=1)).modern("tools/list")
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == (
        'Bearer error="invalid_token", scope="memory:read memory:write", '
        f'resource_metadata="{PUBLIC_URL}/.well-known/oauth-protected-resource/mcp"'
    )


def test_a_provider_that_is_down_fails_the_authorizer_so_that_the_gateway_keeps_no_answer(provider, deployment):
    provider.is_down = True
    with pytest.raises(BackendError):
        Remote(deployment, provider.token()).modern("tools/list")


def test_a_cached_grant_ends_when_its_token_does(provider):
    clock = FakeClock("2026-11-30T12:00:00Z")
    deployment = Deployment(access(provider), clock=clock)
    token = provider.token(iat=now_s(clock), exp=now_s(clock) + 60)
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    event = deployment.authorized(make_event("POST", "/mcp", request("tools/list"), headers))
    assert answer_of(deployment.endpoint.handle(event)).status == 200
    clock.advance(61)
    assert answer_of(deployment.endpoint.handle(event)).status == 401


# Signatures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["RS256", "RS512", "PS256", "ES256"])
def test_asymmetric_algorithms_are_taken(provider, clock, algorithm):
    provider.keys = [SigningKey("k", algorithm)]
    if algorithm != "RS256":
        provider.keys[0].public["alg"] = algorithm
    assert make_verifier(provider, clock).verify(provider.token(now_s=now_s(clock))).principal == "auth0|alice"


def public_pem(key):
    encoding = serialization.Encoding.PEM
    return key.private.public_key().public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)


def unsigned(claims, algorithm="none"):
    def encode(document):
        return base64.urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()

    return f"{encode({'alg': algorithm, 'kid': 'rsa-1', 'typ': 'JWT'})}.{encode(claims)}."


def hmac_with_public_key(provider, claims):
    head = unsigned(claims, "HS256").rstrip(".")
    signature = hmac.new(public_pem(provider.keys[0]), head.encode(), hashlib.sha256).digest()
    return f"{head}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def test_no_signature_is_no_token(provider, clock):
    claims = provider.claims(now_s=now_s(clock))
    stranger = SigningKey("rsa-1", "RS256")
    whole = provider.keys[0].sign(claims)
    head, body, signature = whole.split(".")
    other_body = provider.keys[0].sign(claims | {"sub": "bob"}).split(".")[1]
    for token in (
        unsigned(claims),
        unsigned(claims, "None"),
        unsigned(claims, "RS256"),
        hmac_with_public_key(provider, claims),
        stranger.sign(claims),
        f"{head}.{other_body}.{signature}",
        f"{head}.{body}.",
        f"{head}.{body}",
        f"{head}.{body}.{signature}.{signature}",
        whole + "é",
        "x" * 10_000,
        "..",
    ):
        with pytest.raises(AuthenticationError):
            make_verifier(provider, clock).verify(token)


def test_a_key_that_came_with_the_token_is_worth_nothing(provider, clock):
    stranger = SigningKey("mine", "RS256")
    token = stranger.sign(provider.claims(now_s=now_s(clock)), jwk=stranger.public, jku="http://127.0.0.1:1/keys")
    with pytest.raises(AuthenticationError):
        make_verifier(provider, clock).verify(token)


@pytest.mark.parametrize("headers", [{"crit": ["exp"]}, {"typ": "id+jwt"}, {"typ": "logout+jwt"}])
def test_a_header_that_means_something_else_is_refused(provider, clock, headers):
    token = provider.keys[0].sign(provider.claims(now_s=now_s(clock)), **headers)
    with pytest.raises(AuthenticationError):
        make_verifier(provider, clock).verify(token)


def test_an_algorithm_that_does_not_fit_the_key_is_refused(provider, clock):
    provider.keys = [SigningKey("k", "RS256")]
    provider.keys[0].public["alg"] = "RS256"
    token = jwt.encode(
        provider.claims(now_s=now_s(clock)), provider.keys[0].private, algorithm="PS256", headers={"kid": "k"}
    )
    with pytest.raises(AuthenticationError):
        make_verifier(provider, clock).verify(token)


# Claims --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "https://other.example/mcp"},
        {"aud": []},
        {"aud": None},
        {"aud": [7]},
        {"aud": PUBLIC_URL},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"exp": None},
        {"exp": 1},
        {"exp": "soon"},
        {"exp": True},
        {"exp": 1e300},
        {"nbf": 4_000_000_000},
        {"iat": 4_000_000_000},
        {"token_use": "id"},
    ],
)
def test_claims_that_are_not_right_are_refused(provider, clock, changes):
    claims = provider.claims(now_s=now_s(clock)) | changes
    given = json.dumps({name: value for name, value in claims.items() if value is not None})
    # Signed as bytes: the library would refuse to sign some of these.
    token = jwt.api_jws.encode(given.encode(), provider.keys[0].private, algorithm="RS256", headers={"kid": "rsa-1"})
    with pytest.raises(AuthenticationError):
        make_verifier(provider, clock).verify(token)


def test_the_issuer_is_compared_letter_by_letter(provider, clock):
    with pytest.raises(AuthenticationError):
        make_verifier(provider, clock).verify(provider.token(now_s=now_s(clock), iss=provider.issuer + "/"))


def test_one_of_many_audiences_is_enough(provider, clock):
    token = provider.token(now_s=now_s(clock), aud=["other", f"{PUBLIC_URL}/mcp"])
    make_verifier(provider, clock).verify(token)


def test_a_small_difference_of_clocks_is_borne(provider, clock):
    token = provider.token(now_s=now_s(clock), iat=now_s(clock) + 30, nbf=now_s(clock) + 30)
    make_verifier(provider, clock).verify(token)


@pytest.mark.parametrize(("client_id", "is_valid"), [("app", True), ("other", False), (None, False)])
def test_a_token_without_audience_is_taken_of_known_clients_only(provider, clock, client_id, is_valid):
    verifier = make_verifier(provider, clock, OIDC_CLIENT_ID="app")
    token = provider.token(now_s=now_s(clock), aud=None, client_id=client_id, token_use="access")
    if is_valid:
        verifier.verify(token)
        return
    with pytest.raises(AuthenticationError):
        verifier.verify(token)


def test_a_template_and_scopes_of_the_deployment_are_used(provider, clock):
    verifier = make_verifier(
        provider,
        clock,
        OIDC_NAMESPACE="tenants/{custom:tenant}/{email}",
        OIDC_SCOPES="mem/r=read mem/all=admin",
        OIDC_AUDIENCE="api://memory",
    )
    changes = {"custom:tenant": "a/b", "email": "alice@example.com", "scp": ["mem/r"], "scope": None}
    grant = verifier.verify(provider.token(now_s=now_s(clock), aud="api://memory", **changes))
    assert grant.namespace == ("tenants", "a+2Fb", "alice@example.com")
    assert (grant.permissions, grant.covers_children) == ({"read"}, False)


def test_a_token_without_the_claim_of_the_template_is_refused(provider, clock):
    with pytest.raises(AuthenticationError):
        make_verifier(provider, clock, OIDC_NAMESPACE="{tenant}/{sub}").verify(provider.token(now_s=now_s(clock)))


# Keys ----------------------------------------------------------------------------------------------------------------


def test_keys_are_fetched_once_and_kept(provider, clock):
    verifier = make_verifier(provider, clock)
    for _ in range(10):
        verifier.verify(provider.token(now_s=now_s(clock)))
    assert provider.requests == ["/.well-known/openid-configuration", "/keys"]


def test_keys_are_fetched_again_after_their_time(provider, clock):
    verifier = make_verifier(provider, clock, OIDC_JWKS_URL=provider.issuer + "/keys")
    verifier.verify(provider.token(now_s=now_s(clock)))
    clock.advance(FRESH_SECONDS + 1)
    verifier.verify(provider.token(now_s=now_s(clock)))
    assert provider.requests == ["/keys", "/keys"]


def test_a_new_key_is_found_at_once(provider, clock):
    verifier = make_verifier(provider, clock)
    verifier.verify(provider.token(now_s=now_s(clock)))
    clock.advance(REFRESH_PAUSE_SECONDS)
    provider.keys = [SigningKey("rsa-2", "RS256")]
    verifier.verify(provider.token(now_s=now_s(clock)))


def test_a_key_that_was_withdrawn_counts_no_longer_than_keys_are_kept(provider, clock):
    verifier = make_verifier(provider, clock)
    old = provider.keys[0]
    verifier.verify(provider.token(now_s=now_s(clock)))
    provider.keys = [SigningKey("rsa-2", "RS256")]
    clock.advance(FRESH_SECONDS + 1)
    with pytest.raises(AuthenticationError):
        verifier.verify(provider.token(key=old, now_s=now_s(clock)))


def test_invented_key_ids_do_not_make_it_fetch_all_the_time(provider, clock):
    verifier = make_verifier(provider, clock, OIDC_JWKS_URL=provider.issuer + "/keys")
    for number in range(100):
        stranger = provider.keys[0].sign(provider.claims(now_s=now_s(clock)), kid=f"invented-{number}")
        with pytest.raises(AuthenticationError):
            verifier.verify(stranger)
        clock.advance(1)
    assert len(provider.requests) <= 1 + 100 / REFRESH_PAUSE_SECONDS


def test_a_provider_that_is_down_for_a_while_locks_nobody_out(provider, clock):
    verifier = make_verifier(provider, clock)
    verifier.verify(provider.token(now_s=now_s(clock)))
    provider.is_down = True
    clock.advance(STALE_SECONDS - 1)
    verifier.verify(provider.token(now_s=now_s(clock)))
    clock.advance(REFRESH_PAUSE_SECONDS + 2)
    with pytest.raises(BackendError):
        verifier.verify(provider.token(now_s=now_s(clock)))


def test_a_provider_that_comes_back_is_asked_again(provider, clock):
    provider.is_down = True
    verifier = make_verifier(provider, clock)
    with pytest.raises(BackendError):
        verifier.verify(provider.token(now_s=now_s(clock)))
    provider.is_down = False
    clock.advance(REFRESH_PAUSE_SECONDS)
    verifier.verify(provider.token(now_s=now_s(clock)))


@pytest.mark.parametrize(
    ("path", "document"),
    [
        ("/.well-known/openid-configuration", {"issuer": "https://evil.example", "jwks_uri": "https://evil.example/k"}),
        ("/.well-known/openid-configuration", {"jwks_uri": "https://evil.example/k"}),
        ("/.well-known/openid-configuration", b"<html>"),
        ("/.well-known/openid-configuration", []),
        ("/keys", {}),
        ("/keys", {"keys": "none"}),
        ("/keys", {"keys": [{}] * 101}),
        ("/keys", b" " * (DOCUMENT_BYTES_MAX + 1)),
        ("/keys", b"[" * 100_000),
    ],
)
def test_a_document_that_cannot_be_used_is_a_failure_of_the_provider(provider, clock, path, document):
    provider.documents[path] = document
    with pytest.raises(BackendError):
        make_verifier(provider, clock).verify(provider.token(now_s=now_s(clock)))


def test_keys_must_not_travel_unguarded(provider, clock):
    document = {"issuer": provider.issuer, "jwks_uri": "http://keys.example/k"}
    provider.documents["/.well-known/openid-configuration"] = document
    with pytest.raises(BackendError):
        make_verifier(provider, clock).verify(provider.token(now_s=now_s(clock)))


def test_a_redirect_is_not_followed(provider, clock):
    provider.redirects["/moved"] = provider.issuer + "/keys"
    verifier = make_verifier(provider, clock, OIDC_JWKS_URL=provider.issuer + "/moved")
    with pytest.raises(BackendError):
        verifier.verify(provider.token(now_s=now_s(clock)))
    assert provider.requests == ["/moved"]


def test_odd_keys_in_the_set_do_not_spoil_it(provider, clock):
    good = [key.public for key in provider.keys]
    odd = [
        7,
        {},
        {"kty": "oct", "k": "AAAA", "kid": "rsa-1"},
        {"kty": "RSA", "kid": "broken"},
        {"kty": "new", "kid": "n"},
    ]
    odd += [good[0] | {"use": "enc", "kid": "rsa-9"}]
    provider.documents["/keys"] = {"keys": [*odd, *good]}
    make_verifier(provider, clock).verify(provider.token(now_s=now_s(clock)))


def test_without_a_key_id_the_only_key_is_taken(provider, clock):
    provider.keys = provider.keys[:1]
    claims = provider.claims(now_s=now_s(clock))
    token = jwt.encode(claims, provider.keys[0].private, algorithm="RS256")
    make_verifier(provider, clock).verify(token)
