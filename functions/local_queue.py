"""From changes to functions: S3 notifications in SQS-shaped batches, with retries and a dead-letter list."""

import json
import logging
import threading
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote_plus

from functions.local_function import LocalFunction
from s3_agent_memory import names

BATCH_SIZE_MAX: Final = 64
WINDOW_SECONDS: Final = 2.0
RECEIVE_COUNT_MAX: Final = 3

_EVENT_NAMES: Final = {"put": "ObjectCreated:Put", "delete": "ObjectRemoved:Delete"}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NotificationRule:
    """Which changes are notified: of keys with this ending below a prefix, and only what happened so."""

    suffix: str
    verbs: tuple[str, ...]
    prefix: str = names.MEMORY_PREFIX

    def covers(self, key: str, verb: str) -> bool:
        """Return True if this change is notified."""
        return key.startswith(self.prefix) and key.endswith(self.suffix) and verb in self.verbs


INDEXER_RULE: Final = NotificationRule(".json", ("put", "delete"))
EMBEDDER_RULE: Final = NotificationRule(".seg", ("put",))
DIGESTER_RULE: Final = NotificationRule(names.TURNS_SUFFIX, ("put",), names.SESSION_PREFIX)


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """One notification on its way: the bucket key, what happened there, and how often it was delivered."""

    key: str
    verb: str
    receive_count: int = 0


class ChangeQueue:
    """Collects changes and hands them to a function in a thread of its own.

    A key that changes again before it is delivered is delivered once: notifications only say "look there".

    Attributes:
        dead_letters: messages that failed too often.
    """

    def __init__(
        self,
        function: LocalFunction,
        *,
        rule: NotificationRule = INDEXER_RULE,
        root: str = "",
        window_seconds: float = WINDOW_SECONDS,
    ) -> None:
        self.dead_letters: list[QueuedMessage] = []
        self._function = function
        self._rule = rule
        self._root = root
        self._window_seconds = window_seconds
        self._pending: dict[str, QueuedMessage] = {}
        self._is_closing = False
        self._is_dropping = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=f"queue-{function.name}")

    def start(self) -> None:
        """Start to deliver."""
        self._thread.start()

    def put(self, key: str, verb: str) -> None:
        """Take note of a change (``put`` or ``delete``) if a notification is configured for its key."""
        if self._rule.covers(key, verb):
            self._enqueue([QueuedMessage(self._root + key, verb)])

    def close(self) -> None:
        """Deliver what is pending at once, and stop."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join()

    def drop(self) -> None:
        """Stop when the function has answered, and drop what is pending."""
        with self._changed:
            self._is_dropping = True
            self._pending.clear()
        self.close()

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
        if self._is_dropping:
            return
        again = [message for message in failed if message.receive_count < RECEIVE_COUNT_MAX]
        dead = [message for message in failed if message.receive_count >= RECEIVE_COUNT_MAX]
        self._enqueue(again)
        self.dead_letters += dead
        for message in dead:
            logger.error("%s gave up after %d attempts: %s", self._function.name, message.receive_count, message.key)

    def _failed_of(self, messages: list[QueuedMessage]) -> list[QueuedMessage]:
        try:
            answer = self._function.invoke(to_sqs_event(messages))
        except Exception as error:  # noqa: BLE001  # As in Lambda, a batch whose handler raises comes again.
            logger.warning("%s failed: %s", self._function.name, type(error).__name__)
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
