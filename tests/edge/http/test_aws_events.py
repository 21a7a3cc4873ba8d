"""Decoding AWS events, from recorded samples."""

import json
from pathlib import Path

import pytest

from s3_agent_memory.domain.keys import TruthKey, parse_namespace, parse_truth_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.edge.aws_events import batch_response, decode_batch, decode_segment_batch, key_root
from s3_agent_memory.errors import ValidationError

EVENTS = Path(__file__).parents[2] / "events"


def recorded(name):
    return json.loads((EVENTS / f"{name}.json").read_text())


def message_id(number):
    return f"059f36b4-87a3-44ab-83d2-66197{number:07d}"


def truth(key):
    found = parse_truth_key(key)
    assert found is not None
    return found


def test_decode_batch_reads_puts_deletes_and_tombstones_of_each_message():
    batch = decode_batch(recorded("sqs_s3_put_and_delete"))
    memory = truth("memory/users/alice/semantic/01a16b209bf83fe5ba69f185.json")
    tombstone = truth("memory/users/alice/_tombstones/01a16b209bf83fe5ba69f185.json")
    assert [message.changes for message in batch.messages] == [(memory,), (tombstone, memory)]


def test_batch_names_each_change_once():
    assert len(decode_batch(recorded("sqs_s3_put_and_delete")).changes) == 2


def test_decode_batch_decodes_a_key_of_a_notification_once():
    (change,) = decode_batch(recorded("sqs_s3_encoded_key")).changes
    assert change == TruthKey(parse_namespace("users/a.b+tag@x.co"), Kind.EPISODIC, "note+1")


def test_decode_batch_leaves_a_key_of_eventbridge_as_it_is():
    (change,) = decode_batch(recorded("sqs_eventbridge_s3")).changes
    assert change == TruthKey(parse_namespace("users/a.b+tag@x.co"), Kind.EPISODIC, "note+1")


def test_decode_batch_takes_a_direct_notification():
    batch = decode_batch(recorded("s3_direct"))
    assert batch.changes == (truth("memory/users/alice/procedural/units.json"),)


def test_decode_batch_takes_a_direct_eventbridge_event():
    event = json.loads(recorded("sqs_eventbridge_s3")["Records"][0]["body"])
    assert [change.memory_id for change in decode_batch(event).changes] == ["note+1"]


def test_decode_batch_removes_the_prefix_of_the_store_and_ignores_what_lies_outside():
    batch = decode_batch(recorded("sqs_s3_with_store_prefix"), root="agents/prod/")
    assert [message.changes for message in batch.messages] == [(truth("memory/users/alice/semantic/units.json"),), ()]


@pytest.mark.parametrize("name", ["sqs_s3_test_event", "sqs_s3_foreign_keys"])
def test_a_message_that_names_no_truth_is_done_with(name):
    batch = decode_batch(recorded(name))
    assert (batch.changes, batch_response(batch)) == ((), {"batchItemFailures": []})


def test_a_message_without_records_is_done_with():
    batch = decode_batch({"Records": [{"messageId": "1", "body": "{}"}]})
    assert batch_response(batch) == {"batchItemFailures": []}


def test_undecodable_messages_fail_and_the_others_go_on():
    batch = decode_batch(recorded("sqs_undecodable"))
    assert batch.changes == (truth("memory/users/alice/semantic/units.json"),)
    failures = [item["itemIdentifier"] for item in batch_response(batch)["batchItemFailures"]]
    assert failures == [message_id(1), message_id(2), message_id(3)]


def test_a_failed_change_fails_every_message_that_names_it():
    batch = decode_batch(recorded("sqs_s3_put_and_delete"))
    memory, tombstone = batch.changes
    both = [item["itemIdentifier"] for item in batch_response(batch, [memory])["batchItemFailures"]]
    one = [item["itemIdentifier"] for item in batch_response(batch, [tombstone])["batchItemFailures"]]
    assert (both, one) == ([message_id(1), message_id(2)], [message_id(2)])


def test_an_undecodable_event_that_came_without_a_queue_raises():
    with pytest.raises(ValidationError):
        decode_batch({"Records": [{"s3": {}}]})


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("s3://bucket", ""),
        ("s3://bucket/", ""),
        ("s3://bucket/agents/prod", "agents/prod/"),
        ("s3://bucket/agents/prod/", "agents/prod/"),
        ("s3://bucket/a#b?c%20d", "a#b?c%20d/"),
        ("file:///var/memory", ""),
        ("memory://name", ""),
    ],
)
def test_key_root_is_the_path_of_an_s3_url(url, root):
    assert key_root(url) == root


def test_decode_segment_batch_reads_whose_index_each_segment_belongs_to():
    batch = decode_segment_batch(recorded("sqs_s3_segments"))
    tagged, alice = parse_namespace("users/a.b+tag@x.co"), parse_namespace("users/alice")
    assert [message.changes for message in batch.messages] == [(tagged,), (tagged,), (alice,)]
    assert batch.changes == (tagged, alice)


def test_every_message_about_a_namespace_that_failed_comes_again():
    batch = decode_segment_batch(recorded("sqs_s3_segments"))
    answer = batch_response(batch, [parse_namespace("users/a.b+tag@x.co")])
    expected = [message.id for message in batch.messages[:2]]
    assert [item["itemIdentifier"] for item in answer["batchItemFailures"]] == expected


@pytest.mark.parametrize("name", ["sqs_s3_put_and_delete", "sqs_s3_foreign_keys", "sqs_s3_test_event", "s3_direct"])
def test_what_names_no_segment_is_nothing_for_the_embedder(name):
    batch = decode_segment_batch(recorded(name))
    assert (batch.changes, batch_response(batch)) == ((), {"batchItemFailures": []})


def test_what_names_no_truth_is_nothing_for_the_indexer():
    assert decode_batch(recorded("sqs_s3_segments")).changes == ()
