"""From changes to functions on one machine: batches, retries, dead letters."""

import json
import threading

from functions.local_function import LocalFunction
from functions.local_queue import BATCH_SIZE_MAX, EMBEDDER_RULE, RECEIVE_COUNT_MAX, ChangeQueue
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.edge.aws_events import decode_batch, decode_segment_batch


def memory_key(number):
    return f"memory/users/a.b+c/semantic/m{number}.json"


class RecordingIndexer:
    """An indexer that remembers its events and fails as told."""

    def __init__(self, *, fails=lambda _: False, error=None):
        self.batches = []
        self._fails = fails
        self._error = error

    def __call__(self, event, _context):
        batch = decode_batch(event, root="some/prefix/")
        self.batches.append([change.memory_id for change in batch.changes])
        if self._error is not None:
            raise self._error
        failed = [
            str(number) for number, message in enumerate(batch.messages) if any(map(self._fails, message.changes or ()))
        ]
        return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in failed]}


def run(indexer, changes):
    """Put the changes, deliver everything and return the queue."""
    function = LocalFunction("indexer", timeout_seconds=60, monotonic=lambda: 0.0, handler=indexer)
    queue = ChangeQueue(function, root="some/prefix/", window_seconds=60)
    for key, verb in changes:
        queue.put(key, verb)
    queue.start()
    queue.close()
    return queue


def test_every_change_reaches_the_indexer_in_batches_of_limited_size():
    indexer = RecordingIndexer()
    count = BATCH_SIZE_MAX * 2 + 5
    run(indexer, [(memory_key(number), "put") for number in range(count)])
    assert [len(batch) for batch in indexer.batches] == [BATCH_SIZE_MAX, BATCH_SIZE_MAX, 5]
    assert [name for batch in indexer.batches for name in batch] == [f"m{number}" for number in range(count)]


def test_a_key_that_changes_again_before_delivery_is_delivered_once():
    indexer = RecordingIndexer()
    run(indexer, [(memory_key(1), "put"), (memory_key(1), "put"), (memory_key(1), "delete")])
    assert indexer.batches == [["m1"]]


def test_only_what_a_notification_is_configured_for_is_delivered():
    indexer = RecordingIndexer()
    keys = [
        "memory/users/a/_index/HEAD",
        "auth/tokens/x.json",
        "memory/users/a/_index/segments/s.seg",
        "memory/_namespaces/x",
    ]
    run(indexer, [(key, "put") for key in keys])
    assert indexer.batches == []


def test_a_message_that_fails_comes_again_and_ends_as_a_dead_letter():
    indexer = RecordingIndexer(fails=lambda change: change.memory_id == "m1")
    queue = run(indexer, [(memory_key(0), "put"), (memory_key(1), "put")])
    assert indexer.batches == [["m0", "m1"]] + [["m1"]] * (RECEIVE_COUNT_MAX - 1)
    assert [message.key for message in queue.dead_letters] == ["some/prefix/" + memory_key(1)]


def test_a_batch_whose_handler_raises_comes_again_as_a_whole():
    indexer = RecordingIndexer(error=RuntimeError("broken"))
    queue = run(indexer, [(memory_key(0), "put"), (memory_key(1), "put")])
    assert (len(indexer.batches), len(queue.dead_letters)) == (RECEIVE_COUNT_MAX, 2)


def test_an_event_is_plain_json_with_an_encoded_key():
    seen = []

    def keep(event, context):
        seen.append(event)
        return {"batchItemFailures": []}

    run(keep, [(memory_key(1), "delete")])
    (record,) = json.loads(seen[0]["Records"][0]["body"])["Records"]
    assert (record["eventName"], record["s3"]["object"]["key"]) == (
        "ObjectRemoved:Delete",
        "some/prefix/memory/users/a.b%2Bc/semantic/m1.json",
    )


def test_the_embedder_hears_of_new_segments_and_of_nothing_that_it_writes_itself():
    seen: list[tuple[Namespace, ...]] = []

    def keep(event, context):
        seen.append(decode_segment_batch(event, root="some/prefix/").changes)
        return {"batchItemFailures": []}

    function = LocalFunction("embedder", timeout_seconds=60, monotonic=lambda: 0.0, handler=keep)
    queue = ChangeQueue(function, rule=EMBEDDER_RULE, root="some/prefix/", window_seconds=60)
    queue.put("memory/users/a/_index/segments/new.seg", "put")
    queue.put("memory/users/b/_index/segments/old.seg", "delete")
    queue.put("memory/users/c/_index/vectors/new.vec", "put")
    queue.put("memory/users/c/_index/HEAD", "put")
    queue.put(memory_key(1), "put")
    queue.start()
    queue.close()
    assert seen == [(("users", "a"),)]


def test_a_queue_that_is_dropped_waits_for_the_batch_under_way_and_delivers_no_more():
    started, may_end = threading.Event(), threading.Event()
    batches = []

    def fail_slowly(event, context):
        batches.append(context.get_remaining_time_in_millis() > 0)
        started.set()
        assert may_end.wait(30)
        batches.append(context.get_remaining_time_in_millis() > 0)
        return {"batchItemFailures": [{"itemIdentifier": "0"}]}

    function = LocalFunction("embedder", timeout_seconds=60, monotonic=lambda: 0.0, handler=fail_slowly)
    queue = ChangeQueue(function, window_seconds=0)
    queue.put(memory_key(1), "put")
    queue.start()
    assert started.wait(30)
    queue.put(memory_key(2), "put")
    function.hurry()
    may_end.set()
    queue.drop()
    assert (batches, queue.dead_letters) == ([True, False], [])
