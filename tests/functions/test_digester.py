"""The digester function and conversations on the local stack."""

import json

import pytest

from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.domain.session_keys import session_of
from s3_agent_memory.edge import aws_events
from tests.functions.deployment import Context, load_handler, make_client, object_store, recorded
from tests.functions.stack_process import run_to_its_end, wait_until

LIFE_MS = 900_000
SMALL = {"S3_AGENT_MEMORY_TOKEN_BUDGET": "60", "S3_AGENT_MEMORY_COMPACTION_TARGET": "20"}
WORDS = "long enough to be more than what one window holds " * 40


@pytest.fixture
def client():
    made = make_client()
    attribution = {"principal": "tester", "session_id": "s1"}
    turns = [{"role": "user", "content": f"turn {number} {WORDS}"} for number in range(20)]
    answer = made.send("POST", "/v1/write", {"attribution": attribution, "turns": turns})
    assert answer.status == 202
    return made


def event_of(client):
    """Return the recorded event, about the session of this test."""
    event = recorded("sqs_s3_turns")
    session = session_of(parse_namespace(client.namespace), "s1")
    body = json.loads(event["Records"][0]["body"])
    notified = body["Records"][0]["s3"]["object"]
    prefix = f"sessions/{client.namespace}/_batches/{session.name}/"
    notified["key"] = prefix + notified["key"].partition("179e/")[2]
    assert object_store().get(notified["key"], size_max=1) is not None
    event["Records"][0]["body"] = json.dumps(body)
    return event


def facts(client):
    scope = {"level": "user", "principal": "tester"}
    return client.send("POST", "/v1/list", {"scope": scope, "include": ["long_term"]}).json["long_term"]["facts"]


def test_an_event_of_turns_becomes_memories(client):
    answer = load_handler("digester").lambda_handler(event_of(client), Context(LIFE_MS))
    assert answer == {"batchItemFailures": []}
    assert facts(client)[0]["metadata"]["session_id"] == "s1"


def test_an_event_that_comes_again_changes_nothing(client):
    event = event_of(client)
    load_handler("digester").lambda_handler(event, Context(LIFE_MS))
    before = facts(client)
    load_handler("digester").lambda_handler(event, Context(LIFE_MS))
    assert facts(client) == before


def test_an_event_without_time_left_comes_again(client):
    answer = load_handler("digester").lambda_handler(event_of(client), Context(1_000))
    assert answer == {"batchItemFailures": [{"itemIdentifier": "0"}]}


def test_the_schedule_digests_what_no_event_named(client):
    report = load_handler("digester").lambda_handler(recorded("schedule"), Context(LIFE_MS))
    assert (report["failed"], report["is_complete"], len(facts(client)) > 0) == ((), True, True)


@pytest.mark.parametrize("name", ["sqs_s3_put_and_delete", "sqs_s3_segments", "sqs_s3_test_event", "s3_direct"])
def test_events_of_other_objects_are_nothing_for_the_digester(name):
    assert aws_events.decode_turns_batch(recorded(name)).changes == ()
    assert not aws_events.is_scheduled(recorded(name))


def test_the_local_stack_digests_by_itself(start_stack):
    stack = start_stack(**SMALL)
    attribution = {"principal": "local", "session_id": "s1"}
    for number in range(12):
        body = {"attribution": attribution, "role": "user", "content": f"we saw city number {number} today"}
        assert stack.send("POST", "/v1/write", body)[0] in (200, 202)
    recall = {"scope": {"level": "user", "principal": "local"}, "query": "city", "include": ["long_term"]}

    def found():
        return stack.send("POST", "/v1/recall", recall)[1]["long_term"]["facts"]

    assert wait_until(found)
    assert stack.send("GET", "/readyz")[1]["stores"] == {"long_term": "ok", "sessions": "ok"}
    assert stack.stop() == 0


def test_neither_turns_nor_names_are_logged(start_stack):
    stack = start_stack(POWERTOOLS_LOG_LEVEL="DEBUG", SWEEP_INTERVAL_SECONDS="0.2", **SMALL)
    for number in range(12):
        attribution = {"principal": "local", "agent_client_id": "MARKER", "session_id": "MARKER"}
        stack.send(
            "POST", "/v1/write", {"attribution": attribution, "role": "user", "content": f"MARKER {number} text"}
        )
    assert wait_until(lambda: "sessions digested" in stack.log_path.read_text())
    stack.stop()
    assert "MARKER" not in stack.log_path.read_text()


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"S3_AGENT_MEMORY_COMPACTION_TARGET": "9999"}, "0 < compaction_target < compaction_trigger <= token_budget"),
        ({"S3_AGENT_MEMORY_TOKEN_BUDGET": "many"}, "S3_AGENT_MEMORY_TOKEN_BUDGET must be a whole number"),
    ],
)
def test_a_wrong_setting_is_told_at_the_start(tmp_path, environment, told):
    ended = run_to_its_end(tmp_path, **environment)
    assert (ended.returncode, told in ended.stderr) == (2, True)
