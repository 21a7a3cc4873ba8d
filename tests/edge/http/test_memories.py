"""One memory over HTTP: remember, get, update, forget."""

import pytest

from tests.functions.deployment import make_client


def test_remember_answers_201_with_the_memory_its_key_location_and_etag(client):
    answer = client.send("POST", "/v1/memories", {"content": "Alice prefers metric units", "kind": "procedural"})
    memory = answer.json["memory"]
    assert answer.status == 201
    assert answer.json["key"] == f"memory/{client.namespace}/procedural/{memory['id']}.json"
    assert (answer.headers["location"], answer.headers["etag"]) == (f"/v1/memories/{memory['id']}", '"1"')


def test_remember_stores_every_field(client):
    fields = {
        "kind": "episodic",
        "tags": ["food", "a,b"],
        "importance": 0.9,
        "source": "chat:42",
        "expires_at": "2999-10-24T08:37:41+09:00",
        "data": {"city": "Rome", "nested": {"n": 1}},
        "metadata": {"colour": "red"},
        "attribution": {"user_id": "u1", "author": "Ann"},
        "id": "my-id",
    }
    memory = client.remember("text", **fields)
    assert memory | {"expires_at": fields["expires_at"]} == memory | fields
    assert memory["expires_at"] == "2999-10-23T23:37:41.000000Z"


def test_a_naive_time_is_utc(client):
    assert client.remember(expires_at="2999-01-01T00:00:00")["expires_at"] == "2999-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("text", ["用户身份", "Сергей", "café", "cafe\u0301", "👩‍🚀", 'quote " and \\ and \u2028'])
def test_any_text_round_trips(client, text):
    memory = client.remember(text)
    assert client.send("GET", f"/v1/memories/{memory['id']}").json["memory"]["content"] == text


def test_a_base64_body_is_decoded(client):
    answer = client.send("POST", "/v1/memories", {"content": "café"}, is_base64=True)
    assert answer.json["memory"]["content"] == "café"


def test_a_body_that_claims_base64_and_is_not_is_400(client):
    from tests.functions import deployment

    event = deployment.make_event("POST", "/v1/memories", b"@@", {"authorization": f"Bearer {client.token}"})
    event["isBase64Encoded"] = True
    result = deployment.load_handler("http_api").lambda_handler(deployment.authorized(event), deployment.Context())
    assert (result["statusCode"], "Base64" in result["body"]) == (400, True)


@pytest.mark.parametrize("memory_id", ["a.b+tag@x.co", "A-1_b", "x" * 128])
def test_an_id_of_the_callers_own_round_trips(client, memory_id):
    client.remember(id=memory_id)
    assert client.send("GET", f"/v1/memories/{memory_id}").json["memory"]["id"] == memory_id


def test_a_percent_encoded_id_is_decoded(client):
    client.remember(id="a+b@c")
    assert client.send("GET", "/v1/memories/a%2Bb%40c").status == 200


@pytest.mark.parametrize(
    "memory_id", ["auth0|123", "ü", "用户", "%F0%9F%98%80", "x" * 129, "%20", "-a", "a%22b", "a%5Cb"]
)
def test_an_id_that_is_not_allowed_is_a_clear_400(client, memory_id):
    answer = client.send("GET", f"/v1/memories/{memory_id}")
    assert (answer.status, answer.code) == (400, "validation")
    assert "A-Z a-z 0-9" in answer.json["detail"]


def test_remember_with_an_id_in_use_is_409(client):
    client.remember(id="units")
    answer = client.send("POST", "/v1/memories", {"content": "other", "id": "units"})
    assert (answer.status, answer.code) == (409, "conflict")


def test_a_forgotten_id_is_refused_unless_resurrected(client):
    client.remember(id="units")
    client.send("DELETE", "/v1/memories/units")
    refused = client.send("POST", "/v1/memories", {"content": "again", "id": "units"})
    assert (refused.status, refused.code) == (409, "forgotten")
    assert client.remember("again", id="units", resurrect=True)["version"] == 2


def test_get_answers_304_for_a_known_etag(client):
    memory = client.remember()
    path = f"/v1/memories/{memory['id']}"
    known = client.send("GET", path, headers={"if-none-match": 'W/"7", "1"'})
    other = client.send("GET", path, headers={"if-none-match": '"2"'})
    assert (known.status, known.body, known.headers["etag"], other.status) == (304, b"", '"1"', 200)


def test_head_is_get_without_a_body(client):
    memory = client.remember()
    answer = client.send("HEAD", f"/v1/memories/{memory['id']}")
    assert (answer.status, answer.body, answer.headers["etag"]) == (200, b"", '"1"')


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_an_unknown_id_is_404(client, method):
    answer = client.send(method, "/v1/memories/nothing", {"content": "x"})
    assert (answer.status, answer.code) == (404, "not_found")


def test_update_changes_only_what_is_sent(client):
    before = client.remember(
        "old", tags=["a"], importance=0.3, metadata={"keep": 1, "drop": 2, "deep": {"x": 1, "y": 2}}
    )
    path = f"/v1/memories/{before['id']}"
    change = {"content": "new", "metadata": {"drop": None, "deep": {"y": 3}}}
    after = client.send("PATCH", path, change).json["memory"]
    expected = {"content": "new", "metadata": {"keep": 1, "deep": {"x": 1, "y": 3}}, "version": 2}
    assert after == before | expected | {"updated_at": after["updated_at"]}


def test_update_with_null_removes_a_source_and_an_expiry(client):
    memory = client.remember(source="chat", expires_at="2999-01-01T00:00:00Z")
    after = client.send("PATCH", f"/v1/memories/{memory['id']}", {"source": None, "expires_at": None}).json["memory"]
    assert (after["source"], after["expires_at"]) == (None, None)


def test_update_without_any_field_is_400(client):
    memory = client.remember()
    answer = client.send("PATCH", f"/v1/memories/{memory['id']}", {})
    assert (answer.status, answer.code) == (400, "validation")


@pytest.mark.parametrize("stale", ["header", "body"])
def test_update_of_a_stale_version_is_409(client, stale):
    memory = client.remember()
    path = f"/v1/memories/{memory['id']}"
    client.send("PATCH", path, {"content": "second"})
    headers = {"if-match": '"1"'} if stale == "header" else {}
    body = {"content": "third"} | ({"expected_version": 1} if stale == "body" else {})
    answer = client.send("PATCH", path, body, headers=headers)
    assert (answer.status, answer.code) == (409, "conflict")


def test_update_of_the_expected_version_answers_the_new_etag(client):
    memory = client.remember()
    answer = client.send("PATCH", f"/v1/memories/{memory['id']}", {"content": "b"}, headers={"if-match": '"1"'})
    assert (answer.status, answer.headers["etag"]) == (200, '"2"')


@pytest.mark.parametrize("if_match", ["abc", '"1", "2"', '"-1"', '"٣"', '"' + "9" * 40 + '"'])
def test_an_if_match_that_is_no_version_is_400(client, if_match):
    memory = client.remember()
    answer = client.send("PATCH", f"/v1/memories/{memory['id']}", {"content": "b"}, headers={"if-match": if_match})
    assert (answer.status, answer.code) == (400, "validation")


def test_an_if_match_that_contradicts_the_body_is_400(client):
    memory = client.remember()
    body = {"content": "b", "expected_version": 2}
    answer = client.send("PATCH", f"/v1/memories/{memory['id']}", body, headers={"if-match": '"1"'})
    assert answer.status == 400


def test_forget_answers_what_is_gone_and_it_is_gone(client):
    memory = client.remember()
    path = f"/v1/memories/{memory['id']}"
    answer = client.send("DELETE", f"{path}?reason=asked%20to")
    assert (answer.status, answer.json) == (200, {"id": memory["id"], "forgotten": True})
    assert client.send("GET", path).status == 404


def test_forgetting_twice_is_the_same_as_once(client):
    memory = client.remember()
    assert [client.send("DELETE", f"/v1/memories/{memory['id']}").status for _ in range(2)] == [200, 200]


def test_an_expired_memory_is_never_returned(client):
    memory = client.remember("expired soon", id="short", ttl=0.000001)
    assert client.send("GET", f"/v1/memories/{memory['id']}").status == 404
    assert client.search("expired soon") == []
    assert client.send("GET", "/v1/memories").json["memories"] == []
    assert client.send("GET", "/v1/export").body == b""


def test_an_update_cannot_revive_an_expired_memory(client):
    memory = client.remember(ttl=0.000001)
    assert client.send("PATCH", f"/v1/memories/{memory['id']}", {"expires_at": None}).status == 404


def test_an_object_that_cannot_be_read_is_named_by_its_key(client):
    from tests.functions.deployment import object_store

    key = f"memory/{client.namespace}/semantic/broken.json"
    object_store().put(key, b'{"schema": 1')
    answer = client.send("GET", "/v1/memories/broken")
    assert (answer.status, answer.code, answer.json["key"]) == (500, "corrupt", key)


def test_two_namespaces_that_look_alike_never_see_each_other(client):
    dash, underscore = make_client(client.namespace + "-x"), make_client(client.namespace + "_x")
    memory = dash.remember("only for the dash", id="secret")
    assert underscore.send("GET", "/v1/memories/secret").status == 404
    assert underscore.search("dash") == []
    assert underscore.send("GET", "/v1/memories").json["memories"] == []
    assert underscore.send("DELETE", "/v1/memories/secret").status == 404
    assert underscore.send("GET", "/v1/export").body == b""
    assert dash.send("GET", "/v1/memories/secret").json["memory"] == memory


def test_identity_looking_keys_stay_inert_data(client):
    fields = {
        "user_id": "bob",
        "namespace": "users/bob",
        "tenant": "t",
        "id": "x",
        "created_at": "1999",
        "__proto__": {},
    }
    memory = client.remember(data=fields, metadata=fields)
    assert (memory["data"], memory["metadata"]) == (fields, fields)
    assert (memory["namespace"], memory.get("attribution")) == (client.namespace.split("/"), None)


@pytest.mark.parametrize("field", ["namespace", "user_id", "tenant", "created_at", "version", "key"])
def test_a_field_that_would_choose_an_identity_is_refused_by_name(client, field):
    answer = client.send("POST", "/v1/memories", {"content": "x", field: "y"})
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert [error["field"] for error in answer.json["errors"]] == [field]


def test_only_the_version_that_if_match_names_is_forgotten(client):
    memory = client.remember("a")
    path = f"/v1/memories/{memory['id']}"
    refused = client.send("DELETE", path, headers={"if-match": '"77"'})
    kept = client.send("GET", path).status
    done = client.send("DELETE", path, headers={"if-match": f'"{memory["version"]}"'})
    assert (refused.status, refused.code, kept, done.status) == (409, "conflict", 200, 200)
