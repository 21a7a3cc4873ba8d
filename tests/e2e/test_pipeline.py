"""What happens behind the API: events fold the index, poison is set aside, schedules repair and prune.

All situations are arranged before the first wait, so that the waits overlap.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pytest

from s3_agent_memory.domain.keys import (
    Namespace,
    log_prefix,
    marker_key,
    memory_key,
    parse_namespace,
    segment_prefix,
    tombstone_key,
)
from s3_agent_memory.domain.kinds import Kind
from tests.e2e.account import Account, Bucket
from tests.e2e.api import Caller, NewCaller
from tests.e2e.deployment import Deployment
from tests.e2e.waiting import wait_for

# Far more than each takes: a busy machine must not fail the suite.
_EVENT_SECONDS = 180
_DEAD_LETTER_SECONDS = 300
# A schedule of one minute, which the emulator looks at every ten seconds.
_SCHEDULE_SECONDS = 300
# Folded entries stay for one minute; a few folds more have to come.
_CLEAN_UP_SECONDS = 300
_THREAD_COUNT = 2
# A batch must be done before the gateway gives up, on a slow machine as well.
_BATCH_SIZE = 20
_POISON_ID = "0123456789abcdef00000bad"
_ORPHAN_ID = "0123456789abcdef00000001"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A namespace in which something has been arranged.

    Attributes:
        memory_id: of the memory it is about.
        keys: of objects it is about.
    """

    namespace: Namespace
    caller: Caller
    memory_id: str = ""
    keys: frozenset[str] = frozenset()


@pytest.fixture(scope="module")
def filled(new_caller: NewCaller, bucket: Bucket) -> Situation:
    """200 memories, one half in batches and the other half by parallel requests."""
    caller = new_caller("pipeline/filled")
    operations = [{"op": "remember", "content": f"Batch memory {number}"} for number in range(100)]
    for start in range(0, len(operations), _BATCH_SIZE):
        batch = {"operations": operations[start : start + _BATCH_SIZE]}
        results = caller.ask("POST", "/v1/memories/batch", batch)["results"]
        assert {result["status"] for result in results} == {201}
    with ThreadPoolExecutor(_THREAD_COUNT) as pool:
        ids = set(pool.map(lambda number: caller.remember(f"Single memory {number}"), range(100)))
    assert len(ids) == 100
    namespace = parse_namespace("pipeline/filled")
    return Situation(namespace=namespace, caller=caller, keys=frozenset(bucket.keys(log_prefix(namespace))))


@pytest.fixture(scope="module")
def poisoned(new_caller: NewCaller, bucket: Bucket) -> Situation:
    """An object that is no memory, and a memory beside it."""
    namespace = parse_namespace("pipeline/poisoned")
    caller = new_caller("pipeline/poisoned")
    key = memory_key(namespace, Kind.SEMANTIC, _POISON_ID)
    bucket.create(key, b'{"schema": 1, "content": ')
    memory_id = caller.remember("A sound memory beside a broken one")
    return Situation(namespace=namespace, caller=caller, memory_id=memory_id, keys=frozenset([key]))


@pytest.fixture(scope="module")
def expired(new_caller: NewCaller) -> Situation:
    """A memory that was to be kept for a second."""
    caller = new_caller("pipeline/expired")
    memory_id = caller.remember("A memory for a second", ttl=1)
    return Situation(namespace=parse_namespace("pipeline/expired"), caller=caller, memory_id=memory_id)


@pytest.fixture(scope="module")
def unnoticed(new_caller: NewCaller, bucket: Bucket) -> Situation:
    """A memory of which neither an event nor a log entry tells, in a namespace that has an index."""
    namespace = parse_namespace("pipeline/unnoticed")
    caller = new_caller("pipeline/unnoticed")
    known_id = caller.remember("A memory that everybody noticed")
    wait_for(lambda: bucket.keys(marker_key(namespace)), what="the first fold of the namespace", seconds=_EVENT_SECONDS)
    # What a writer leaves behind that dies between the object and its log entry, while events are lost.
    document = json.loads(bucket.read(memory_key(namespace, Kind.SEMANTIC, known_id)))
    document |= {"id": _ORPHAN_ID, "content": "An orphan that nobody noticed"}
    configuration = bucket.notifications()
    bucket.set_notifications({})
    try:
        assert bucket.notifications() == {}
        bucket.create(memory_key(namespace, Kind.SEMANTIC, _ORPHAN_ID), json.dumps(document).encode())
    finally:
        bucket.set_notifications(configuration)
    return Situation(namespace=namespace, caller=caller, memory_id=_ORPHAN_ID)


@pytest.fixture(scope="module", autouse=True)
def _everything_arranged(filled: Situation, poisoned: Situation, expired: Situation, unnoticed: Situation) -> None:
    """Arrange all situations at once."""


def test_a_memory_is_found_as_soon_as_it_is_written(filled: Situation) -> None:
    memory_id = filled.caller.remember("The zebra was seen last of all")

    assert filled.caller.found_ids("zebra")[0] == memory_id


def test_events_fold_the_log_into_segments(filled: Situation, bucket: Bucket) -> None:
    # A schedule passes over a namespace without a marker, and only the indexer, which runs upon events, sets the first.
    for query in ("batch", "single"):
        wait_for(
            partial(_has_hits, filled.caller, query, count=100),
            what=f"the index to find every {query} memory without the log",
            seconds=_EVENT_SECONDS,
        )

    assert bucket.keys(segment_prefix(filled.namespace))


def test_a_broken_object_ends_in_the_dead_letter_queue(
    poisoned: Situation, account: Account, deployment: Deployment
) -> None:
    (key,) = poisoned.keys
    queue_url, sqs = deployment.outputs["IndexerDeadLetterQueueUrl"], account.client("sqs")

    def has_come() -> bool:
        received = sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10, VisibilityTimeout=0)
        return any(key in message["Body"] for message in received.get("Messages", []))

    wait_for(has_come, what="a dead letter about the broken object", seconds=_DEAD_LETTER_SECONDS)


def test_a_broken_object_does_not_keep_others_from_the_index(poisoned: Situation) -> None:
    wait_for(
        partial(_has_hits, poisoned.caller, "sound memory", count=1),
        what="the index to find the sound memory",
        seconds=_EVENT_SECONDS,
    )


def test_what_no_event_told_of_is_found_after_the_scheduled_sweep(unnoticed: Situation) -> None:
    found = wait_for(lambda: unnoticed.caller.found_ids("orphan nobody"), what="the sweep", seconds=_SCHEDULE_SECONDS)

    assert found[0] == unnoticed.memory_id


def test_an_expired_memory_is_pruned_on_schedule(expired: Situation, bucket: Bucket) -> None:
    key = memory_key(expired.namespace, Kind.SEMANTIC, expired.memory_id)
    assert expired.caller.send("GET", f"/v1/memories/{expired.memory_id}").status_code == 404

    wait_for(lambda: key not in bucket.keys(key), what="the expired object to go", seconds=_SCHEDULE_SECONDS)

    tombstone = json.loads(bucket.read(tombstone_key(expired.namespace, expired.memory_id)))
    assert tombstone["reason"] == "expired"


def test_later_folds_remove_folded_log_entries(filled: Situation, bucket: Bucket) -> None:
    def nudge_and_look() -> bool:
        # Each memory brings an event, and each event a fold.
        filled.caller.remember("Time goes by")
        return filled.keys.isdisjoint(bucket.keys(log_prefix(filled.namespace)))

    assert filled.keys
    wait_for(nudge_and_look, what="the log entries of the first folds to go", seconds=_CLEAN_UP_SECONDS)


def _has_hits(caller: Caller, query: str, *, count: int) -> bool:
    """Return True if the index alone, without the log, finds so many memories; others may be found by meaning."""
    return len(caller.found_ids(query, limit=100, consistency="eventual")) >= count
