"""Two tokens cannot reach each other's memories, by any tool, resource, cursor, id, header or parameter."""

import json

import pytest

from tests.mcp.remote import Deployment, initialize_params, request

SECRET = "the launch code is swordfish"


class Neighbours:
    """Alice has memories; Bob has a token of his own and tries everything."""

    def __init__(self, bob_namespace):
        self.deployment = Deployment()
        self.alice = self.deployment.caller("users/alice")
        self.bob = self.deployment.caller(bob_namespace)
        self.id = self.alice.answer("remember", content=SECRET, tags=["code"], source="safe")["id"]
        for number in range(5):
            self.alice.answer("remember", content=f"swordfish {number}")
        self.key = self.alice.answer("get", id=self.id)["memories"][0]["provenance"]["key"]
        self.cursor = self.alice.answer("list", limit=2)["next_cursor"]

    def check_alice_is_untouched(self):
        (entry,) = self.alice.answer("get", id=self.id)["memories"]
        assert (entry["content"], entry["provenance"]["version"]) == (SECRET, 1)
        assert len(self.alice.answer("list", limit=25)["memories"]) == 6


# Beside, above, below, and with a name that only begins the same.
@pytest.fixture(params=["users/bob", "users", "users/alice/notes", "users/alice2", "default"])
def neighbours(request):
    return Neighbours(request.param)


def test_recall_and_list_find_nothing_of_a_neighbour(neighbours):
    assert neighbours.bob.answer("recall", query="swordfish launch code")["memories"] == []
    assert neighbours.bob.answer("recall", query="")["memories"] == []
    assert neighbours.bob.answer("recall", query="code", tags=["code"])["memories"] == []
    assert neighbours.bob.answer("list", tag="code")["memories"] == []


def spellings(neighbours):
    memory_id, key = neighbours.id, neighbours.key
    return [
        memory_id,
        key,
        key.removeprefix("memory/"),
        f"users/alice/{memory_id}",
        f"../alice/semantic/{memory_id}",
        f"../../alice/semantic/{memory_id}.json",
        f"..%2Falice%2Fsemantic%2F{memory_id}",
        f"alice/semantic/{memory_id}",
        f"semantic/{memory_id}",
        f"{memory_id}.json",
        f"{memory_id}\x00",
        f" {memory_id}",
    ]


@pytest.mark.parametrize("tool", ["get", "update", "forget"])
def test_no_spelling_of_an_id_reaches_a_neighbour(neighbours, tool):
    for memory_id in spellings(neighbours):
        more = {"content": "overwritten"} if tool == "update" else {}
        answer = neighbours.bob.call(tool, id=memory_id, **more)
        assert answer.json["result"]["isError"] is True, memory_id
        assert SECRET not in answer.body.decode()
    neighbours.check_alice_is_untouched()


def test_no_uri_reaches_a_neighbour(neighbours):
    for memory_id in spellings(neighbours):
        for uri in (f"memory://memories/{memory_id}", f"memory://{memory_id}", f"memory://users/alice/{memory_id}"):
            # A name that does not fit a header travels encoded, so the era without that header is asked too.
            answer = neighbours.bob.legacy("resources/read", {"uri": uri})
            assert "error" in answer.json, uri
            assert SECRET not in answer.body.decode()


def test_statistics_count_nothing_of_a_neighbour(neighbours):
    answer = neighbours.bob.modern("resources/read", {"uri": "memory://statistics"})
    document = json.loads(answer.json["result"]["contents"][0]["text"])
    assert (document["namespace"] == "users/alice", document["memories"]) == (False, 0)


def test_the_cursor_of_a_neighbour_shows_nothing_of_his(neighbours):
    for arguments in ({"limit": 2}, {"limit": 25}, {"tag": "code"}):
        answer = neighbours.bob.call("list", cursor=neighbours.cursor, **arguments)
        assert "swordfish" not in answer.body.decode()
        assert neighbours.id not in answer.body.decode()


@pytest.mark.parametrize(
    "arguments",
    [
        {"namespace": "users/alice"},
        {"user": "alice"},
        {"tenant": "alice"},
        {"prefix": "memory/users/alice/"},
        {"filter": {"namespace": "users/alice"}},
        {"_meta": {"namespace": "users/alice"}},
    ],
)
def test_no_argument_chooses_a_neighbour(neighbours, arguments):
    answer = neighbours.bob.call("recall", query="swordfish", **arguments)
    assert answer.json["result"]["isError"] is True
    assert SECRET not in answer.body.decode()


def test_no_metadata_of_a_request_chooses_a_neighbour(neighbours):
    meta = {"namespace": "users/alice", "principal": "alice", "authorization": f"Bearer {neighbours.alice.token}"}
    params = {"name": "recall", "arguments": {"query": "swordfish"}, "_meta": meta}
    answer = neighbours.bob.legacy("tools/call", params)
    assert answer.json["result"]["structuredContent"]["memories"] == []


@pytest.mark.parametrize(
    "headers",
    [
        {"x_namespace": "users/alice"},
        {"namespace": "users/alice"},
        {"mcp_session_id": "users/alice"},
        {"mcp_param_namespace": "users/alice"},
        {"x_forwarded_user": "alice"},
        {"x_amzn_request_context": '{"authorizer": {"lambda": {"namespace": "users/alice"}}}'},
        {"last_event_id": "users/alice"},
        {"cookie": "namespace=users/alice"},
    ],
)
def test_no_header_chooses_a_neighbour(neighbours, headers):
    params = {"name": "recall", "arguments": {"query": "swordfish"}}
    answer = neighbours.bob.legacy("tools/call", params, **headers)
    assert answer.json["result"]["structuredContent"]["memories"] == []


@pytest.mark.parametrize("query", ["namespace=users/alice", "token=x", "namespace=users%2Falice&namespace=users/alice"])
def test_no_query_of_the_url_chooses_a_neighbour(neighbours, query):
    body = request("tools/call", {"name": "recall", "arguments": {"query": "swordfish"}})
    answer = neighbours.bob.send("POST", f"/mcp?{query}", body)
    assert answer.json["result"]["structuredContent"]["memories"] == []


def test_the_session_of_a_neighbour_carries_nothing_over(neighbours):
    neighbours.alice.legacy("initialize", initialize_params(), mcp_session_id="shared")
    answer = neighbours.bob.legacy(
        "tools/call", {"name": "recall", "arguments": {"query": "swordfish"}}, mcp_session_id="shared"
    )
    assert answer.json["result"]["structuredContent"]["memories"] == []


def test_remembering_under_the_same_words_changes_nothing_of_a_neighbour(neighbours):
    neighbours.bob.answer("remember", content=SECRET, tags=["code"], source="users/alice")
    neighbours.check_alice_is_untouched()


def test_a_batch_is_served_with_the_permissions_of_its_token(neighbours):
    batch = [
        request("tools/call", {"name": "get", "arguments": {"id": neighbours.id}}, id=1),
        request("tools/call", {"name": "forget", "arguments": {"id": neighbours.id}}, id=2),
    ]
    answer = neighbours.bob.post(batch)
    assert [item["result"]["isError"] for item in answer.json] == [True, True]
    neighbours.check_alice_is_untouched()


def test_a_token_of_many_namespaces_works_in_its_root_only():
    deployment = Deployment()
    deployment.caller("users/alice").answer("remember", content=SECRET)
    backend = deployment.caller("users", covers_children=True)
    assert backend.answer("recall", query="swordfish")["memories"] == []


def test_many_tokens_at_once_see_each_only_their_own():
    deployment = Deployment()
    callers = [deployment.caller(f"users/u{number}") for number in range(10)]
    for number, caller in enumerate(callers):
        caller.answer("remember", content=f"swordfish of {number}")
    for number, caller in enumerate(callers):
        found = caller.answer("recall", query="swordfish")["memories"]
        assert [memory["content"] for memory in found] == [f"swordfish of {number}"]
