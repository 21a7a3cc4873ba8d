"""Consolidations over HTTP: the plan, the run, its record, and the way back."""

import pytest

from s3_agent_memory.edge.http import consolidations as http_consolidations
from s3_agent_memory.wire.consolidations import ConsolidationAnswer
from tests.functions.deployment import make_client

ROUTE = "/v1/consolidations"


@pytest.fixture
def told_twice(client):
    """A client whose namespace holds one fact twice."""
    for text in ("Bob paid Alice", "Alice was paid by Bob"):
        client.remember(text)
    return client


def contents(client):
    return sorted(memory["content"] for memory in client.send("GET", "/v1/memories").json["memories"])


def test_a_dry_run_shows_the_groups_and_changes_nothing(told_twice):
    answer = told_twice.send("POST", ROUTE, {"dry_run": True})
    (group,) = answer.json["plan"]["groups"]
    assert {item["content"] for item in group["originals"]} == {"Bob paid Alice", "Alice was paid by Bob"}
    assert (answer.status, len(contents(told_twice))) == (200, 2)


def test_a_run_merges_and_its_record_can_be_read(told_twice):
    answer = told_twice.send("POST", ROUTE, {"kind": "semantic", "threshold": 0.5, "undo_days": 1})
    ConsolidationAnswer.model_validate(answer.json)
    run = answer.json["run"]
    assert (run["state"], run["counts"]["merged"], len(contents(told_twice))) == ("applied", 1, 1)
    assert told_twice.send("GET", f"{ROUTE}/{run['id']}").json == run


def test_a_run_can_be_undone(told_twice):
    run = told_twice.send("POST", ROUTE, {}).json["run"]
    answer = told_twice.send("POST", f"{ROUTE}/{run['id']}/undo")
    assert (answer.status, answer.json) == (200, {"run_id": run["id"], "restored": 2, "kept": []})
    assert len(contents(told_twice)) == 2


def test_a_settled_run_cannot_be_undone(told_twice):
    run = told_twice.send("POST", ROUTE, {"undo_days": 0}).json["run"]
    assert told_twice.send("POST", f"{ROUTE}/{run['id']}/undo").status == 409


def test_what_there_was_no_time_for_is_202_and_goes_on_with_the_next_request(told_twice, monkeypatch):
    monkeypatch.setattr(http_consolidations, "SECONDS_MAX", 0)
    first = told_twice.send("POST", ROUTE, {})
    monkeypatch.undo()
    second = told_twice.send("POST", ROUTE, {})
    assert (first.status, second.status) == (202, 200)
    assert first.json["run"]["id"] == second.json["run"]["id"]


@pytest.mark.parametrize("body", [{"threshold": 2}, {"undo_days": -1}, {"kind": "x"}, {"merge_count_max": 0}, {"x": 1}])
def test_a_wrong_request_is_refused(told_twice, body):
    assert told_twice.send("POST", ROUTE, body).status in (400, 422)
    assert len(contents(told_twice)) == 2


@pytest.mark.parametrize("target", [f"{ROUTE}/nobody", f"{ROUTE}/nobody/undo"])
def test_a_run_that_nobody_knows_is_404(client, target):
    assert client.send("POST" if target.endswith("undo") else "GET", target).status == 404


def test_who_may_only_read_sees_the_plan_and_merges_nothing():
    reader = make_client(permissions=("read",))
    assert reader.send("POST", ROUTE, {"dry_run": True}).status == 200
    assert reader.send("POST", ROUTE, {}).status == 403
    assert reader.send("POST", f"{ROUTE}/some/undo").status == 403
