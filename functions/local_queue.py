"""From changes to the indexer: S3 notifications in SQS-shaped batches, with retries and a dead-letter list."""

import json
import logging
import threading
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote_plus

from functions.local_function import LocalFunction

BATCH_SIZE_MAX: Final = 64
WINDOW_SECONDS: Final = 2.0
RECEIVE_COUNT_MAX: Final = 3

_EVENT_NAMES: Final = {"put": "ObjectCreated:Put", "delete": "ObjectRemoved:Delete"}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """One notification on its way: the bucket key, what happened there, and how often it was delivered."""

    key: str
    verb: str
    receive_count: int = 0


class ChangeQueue:
    """Collects changes and hands them to the indexer in a thread of its own.

    A key that changes again before it is delivered is delivered once: notifications only say "look there".

    Attributes:
        dead_letters: messages that failed too often.
    """

    def __init__(self, indexer: LocalFunction, *, root: str = "", window_seconds: float = WINDOW_SECONDS) -> None:
        self.dead_letters: list[QueuedMessage] = []
        self._indexer = indexer
        self._root = root
        self._window_seconds = window_seconds
        self._pending: dict[str, QueuedMessage] = {}
        self._is_closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="change-queue")

    def start(self) -> None:
        """Start to deliver."""
        self._thread.start()

    def put(self, key: str, verb: str) -> None:
        """Take note of a change (``put`` or ``delete``) if a notification is configured for its key."""
        if key.startswith("memory/") and key.endswith(".json"):
            self._enqueue([QueuedMessage(self._root + key, verb)])

    def close(self) -> None:
        """Deliver what is pending at once, and stop."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join()

    def _enqueue(self, messages: list[QueuedMessage]) -> None:
        with self._changed:
            self._pending.update({message.key: message for message in messages})
            self._changed.notify_all()

    def _run(self) -> None:
        while batch := self._next_batch():
            self._deliver(batch)

    def _next_batch(self) -> list[QueuedMessage]:
        with self._changed:
            self._changed.wait_for(lambda: self._pending or self._is_closing)
            self._changed.wait_for(self._is_due, timeout=self._window_seconds)
            keys = list(self._pending)[:BATCH_SIZE_MAX]
            return [self._pending.pop(key) for key in keys]

    def _is_due(self) -> bool:
        return self._is_closing or len(self._pending) >= BATCH_SIZE_MAX

    def _deliver(self, batch: list[QueuedMessage]) -> None:
        received = [replace(message, receive_count=message.receive_count + 1) for message in batch]
        failed = self._failed_of(received)
        again = [message for message in failed if message.receive_count < RECEIVE_COUNT_MAX]
        dead = [message for message in failed if message.receive_count >= RECEIVE_COUNT_MAX]
        self._enqueue(again)
        self.dead_letters += dead
        for message in dead:
            logger.error("change not indexed after %d attempts: %s", message.receive_count, message.key)

    def _failed_of(self, messages: list[QueuedMessage]) -> list[QueuedMessage]:
        try:
            answer = self._indexer.invoke(to_sqs_event(messages))
        except Exception as error:  # noqa: BLE001  # As in Lambda, a batch whose handler raises comes again.
            logger.warning("indexer failed: %s", type(error).__name__)
            return messages
        failed = {item["itemIdentifier"] for item in answer["batchItemFailures"]}
        return [message for number, message in enumerate(messages) if str(number) in failed]


def to_sqs_event(messages: list[QueuedMessage]) -> dict[str, Any]:
    """Return the event that SQS would send; the id of a message is its place in the batch."""
    return {
        "Records": [
            {
                "messageId": str(number),
                "eventSource": "aws:sqs",
                "attributes": {"ApproximateReceiveCount": str(message.receive_count)},
                "body": json.dumps({"Records": [_notification(message)]}),
            }
            for number, message in enumerate(messages)
        ]
    }


def _notification(message: QueuedMessage) -> dict[str, Any]:
    return {
        "eventSource": "aws:s3",
        "eventName": _EVENT_NAMES[message.verb],
        "s3": {"bucket": {"name": "local"}, "object": {"key": quote_plus(message.key, safe="/")}},
    }
