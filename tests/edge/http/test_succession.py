"""Facts that change, over HTTP."""

import pytest

from tests.functions.deployment import make_client


def supersede(client, memory, content="Alice lives in Rome", **fields):
    return client.send("POST", f"/v1/memories/{memory['id']}/supersede", {"content": content, **fields})


def listed(client, query=""):
    return sorted(memory["content"] for memory in client.send("GET", f"/v1/memories{query}").json["memories"])


def test_supersede_answers_201_with_the_new_memory(client):
    old = client.remember("Alice lives in Oslo", tags=["home"], attribution={"user_id": "alice"})
    answer = supersede(client, old, source="chat:2")
    memory = answer.json["memory"]
    assert (answer.status, answer.headers["etag"]) == (201, '"1"')
    assert answer.headers["location"] == f"/v1/memories/{memory['id']}"
    assert memory["supersedes"] == [{"id": old["id"], "version": 1}]
    assert (memory["tags"], memory["attribution"], memory["source"]) == (["home"], {"user_id": "alice"}, "chat:2")


def test_every_field_can_be_given(client):
    old = client.remember("Alice lives in Oslo", data={"city": "Oslo"})
    fields = {
        "kind": "semantic",
        "tags": ["home"],
        "importance": 0.9,
        "expires_at": "2999-01-01T00:00:00.000000Z",
        "data": {"city": "Rome"},
        "metadata": {"k": 1},
        "attribution": {"author": "Ann"},
        "pinned": True,
        "valid_from": "2020-05-01T00:00:00.000000Z",
        "valid_to": "2999-05-01T00:00:00.000000Z",
    }
    memory = supersede(client, old, new_id="rome", expected_version=1, **fields).json["memory"]
    assert memory | fields == memory
    assert memory["id"] == "rome"


def test_list_and_search_answer_as_of_a_time(client):
    old = client.remember("Alice lives in Oslo", valid_from="2020-01-01")
    supersede(client, old, valid_from="2024-05-01")
    assert listed(client) == ["Alice lives in Rome"]
    assert listed(client, "?as_of=2024-04-30T23:59:59Z") == ["Alice lives in Oslo"]
    found = client.send("POST", "/v1/memories/search", {"query": "lives", "as_of": "2021-01-01"}).json["hits"]
    assert [hit["memory"]["content"] for hit in found] == ["Alice lives in Oslo"]


def test_history_tells_the_versions_and_both_sides_of_the_chain(client):
    old = client.remember("Alice lives in Oslo")
    client.send("PATCH", f"/v1/memories/{old['id']}", {"source": "chat:1"})
    new = supersede(client, old).json["memory"]
    found = client.send("GET", f"/v1/memories/{old['id']}/history").json
    assert [(item["version"], item["source"]) for item in found["versions"]] == [(1, None), (2, "chat:1")]
    assert [item["id"] for item in found["successors"]] == [new["id"]]
    back = client.send("GET", f"/v1/memories/{new['id']}/history").json
    assert [item["id"] for item in back["predecessors"]] == [old["id"]]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"content": "new", "expected_version": 2}, 409),
        ({"content": ""}, 400),
        ({"content": "new", "valid_from": "soon"}, 400),
        ({"content": "new", "namespace": "other"}, 422),
        ({}, 422),
    ],
)
def test_a_wrong_request_is_refused_and_changes_nothing(client, body, status):
    old = client.remember("Alice lives in Oslo")
    assert client.send("POST", f"/v1/memories/{old['id']}/supersede", body).status == status
    assert listed(client) == ["Alice lives in Oslo"]


def test_nothing_supersedes_what_is_not_there(client):
    assert supersede(client, {"id": "never-was"}).status == 404
    assert client.send("GET", "/v1/memories/never-was/history").status == 404


def test_a_reader_may_look_back_and_not_supersede():
    reader = make_client(permissions=("read",))
    assert supersede(reader, {"id": "any"}).status == 403
    assert reader.send("GET", "/v1/memories/any/history").status == 404


def test_supersede_heeds_the_etag_that_the_old_memory_must_have(client):
    old = client.remember("Alice lives in Oslo")
    refused = client.send(
        "POST", f"/v1/memories/{old['id']}/supersede", {"content": "Rome"}, headers={"if-match": '"2"'}
    )
    assert (refused.status, refused.json["code"]) == (409, "conflict")
    taken = client.send("POST", f"/v1/memories/{old['id']}/supersede", {"content": "Rome"}, headers={"if-match": '"1"'})
    assert taken.status == 201


@pytest.mark.parametrize(
    ("method", "path", "body"), [("PATCH", "", {"importance": 0.6}), ("POST", "/supersede", {"content": "Rome"})]
)
def test_who_may_write_and_not_read_is_told_only_which_memory_it_is(client, method, path, body):
    old = client.remember("Alice lives in Oslo", data={"secret": 1}, tags=["private"])
    writer = make_client(client.namespace, permissions=["write"])
    answer = writer.send(method, f"/v1/memories/{old['id']}{path}", body)
    assert answer.status in (200, 201)
    assert set(answer.json["memory"]) == {"schema", "id", "namespace", "kind", "created_at", "updated_at", "version"}
