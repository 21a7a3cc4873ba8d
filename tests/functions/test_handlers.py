"""The event-driven functions, on recorded events."""

import functools
import json
from unittest.mock import patch

import pytest

from s3_agent_memory import bootstrap
from s3_agent_memory.domain.keys import marker_key, parse_namespace
from tests.fakes.embedder import FakeEmbedder
from tests.functions.deployment import (
    SETTINGS,
    Context,
    fresh_namespace,
    load_handler,
    make_client,
    object_store,
    recorded,
)


def notification_of(keys):
    records = [{"eventSource": "aws:s3", "s3": {"object": {"key": key}}} for key in keys]
    return {
        "Records": [
            {"messageId": str(number), "body": json.dumps({"Records": [record]})}
            for number, record in enumerate(records)
        ]
    }


def index(keys):
    return load_handler("indexer").lambda_handler(notification_of(keys), Context())


def stats_of(client):
    return client.send("GET", "/v1/stats").json


def test_the_authorizer_gives_the_grant_as_flat_text():
    client = make_client(covers_children=True, ttl=60)
    event = recorded("http_api_v2_authorizer")
    event["headers"]["authorization"] = f"Bearer {client.token}"
    decision = load_handler("authorizer").lambda_handler(event, Context())
    context = decision["context"]
    assert decision["isAuthorized"] is True
    assert all(isinstance(value, str) for value in context.values())
    assert (context["principal"], context["namespace"], context["covers_children"]) == (
        "tester",
        client.namespace,
        "true",
    )
    assert (context["permissions"], str(client.token) in str(context)) == ("read write", False)


@pytest.mark.parametrize(("headers", "error"), [({}, "no_token"), ({"authorization": "Bearer x"}, "unauthenticated")])
def test_the_authorizer_passes_a_request_without_a_valid_token_on_with_the_reason(headers, error):
    event = recorded("http_api_v2_authorizer") | {"headers": headers, "identitySource": None}
    decision = load_handler("authorizer").lambda_handler(event, Context())
    assert decision == {"isAuthorized": True, "context": {"error": error}}


def test_the_indexer_folds_what_a_notification_points_at(client):
    memory = client.remember("green tea")
    answer = index([f"memory/{client.namespace}/semantic/{memory['id']}.json"])
    stats = stats_of(client)
    assert (answer, stats["segments"], stats["memories"]) == ({"batchItemFailures": []}, 1, 1)
    assert client.search("tea") == [memory["id"]]


def test_the_same_notification_again_changes_nothing(client):
    memory = client.remember("green tea")
    key = f"memory/{client.namespace}/semantic/{memory['id']}.json"
    index([key])
    before = stats_of(client)
    assert (index([key, key]), stats_of(client)["digest"]) == ({"batchItemFailures": []}, before["digest"])


def test_a_notification_about_a_deleted_memory_removes_its_row(client):
    memory = client.remember("green tea")
    key = f"memory/{client.namespace}/semantic/{memory['id']}.json"
    index([key])
    client.send("DELETE", f"/v1/memories/{memory['id']}")
    index([key, f"memory/{client.namespace}/_tombstones/{memory['id']}.json"])
    assert stats_of(client)["memories"] == 0


def test_a_message_whose_object_cannot_be_read_fails_and_the_others_are_folded(client):
    memory = client.remember("green tea")
    broken = f"memory/{client.namespace}/semantic/broken.json"
    object_store().put(broken, b"{")
    answer = index([f"memory/{client.namespace}/semantic/{memory['id']}.json", broken])
    assert answer == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert stats_of(client)["segments"] == 1


def test_undecodable_messages_end_in_the_dead_letter_queue():
    answer = load_handler("indexer").lambda_handler(recorded("sqs_undecodable"), Context())
    assert len(answer["batchItemFailures"]) == 3


@pytest.mark.parametrize("name", ["sqs_s3_test_event", "sqs_s3_foreign_keys", "s3_direct", "sqs_eventbridge_s3"])
def test_the_indexer_takes_every_recorded_event(name):
    assert load_handler("indexer").lambda_handler(recorded(name), Context()) == {"batchItemFailures": []}


def test_the_pruner_forgets_expired_memories_of_every_namespace():
    clients = [make_client(), make_client()]
    for client in clients:
        memory = client.remember("expired", ttl=0.000001)
        index([f"memory/{client.namespace}/semantic/{memory['id']}.json"])
    report = load_handler("pruner").lambda_handler(recorded("schedule"), Context(60_000))
    # Namespaces of other tests may have something to prune as well.
    assert report["changed"] >= 2
    assert report["is_complete"]
    assert [stats_of(client)["expired"] for client in clients] == [0, 0]


def test_the_pruner_stops_before_its_time_is_up_and_goes_on_the_next_time(client):
    memory = client.remember("expired", ttl=0.000001)
    index([f"memory/{client.namespace}/semantic/{memory['id']}.json"])
    pruner = load_handler("pruner").lambda_handler
    hurried, finished = pruner(recorded("schedule"), Context(1_000)), pruner(recorded("schedule"), Context(60_000))
    assert (hurried["is_complete"], hurried["namespaces"], finished["is_complete"]) == (False, 0, True)
    assert stats_of(client)["expired"] == 0


def test_the_sweeper_finds_an_object_that_no_event_told_of(client):
    memory = client.remember("green tea", id="told")
    index([f"memory/{client.namespace}/semantic/told.json"])
    silent = json.dumps(memory | {"id": "silent"}).encode()
    object_store().put(f"memory/{client.namespace}/semantic/silent.json", silent)
    before = client.search("tea")
    report = load_handler("sweeper").lambda_handler(recorded("schedule"), Context(60_000))
    assert (report["is_complete"], report["failed"]) == (True, ())
    assert (before, sorted(client.search("tea"))) == (["told"], ["silent", "told"])


def test_the_consolidator_merges_in_every_namespace(client):
    for text in ("Bob paid Alice", "Alice was paid by Bob"):
        memory = client.remember(text)
        index([f"memory/{client.namespace}/semantic/{memory['id']}.json"])
    report = load_handler("consolidator").lambda_handler(recorded("schedule"), Context(300_000))
    assert (report["is_complete"], report["failed"]) == (True, ())
    assert len(client.send("GET", "/v1/memories").json["memories"]) == 1


def test_scheduled_functions_answer_plain_json():
    namespace = parse_namespace(fresh_namespace())
    object_store().put(marker_key(namespace), b"")
    for name in ("pruner", "sweeper", "consolidator"):
        json.dumps(load_handler(name).lambda_handler(recorded("schedule"), Context(60_000)))


def segment_keys(client):
    prefix = f"memory/{client.namespace}/_index/segments/"
    return [item.key for item in object_store().list_page(prefix).objects]


def embed(keys, context=None):
    with patch.object(load_handler("embedder"), "embedder", embedding_worker()):
        return load_handler("embedder").lambda_handler(notification_of(keys), context or Context(900_000))


@functools.cache
def embedding_worker():
    return bootstrap.Parts(SETTINGS, store=object_store(), embedder=FakeEmbedder()).embedder


def test_the_embedder_gives_the_memories_behind_a_new_segment_a_vector(client):
    memory = client.remember("green tea")
    index([f"memory/{client.namespace}/semantic/{memory['id']}.json"])
    answer = embed(segment_keys(client))
    stats = stats_of(client)
    assert (answer, stats["vectors"], stats["embedding_model"]) == ({"batchItemFailures": []}, 1, "fake/1")


def test_a_repeated_event_embeds_nothing_again(client):
    memory = client.remember("green tea")
    index([f"memory/{client.namespace}/semantic/{memory['id']}.json"])
    keys = segment_keys(client)
    embed(keys)
    shards = object_store().list_page(f"memory/{client.namespace}/_index/vectors/").objects
    embed(keys + keys)
    assert object_store().list_page(f"memory/{client.namespace}/_index/vectors/").objects == shards


def test_the_embedder_stops_in_time_and_lets_the_message_come_again(client):
    memory = client.remember("green tea")
    index([f"memory/{client.namespace}/semantic/{memory['id']}.json"])
    answer = embed(segment_keys(client), Context(1_000))
    assert (answer, stats_of(client)["vectors"]) == ({"batchItemFailures": [{"itemIdentifier": "0"}]}, 0)


def test_the_embedder_without_a_model_takes_every_event():
    handler = load_handler("embedder").lambda_handler
    for name in ("sqs_s3_segments", "sqs_s3_put_and_delete", "sqs_s3_test_event"):
        assert handler(recorded(name), Context(900_000)) == {"batchItemFailures": []}
