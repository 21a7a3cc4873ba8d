"""AWS events: the only place that decodes them.

The indexer, the embedder and the digester are fed by S3 notifications in SQS messages, and understand the same
notifications sent directly or by way of EventBridge. Keys in S3 notifications are URL-encoded (a space is ``+``), keys
in EventBridge events are not. An event only says "look there"; one that names nothing of interest in this store says
nothing and is done with.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar
from urllib.parse import unquote_plus

from s3_agent_memory.domain.json_values import decode_json
from s3_agent_memory.domain.keys import Namespace, TruthKey, parse_segment_key, parse_truth_key
from s3_agent_memory.domain.session_keys import Session, parse_batch_key
from s3_agent_memory.errors import ValidationError

_S3_SCHEME: Final = "s3"
# What a function is told to look at: an object, or the namespace of an index file.
_C = TypeVar("_C", bound=Hashable)
_Parse = Callable[[str], _C | None]


@dataclass(frozen=True, slots=True)
class Message(Generic[_C]):
    """One message of a batch.

    Attributes:
        id: by which SQS knows it; None if the event did not come through a queue.
        changes: what it says to look at; None if it cannot be decoded.
    """

    id: str | None
    changes: tuple[_C, ...] | None


@dataclass(frozen=True, slots=True)
class Batch(Generic[_C]):
    """The messages of one event."""

    messages: tuple[Message[_C], ...]

    @property
    def changes(self) -> tuple[_C, ...]:
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


def decode_batch(event: Mapping[str, Any], *, root: str = "") -> Batch[TruthKey]:
    """Return what an SQS event, a direct S3 notification or an EventBridge event says of memories and tombstones.

    Args:
        root: what stands before ``memory/`` in the bucket; see ``key_root``.

    Raises:
        ValidationError: the event is no queue's, and cannot be decoded.
    """
    return _decode(event, root, parse_truth_key)


def decode_segment_batch(event: Mapping[str, Any], *, root: str = "") -> Batch[Namespace]:
    """Return the namespaces whose segments such an event names; see ``decode_batch``."""
    return _decode(event, root, parse_segment_key)


def decode_turns_batch(event: Mapping[str, Any], *, root: str = "") -> Batch[Session]:
    """Return the sessions whose turns such an event names; see ``decode_batch``."""
    return _decode(event, root, parse_batch_key)


def is_scheduled(event: Mapping[str, Any]) -> bool:
    """Return True if a schedule sent the event: it has no messages and names no object."""
    detail = event.get("detail")
    return "Records" not in event and not (isinstance(detail, Mapping) and "object" in detail)


def batch_response(batch: Batch[_C], failed: Iterable[_C] = ()) -> dict[str, Any]:
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


def _decode(event: Mapping[str, Any], root: str, parse: _Parse[_C]) -> Batch[_C]:
    records = event.get("Records")
    if isinstance(records, list) and any(isinstance(record, Mapping) and "body" in record for record in records):
        return Batch(tuple(_decode_message(record, root, parse) for record in records))
    return Batch((Message(None, _decode_notification(event, root, parse)),))


def _decode_message(record: Mapping[str, Any], root: str, parse: _Parse[_C]) -> Message[_C]:
    try:
        notification = decode_json(str(record["body"]).encode("utf-8", "surrogatepass"))
        if not isinstance(notification, Mapping):
            raise ValidationError("the message is no JSON object")
        return Message(str(record["messageId"]), _decode_notification(notification, root, parse))
    except ValidationError:
        return Message(str(record["messageId"]), None)


def _decode_notification(notification: Mapping[str, Any], root: str, parse: _Parse[_C]) -> tuple[_C, ...]:
    try:
        if "detail" in notification:
            keys = [str(notification["detail"]["object"]["key"])]
        else:
            # A test event of S3 (sent when a notification is configured) has no records.
            keys = [unquote_plus(str(record["s3"]["object"]["key"])) for record in notification.get("Records", ())]
    except (KeyError, TypeError) as error:
        raise ValidationError("the event is no S3 notification") from error
    changes = [parse(key.removeprefix(root)) for key in keys if key.startswith(root)]
    return tuple(change for change in changes if change is not None)
