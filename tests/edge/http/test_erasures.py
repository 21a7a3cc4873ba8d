"""Erasures over HTTP: who may, what must be said, and what is answered."""

import pytest

from s3_agent_memory.edge.http import erasures as http_erasures
from s3_agent_memory.wire.erasures import ErasureAnswer
from tests.functions.deployment import make_client

ROUTE = "/v1/erasures"


@pytest.fixture
def eraser():
    """A client that may erase, with two memories of two users."""
    client = make_client(permissions=("read", "write", "erase"))
    for user in ("alice", "bob"):
        client.send("POST", "/v1/memories", {"content": f"of {user}", "attribution": {"user_id": user}})
    return client


def contents(client):
    return sorted(memory["content"] for memory in client.send("GET", "/v1/memories").json["memories"])


def test_a_user_is_erased_and_others_stay(eraser):
    answer = eraser.send("POST", ROUTE, {"confirm": eraser.namespace, "user_id": "alice"})
    assert (answer.status, answer.json["memories"], contents(eraser)) == (200, 1, ["of bob"])
    ErasureAnswer.model_validate(answer.json)


def test_everything_is_erased(eraser):
    assert eraser.send("POST", ROUTE, {"confirm": eraser.namespace, "everything": True}).status == 200
    assert contents(eraser) == []


def test_the_report_can_be_read_later(eraser):
    made = eraser.send("POST", ROUTE, {"confirm": eraser.namespace, "everything": True}).json
    assert eraser.send("GET", f"{ROUTE}/{made['id']}").json == made


def test_what_there_was_no_time_for_is_202_until_the_same_request_has_done_it(eraser, monkeypatch):
    body = {"confirm": eraser.namespace, "everything": True}
    monkeypatch.setattr(http_erasures, "SECONDS_MAX", 0)
    first = eraser.send("POST", ROUTE, body)
    monkeypatch.undo()
    second = eraser.send("POST", ROUTE, body)
    assert (first.status, second.status, first.json["id"]) == (202, 200, second.json["id"])


@pytest.mark.parametrize(
    "scope",
    [
        {},
        {"everything": False},
        {"user_id": ""},
        {"ids": []},
        {"everything": True, "user_id": "alice"},
        {"user_id": "alice", "agent_id": "chef"},
    ],
)
def test_without_exactly_one_scope_nothing_is_erased(eraser, scope):
    answer = eraser.send("POST", ROUTE, {"confirm": eraser.namespace, **scope})
    assert (answer.status, answer.code) == (400, "validation")
    assert contents(eraser) == ["of alice", "of bob"]


@pytest.mark.parametrize("confirmation", [{}, {"confirm": ""}, {"confirm": "users/somebody"}])
def test_without_the_name_of_the_namespace_nothing_is_erased(eraser, confirmation):
    assert eraser.send("POST", ROUTE, {"everything": True, **confirmation}).status in {400, 422}
    assert contents(eraser) == ["of alice", "of bob"]


@pytest.mark.parametrize("permissions", [("read", "write"), ("read",)])
def test_without_the_permission_nothing_is_erased(permissions):
    client = make_client(permissions=permissions)
    answer = client.send("POST", ROUTE, {"confirm": client.namespace, "everything": True})
    assert (answer.status, answer.code) == (403, "forbidden")
    assert client.send("GET", f"{ROUTE}/1700000000000-0123456789abcdef").status == 403


def test_an_administrator_may_erase():
    client = make_client(permissions=("admin",))
    assert client.send("POST", ROUTE, {"confirm": client.namespace, "everything": True}).status == 200


def test_the_report_of_another_namespace_is_not_found(eraser):
    made = eraser.send("POST", ROUTE, {"confirm": eraser.namespace, "everything": True}).json
    other = make_client(permissions=("erase",))
    assert other.send("GET", f"{ROUTE}/{made['id']}").status == 404


@pytest.mark.parametrize("erasure_id", ["x", "1700000000000-0123456789abcdef", "..%2F..%2Fauth"])
def test_an_unknown_report_is_an_error_of_the_client(eraser, erasure_id):
    assert eraser.send("GET", f"{ROUTE}/{erasure_id}").status in {400, 404}
