"""Who may do what: tokens, grants, namespaces."""

import pytest

from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.domain.session_keys import derived_id, session_of
from s3_agent_memory.edge.http import auth as http_auth
from s3_agent_memory.errors import BackendError
from tests.functions import deployment
from tests.functions.deployment import Client, fresh_namespace, make_client

READS = [
    ("GET", "/v1/memories", None),
    ("GET", "/v1/memories/x", None),
    ("POST", "/v1/memories/search", {"query": "x"}),
    ("GET", "/v1/export", None),
    ("GET", "/v1/stats", None),
    ("GET", "/v1/namespaces", None),
]
WRITES = [
    ("POST", "/v1/memories", {"content": "x"}),
    ("PATCH", "/v1/memories/x", {"content": "x"}),
    ("DELETE", "/v1/memories/x", None),
]


@pytest.mark.parametrize(("method", "path", "body"), [*READS, *WRITES, ("GET", "/no/such/path", None)])
def test_a_request_without_a_token_is_401_before_anything_else(method, path, body):
    answer = Client(None, "").send(method, path, body)
    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("token", ["", "nonsense", "sam_" + "0" * 64, "sam_ü", "x" * 10_000])
def test_an_unknown_token_is_401_invalid_token(token):
    answer = Client(token, "").send("GET", "/v1/stats")
    assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Bearer error="invalid_token"')


def test_another_scheme_is_401():
    client = make_client()
    answer = Client(None, "").send("GET", "/v1/stats", headers={"authorization": f"Basic {client.token}"})
    assert answer.status == 401


def test_the_scheme_may_have_any_capitals():
    client = make_client()
    answer = Client(None, "").send("GET", "/v1/stats", headers={"authorization": f"bEARER {client.token}"})
    assert answer.status == 200


def test_an_expired_token_is_401():
    assert make_client(ttl=0.000001).send("GET", "/v1/stats").status == 401


def test_a_revoked_token_is_401(client):
    tokens = deployment.load_handler("authorizer").tokens
    tokens.revoke(tokens.verify(client.token).token_id)
    assert client.send("GET", "/v1/stats").status == 401


def test_an_expired_grant_of_a_cached_authorizer_is_401():
    client = make_client(ttl=3_600)
    event = deployment.authorized(
        deployment.make_event("GET", "/v1/stats", headers={"authorization": f"Bearer {client.token}"})
    )
    event["requestContext"]["authorizer"]["lambda"]["expires_at"] = "2026-01-01T00:00:00.000000Z"
    answer = deployment.answer_of(deployment.load_handler("http_api").lambda_handler(event, deployment.Context()))
    assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Bearer error="invalid_token"')


@pytest.mark.parametrize(
    "authorizer",
    [None, {}, {"lambda": None}, {"lambda": {}}, {"lambda": {"namespace": "users/x"}}, {"jwt": {"claims": {}}}],
)
def test_a_context_without_a_whole_grant_is_401(authorizer):
    event = deployment.make_event("GET", "/v1/stats")
    event["requestContext"]["authorizer"] = authorizer
    answer = deployment.answer_of(deployment.load_handler("http_api").lambda_handler(event, deployment.Context()))
    assert answer.status == 401


def test_a_grant_sent_as_a_header_or_body_is_worth_nothing():
    grant = {"namespace": "users/x", "permissions": "read write", "covers_children": "true"}
    event = deployment.make_event(
        "POST", "/v1/memories", {"content": "x", "authorizer": grant}, {"x-namespace": "users/x"}
    )
    answer = deployment.answer_of(deployment.load_handler("http_api").lambda_handler(event, deployment.Context()))
    assert answer.status == 401


class _FailingVerifier:
    def verify(self, token):  # noqa: ARG002
        raise BackendError("the storage is down")


def test_a_token_that_could_not_be_checked_is_no_answer_of_the_authorizer_that_would_be_kept():
    event = {"headers": {"authorization": "Bearer whatever"}}
    with pytest.raises(BackendError):
        http_auth.authorize(event, _FailingVerifier())


def test_a_client_may_not_take_the_id_that_a_conversation_will_need(client):
    derived = derived_id(session_of(parse_namespace(client.namespace), "s1"), 1, 1, 0)
    answer = client.send("POST", "/v1/memories", {"content": "squatter", "id": derived})
    assert (answer.status, answer.code) == (400, "validation")


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_a_token_to_read_may_not_write(method, path, body):
    answer = make_client(permissions=("read",)).send(method, path, body)
    assert (answer.status, answer.code) == (403, "forbidden")


@pytest.mark.parametrize(("method", "path", "body"), READS)
def test_a_token_to_write_may_not_read(method, path, body):
    answer = make_client(permissions=("write",)).send(method, path, body)
    assert (answer.status, answer.code) == (403, "forbidden")


def test_each_operation_of_a_batch_needs_its_own_permission():
    reader = make_client(permissions=("read",))
    operations = [{"op": "remember", "content": "x"}, {"op": "search", "query": "x"}]
    results = reader.send("POST", "/v1/memories/batch", {"operations": operations}).json["results"]
    assert [result["status"] for result in results] == [403, 200]


def test_an_import_needs_the_permission_to_write():
    reader = make_client(permissions=("read",))
    answer = reader.send("POST", "/v1/import", b'{"content": "x"}', headers={"content-type": "application/x-ndjson"})
    assert answer.status == 403


def test_admin_includes_the_other_permissions():
    assert make_client(permissions=("admin",)).remember()["version"] == 1


def test_a_prefix_token_chooses_inside_its_prefix():
    root = fresh_namespace()
    prefix = make_client(root, covers_children=True)
    answer = prefix.send("POST", f"/v1/memories?namespace={root}/alice", {"content": "x"})
    assert answer.json["memory"]["namespace"] == [*root.split("/"), "alice"]
    assert prefix.send("GET", answer.headers["location"]).json == answer.json
    assert prefix.remember()["namespace"] == root.split("/")


@pytest.mark.parametrize("suffix", ["-other", "x", ".", "/../other"])
def test_a_prefix_token_never_leaves_its_prefix(suffix):
    root = fresh_namespace()
    answer = make_client(root, covers_children=True).send("GET", f"/v1/memories?namespace={root}{suffix}")
    assert answer.status in (400, 403)


@pytest.mark.parametrize("requested", ["users", "users/bob", "default"])
def test_a_token_of_one_namespace_may_not_choose_another(client, requested):
    answer = client.send("GET", f"/v1/memories?namespace={requested}")
    assert (answer.status, answer.code) == (403, "forbidden")


def test_a_token_of_one_namespace_may_not_choose_a_child(client):
    assert client.send("GET", f"/v1/memories?namespace={client.namespace}/child").status == 403


def test_a_token_of_one_namespace_may_name_its_own(client):
    assert client.send("GET", f"/v1/memories?namespace={client.namespace}").status == 200


@pytest.mark.parametrize("requested", ["", "a//b", "%2A", "a/semantic", "%20"])
def test_a_namespace_that_is_none_is_400(requested):
    answer = make_client(covers_children=True).send("GET", f"/v1/memories?namespace={requested}")
    assert (answer.status, answer.code) == (400, "validation")


def test_namespaces_lists_only_what_the_token_covers():
    root = fresh_namespace()
    prefix, exact = make_client(root, covers_children=True), make_client(root)
    make_client(root + "-other").remember()
    for name in ("", "/alice", "/bob"):
        prefix.send("POST", f"/v1/memories?namespace={root}{name}", {"content": "x"})
    listed = [client.send("GET", "/v1/namespaces").json["namespaces"] for client in (prefix, exact)]
    assert [sorted(names) for names in listed] == [[root, f"{root}/alice", f"{root}/bob"], [root]]


def test_a_grant_does_not_outlive_its_request(client):
    client.remember("first")
    client.send("GET", "/v1/memories?unknown=parameter")
    assert Client(None, "").send("GET", "/v1/memories").status == 401


def test_a_token_that_lives_for_an_hour_is_valid_now():
    assert make_client(ttl=3_600).send("GET", "/v1/stats").status == 200
