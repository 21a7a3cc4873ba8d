"""AWS events: the only place that decodes them.

The indexer is fed by S3 notifications in SQS messages, and understands the same notifications sent directly or by way
of EventBridge. Keys in S3 notifications are URL-encoded (a space is ``+``), keys in EventBridge events are not. An
event only says "look at this object"; one that names no truth of this store says nothing and is done with.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote_plus

from s3_agent_memory.domain.json_values import decode_json
from s3_agent_memory.domain.keys import TruthKey, parse_truth_key
from s3_agent_memory.errors import ValidationError

_S3_SCHEME: Final = "s3"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a batch.

    Attributes:
        id: by which SQS knows it; None if the event did not come through a queue.
        changes: what it says to look at; None if it cannot be decoded.
    """

    id: str | None
    changes: tuple[TruthKey, ...] | None


@dataclass(frozen=True, slots=True)
class Batch:
    """The messages of one event."""

    messages: tuple[Message, ...]

    @property
    def changes(self) -> tuple[TruthKey, ...]:
        """Everything to look at, each once, in the order of the messages."""
        return tuple(dict.fromkeys(change for message in self.messages for change in message.changes or ()))


def key_root(url: str) -> str:
    """Return what stands before ``memory/`` in the bucket keys of a store: the path of its ``s3://`` URL.

    Example:
        >>> key_root("s3://bucket/agents/prod"), key_root("file:///var/memory")
        ('agents/prod/', '')
    """
    scheme, _, address = url.partition("://")
    # As when the store is opened, everything behind the bucket is the prefix as it is: nothing is decoded or cut.
    prefix = address.partition("/")[2].strip("/")
    return f"{prefix}/" if scheme == _S3_SCHEME and prefix else ""


def decode_batch(event: Mapping[str, Any], *, root: str = "") -> Batch:
    """Return the batch in an SQS event, a direct S3 notification or an EventBridge event.

    Args:
        root: what stands before ``memory/`` in the bucket; see ``key_root``.

    Raises:
        ValidationError: the event is no queue's, and cannot be decoded.
    """
    records = event.get("Records")
    if isinstance(records, list) and any(isinstance(record, Mapping) and "body" in record for record in records):
        return Batch(tuple(_decode_message(record, root) for record in records))
    return Batch((Message(None, _decode_notification(event, root)),))


def batch_response(batch: Batch, failed: Iterable[TruthKey] = ()) -> dict[str, Any]:
    """Return the partial batch response: messages that must come again, or end in the dead-letter queue.

    Args:
        failed: changes that could not be worked on; every message that names one comes again.
    """
    failed_keys = frozenset(failed)
    identifiers = [
        message.id
        for message in batch.messages
        if message.id is not None and (message.changes is None or failed_keys.intersection(message.changes))
    ]
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in identifiers]}


def _decode_message(record: Mapping[str, Any], root: str) -> Message:
    try:
        notification = decode_json(str(record["body"]).encode("utf-8", "surrogatepass"))
        if not isinstance(notification, Mapping):
            raise ValidationError("the message is no JSON object")
        return Message(str(record["messageId"]), _decode_notification(notification, root))
    except ValidationError:
        return Message(str(record["messageId"]), None)


def _decode_notification(notification: Mapping[str, Any], root: str) -> tuple[TruthKey, ...]:
    try:
        if "detail" in notification:
            keys = [str(notification["detail"]["object"]["key"])]
        else:
            # A test event of S3 (sent when a notification is configured) has no records.
            keys = [unquote_plus(str(record["s3"]["object"]["key"])) for record in notification.get("Records", ())]
    except (KeyError, TypeError) as error:
        raise ValidationError("the event is no S3 notification") from error
    changes = [parse_truth_key(key.removeprefix(root)) for key in keys if key.startswith(root)]
    return tuple(change for change in changes if change is not None)
