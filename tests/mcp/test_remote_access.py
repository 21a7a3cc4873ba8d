"""Who may call a remote MCP server, from where, and what those are told who may not."""

import pytest

from s3_agent_memory import bootstrap
from s3_agent_memory.domain.access import AccessSettings
from s3_agent_memory.errors import BackendError, ThrottledError
from tests.functions.deployment import make_event
from tests.mcp.remote import API_HOST, PUBLIC_URL, Deployment, Remote, ask_with, error_of, notification

METADATA_URL = f"{PUBLIC_URL}/.well-known/oauth-protected-resource/mcp"


# Browsers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/mcp", "/.well-known/oauth-protected-resource", "/register", "/anything"])
def test_a_preflight_needs_no_token(deployment, path):
    answer = Remote(deployment, None).send("OPTIONS", path, origin="https://app.example", authorization=None)
    allowed = {name.strip() for name in answer.headers["access-control-allow-headers"].split(",")}
    assert (answer.status, answer.body, answer.headers["access-control-allow-origin"]) == (204, b"", "*")
    assert allowed == {
        "authorization",
        "content-type",
        "accept",
        "mcp-protocol-version",
        "mcp-session-id",
        "mcp-method",
        "mcp-name",
        "last-event-id",
    }


def test_every_answer_may_be_read_by_a_page(deployment, alice):
    stranger = Remote(deployment, None)
    for answer in (
        alice.modern("tools/list"),
        alice.post(b"{"),
        alice.send("GET"),
        alice.post(notification("notifications/initialized")),
        stranger.modern("tools/list"),
        stranger.send("GET", "/.well-known/oauth-protected-resource"),
        stranger.send("GET", "/nothing"),
    ):
        assert answer.headers["access-control-allow-origin"] == "*"
        exposed = {name.strip() for name in answer.headers["access-control-expose-headers"].split(",")}
        assert {"mcp-session-id", "www-authenticate"} <= exposed


# Authentication ------------------------------------------------------------------------------------------------------


def test_without_a_token_the_answer_says_where_to_get_one(deployment):
    answer = Remote(deployment, None).modern("tools/list")
    assert (answer.status, answer.headers["www-authenticate"]) == (401, f'Bearer resource_metadata="{METADATA_URL}"')
    assert error_of(answer)["data"] == {"code": "unauthenticated"}


@pytest.mark.parametrize("token", ["nonsense", "sam_" + "0" * 64, "a.b.c"])
def test_an_unknown_token_is_401_invalid_token(deployment, token):
    answer = Remote(deployment, token).modern("tools/list")
    expected = f'Bearer error="invalid_token", resource_metadata="{METADATA_URL}"'
    assert (answer.status, answer.headers["www-authenticate"]) == (401, expected)


def test_a_revoked_token_is_401_at_the_next_request(deployment, alice):
    assert alice.modern("tools/list").status == 200
    deployment.tokens.revoke(deployment.tokens.verify(alice.token).token_id)
    assert alice.modern("tools/list").status == 401


def test_what_a_token_may_not_do_is_403(deployment):
    reader = deployment.caller(permissions=("read",))
    arguments = {"name": "remember", "arguments": {"content": "x"}}
    for answer in (reader.modern("tools/call", arguments), reader.legacy("tools/call", arguments)):
        error = error_of(answer)
        assert (answer.status, answer.json["id"], error["data"]) == (403, 1, {"code": "forbidden"})
        assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]


def test_a_resource_that_a_token_may_not_read_is_403(deployment):
    writer = deployment.caller(permissions=("write",))
    assert writer.modern("resources/read", {"uri": "memory://statistics"}).status == 403


class RefusingStore:
    """Refuses every request with one error once it is told to."""

    def __init__(self, inner, error):
        self._inner = inner
        self.error = None
        self._error = error

    def refuse(self):
        self.error = self._error

    def __getattr__(self, name):
        if self.error is not None:
            raise self.error
        return getattr(self._inner, name)


def refusing(error):
    store = RefusingStore(bootstrap.open_object_store(bootstrap.Settings(url="memory://")), error)
    deployment = Deployment(store=store)
    caller = deployment.caller()
    event = deployment.authorized(
        make_event("POST", "/mcp", None, {"authorization": f"Bearer {caller.token}"}),
    )
    store.refuse()
    return deployment, event["requestContext"]["authorizer"]


def test_throttling_is_429_and_says_when_to_come_back():
    deployment, authorizer = refusing(ThrottledError("slow down"))
    answer = ask_with(deployment, authorizer, "tools/call", {"name": "get", "arguments": {"id": "x"}})
    assert (answer.status, answer.headers["retry-after"]) == (429, "1")
    assert error_of(answer)["data"] == {"code": "throttled"}


def test_a_storage_that_fails_is_an_error_of_the_tool_that_a_model_can_read():
    deployment, authorizer = refusing(BackendError("the storage does not answer"))
    answer = ask_with(deployment, authorizer, "tools/call", {"name": "get", "arguments": {"id": "x"}})
    result = answer.json["result"]
    assert (answer.status, result["isError"]) == (200, True)
    assert result["content"][0]["text"].endswith("[backend]. Trying again may help.")
    assert "BackendError" in deployment.log.getvalue()


@pytest.mark.parametrize("path", ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"])
def test_the_metadata_of_the_resource_is_in_both_places_and_names_the_url_that_was_typed(deployment, path):
    answer = Remote(deployment, None).send("GET", path, host=API_HOST)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json["resource"] == f"{PUBLIC_URL}/mcp"


def test_no_event_decides_what_the_metadata_says(deployment):
    forged = {"x_forwarded_host": "evil.example", "x_forwarded_proto": "http", "forwarded": "host=evil.example"}
    answer = Remote(deployment, None).send("GET", "/.well-known/oauth-protected-resource", **forged)
    assert "evil" not in answer.body.decode()


@pytest.mark.parametrize(
    "path",
    ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server", "/register", "/", "/mcp/", "/x"],
)
def test_what_is_not_there_is_404_without_a_token(deployment, path):
    assert Remote(deployment, None).send("GET", path).status == 404


def test_a_deployment_that_does_not_know_its_url_has_no_metadata():
    stranger = Remote(Deployment(AccessSettings()), None)
    assert stranger.send("GET", "/.well-known/oauth-protected-resource").status == 404
    assert stranger.modern("tools/list").headers["www-authenticate"] == "Bearer"


# Host and origin -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["memory.example.com", "MEMORY.example.com", "memory.example.com:443", API_HOST])
def test_the_own_hosts_are_served(alice, host):
    assert alice.modern("tools/list", host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "memory.example.com.evil.example",
        "memory.example.com:8080",
        "localhost",
        "127.0.0.1",
        "",
        "a@" + API_HOST,
    ],
)
def test_other_hosts_are_421_even_with_a_token(alice, host):
    answer = alice.modern("tools/list", host=host)
    assert (answer.status, error_of(answer)["code"]) == (421, -32600)


@pytest.mark.parametrize("origin", [None, "https://claude.ai", "http://localhost:6274", "null", PUBLIC_URL])
def test_any_page_may_call_a_public_endpoint_with_a_token(alice, origin):
    assert alice.modern("tools/list", origin=origin).status == 200


@pytest.mark.parametrize(
    ("origin", "status"), [("https://app.example", 200), ("https://evil.example", 403), (PUBLIC_URL, 200)]
)
def test_pages_can_be_restricted(origin, status):
    access = AccessSettings(
        public_url=PUBLIC_URL,
        allowed_hosts=frozenset({API_HOST}),
        allowed_origins=frozenset({"https://app.example"}),
    )
    assert Deployment(access).caller().modern("tools/list", origin=origin).status == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "127.0.0.1:8787"}, 200),
        ({"host": "localhost:8787", "origin": "http://localhost:5173"}, 200),
        ({"host": "[::1]:8787"}, 200),
        ({"host": "localhost:9999"}, 421),
        ({"host": "evil.example:8787"}, 421),
        ({"host": "127.0.0.1.evil.example:8787"}, 421),
        ({"host": "localhost:8787", "origin": "https://evil.example"}, 403),
        ({"host": "localhost:8787", "origin": "http://localhost.evil.example"}, 403),
        ({"host": "localhost:8787", "origin": "null"}, 403),
        ({"host": "localhost:8787", "origin": "http://[x"}, 403),
    ],
)
def test_a_local_endpoint_answers_only_this_machine(headers, status):
    local = Deployment(AccessSettings(public_url="http://127.0.0.1:8787")).caller()
    assert local.modern("tools/list", **headers).status == status
