"""Events: whatever a message of a queue or a notification holds, it names objects or is set aside by itself."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from s3_agent_memory.domain.keys import TruthKey
from s3_agent_memory.edge.aws_events import batch_response, decode_batch
from s3_agent_memory.errors import ValidationError
from tests.functions.deployment import recorded
from tests.fuzz.damage import odd_bodies, odd_documents

MORE_EXAMPLES = settings(max_examples=3 * settings().max_examples)
QUEUED = recorded("sqs_s3_put_and_delete")
DIRECT = recorded("s3_direct")
EVENTBRIDGE = json.loads(recorded("sqs_eventbridge_s3")["Records"][0]["body"])
BODIES = [
    record["body"].encode()
    for name in ("sqs_s3_put_and_delete", "sqs_eventbridge_s3")
    for record in recorded(name)["Records"]
]
INTACT = {"messageId": "intact", "body": QUEUED["Records"][0]["body"]}


@MORE_EXAMPLES
@given(st.sampled_from(BODIES).flatmap(odd_bodies), st.one_of(st.none(), st.text(st.characters(), max_size=20)))
def test_any_message_of_a_queue_is_decoded_or_fails_alone(body: bytes, text: str | None) -> None:
    message = {"messageId": "odd", "body": body.decode("utf-8", "replace") if text is None else text}
    batch = decode_batch({"Records": [INTACT, message]})
    intact, odd = batch.messages
    assert intact.changes
    assert all(isinstance(change, TruthKey) for change in odd.changes or ())
    failed = [item["itemIdentifier"] for item in batch_response(batch)["batchItemFailures"]]
    assert failed == (["odd"] if odd.changes is None else [])


@MORE_EXAMPLES
@given(st.sampled_from([DIRECT, EVENTBRIDGE]).flatmap(odd_documents))
def test_any_notification_is_decoded_or_refused(event: Any) -> None:
    if not isinstance(event, dict):
        return
    try:
        batch = decode_batch(event)
    except ValidationError:
        return
    assert all(isinstance(change, TruthKey) for change in batch.changes)
