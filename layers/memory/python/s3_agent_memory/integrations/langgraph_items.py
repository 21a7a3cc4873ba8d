"""Items of LangGraph as memories: reading, writing, deleting and keeping alive one of them.

The memory of an item is semantic and has ``source="langgraph"``; any other memory in its namespace is neither seen nor
touched.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from langgraph.store.base import InvalidNamespaceError, Item, PutOp, SearchItem

from s3_agent_memory.domain.clock import Clock, Entropy, to_datetime
from s3_agent_memory.domain.json_values import check_json_object
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.timestamps import format_timestamp, parse_timestamp
from s3_agent_memory.errors import AgentMemoryError, ConflictError, NotFoundError, ValidationError
from s3_agent_memory.integrations.langgraph_keys import Labels, id_of, namespace_of
from s3_agent_memory.integrations.langgraph_values import pack_value, replacing_patch, searched_text, unpack_value
from s3_agent_memory.service.store.memory_service import MemoryService
from s3_agent_memory.storage.retry import Retrier, RetryPolicy

SOURCE: Final = "langgraph"
KIND: Final = Kind.SEMANTIC
UNINDEXED: Final = "unindexed"

_KEY: Final = "key"
_TTL_MINUTES: Final = "ttl_minutes"
_UPDATED_AT: Final = "updated_at"
# A memory must have some text; this one has no word to be found by.
_NO_CONTENT: Final = "-"
# Reading an item again and again must not write it again and again.
_REFRESH_SHARE: Final = 0.05
_ABSENT_ATTEMPT_COUNT: Final = 8

logger = logging.getLogger(__name__)


class Address(NamedTuple):
    """Where the memory of an item lies."""

    namespace: Namespace
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemWrite:
    """An item that is ready to be stored.

    Attributes:
        data: None deletes the item.
        metadata: what of the item is not in its value; None for what there is not.
    """

    address: Address
    content: str = _NO_CONTENT
    data: Mapping[str, Any] | None = None
    metadata: Mapping[str, object] | None = None
    ttl_seconds: float | None = None


class ItemKeeper:
    """Keeps items in a memory store, one at a time.

    Args:
        fields: paths of the text that items are found by; None means every string in the value.
    """

    def __init__(self, memories: MemoryService, *, fields: list[str] | None, clock: Clock, entropy: Entropy) -> None:
        self._memories = memories
        self._fields = fields
        self._clock = clock
        self._retrier = Retrier(clock, entropy, RetryPolicy())

    def prepare(self, operation: PutOp) -> ItemWrite:
        """Return what an operation amounts to, checked as far as that goes without reading.

        Raises:
            InvalidNamespaceError: the namespace cannot be stored.
            ValidationError: the value or the key is no plain JSON, or larger than the limits allow.
        """
        address = Address(namespace_of(operation.namespace), id_of(operation.key))
        if operation.value is None:
            return ItemWrite(address=address)
        limits = self._memories.limits
        value = check_json_object(operation.value, field="value", limits=limits, limit="data_bytes_max")
        text = self._text_of(value, operation)
        metadata = {
            _KEY: None if address.id == operation.key else operation.key,
            _TTL_MINUTES: operation.ttl,
            UNINDEXED: None if text else True,
            _UPDATED_AT: None,
        }
        return ItemWrite(
            address=address,
            content=text or _NO_CONTENT,
            data=pack_value(value),
            metadata=metadata,
            ttl_seconds=None if operation.ttl is None else operation.ttl * 60,
        )

    def _text_of(self, value: dict[str, object], operation: PutOp) -> str:
        if operation.index is False:
            return ""
        fields = self._fields if operation.index is None else operation.index
        return searched_text(value, fields, size_bytes_max=self._memories.limits.content_bytes_max)

    def write(self, item: ItemWrite) -> None:
        """Store or delete an item, whatever was there before.

        Raises:
            ConflictError: its key belongs to a memory that is no item.
            LimitExceededError: it is larger than the limits allow.
            ThrottledError: others changed it all the time.
        """
        for number in self._retrier.attempts("store an item"):
            present = self._find(item.address, kind=None)
            if present is not None and not is_item(present) and item.data is not None:
                raise ConflictError(f"the key {item.address.id!r} is the id of a memory that no LangGraph store wrote")
            try:
                self._apply(item, present)
            except (ConflictError, NotFoundError):
                # Somebody else changed or deleted it meanwhile; this write comes after theirs. What is never there and
                # yet in the way is an id that was forgotten under another kind.
                if present is None and number >= _ABSENT_ATTEMPT_COUNT:
                    raise
                continue
            return

    def _apply(self, item: ItemWrite, present: Memory | None) -> None:
        namespace, memory_id = item.address
        if item.data is None or item.metadata is None:
            if present is not None and is_item(present):
                self._memories.forget(namespace, memory_id)
        elif present is None:
            self._memories.remember(
                namespace,
                item.content,
                kind=KIND,
                source=SOURCE,
                ttl=item.ttl_seconds,
                data=item.data,
                metadata={name: value for name, value in item.metadata.items() if value is not None},
                id=memory_id,
                resurrect=True,
            )
        else:
            self._memories.update(
                namespace,
                memory_id,
                content=item.content,
                ttl=item.ttl_seconds,
                data=replacing_patch(present.data or {}, item.data),
                metadata=item.metadata,
                expected_version=present.version,
            )

    def read(self, namespace: Labels, key: str) -> Memory | None:
        """Return the memory of an item, None if there is none."""
        try:
            address = Address(namespace_of(namespace), id_of(key))
        except InvalidNamespaceError:
            # Nothing can be stored there.
            return None
        memory = self._find(address, kind=KIND)
        return memory if memory is not None and is_item(memory) else None

    def _find(self, address: Address, *, kind: Kind | None) -> Memory | None:
        try:
            return self._memories.get(address.namespace, address.id, kind=kind)
        except NotFoundError:
            return None

    def refresh(self, memory: Memory) -> None:
        """Let the time to live of an item begin anew, if it has one and a twentieth of it has passed."""
        ttl_minutes = memory.metadata.get(_TTL_MINUTES)
        if not isinstance(ttl_minutes, (int, float)) or memory.expires_at is None:
            return
        left = memory.expires_at - to_datetime(self._clock.now_us())
        if left.total_seconds() > ttl_minutes * 60 * (1 - _REFRESH_SHARE):
            return
        try:
            self._memories.update(
                memory.namespace,
                memory.id,
                ttl=ttl_minutes * 60,
                metadata={_UPDATED_AT: format_timestamp(_updated_at(memory))},
                expected_version=memory.version,
            )
        except (ConflictError, NotFoundError):
            # Whoever changed it set a time to live of their own.
            return
        except AgentMemoryError as error:
            # What was read is right all the same.
            logger.warning("refreshing the time to live of an item failed: %s", error.code)


def is_item(memory: Memory) -> bool:
    """Return True if a memory keeps an item."""
    return memory.source == SOURCE and memory.kind is KIND


def item_of(memory: Memory, labels: Labels) -> Item:
    """Return a memory as the item it keeps, in the namespace that LangGraph calls ``labels``."""
    return Item(**_parts(memory, labels))


def search_item_of(memory: Memory, labels: Labels, *, score: float | None) -> SearchItem:
    """Return a memory as the item it keeps, with the score of a search; None if the search did not rank it."""
    return SearchItem(**_parts(memory, labels), score=score)


def value_of(memory: Memory) -> dict[str, Any]:
    """Return the value of the item a memory keeps."""
    return unpack_value(memory.data or {})


def _parts(memory: Memory, labels: Labels) -> dict[str, Any]:
    key = memory.metadata.get(_KEY)
    return {
        "namespace": labels,
        "key": key if isinstance(key, str) else memory.id,
        "value": value_of(memory),
        "created_at": memory.created_at,
        "updated_at": _updated_at(memory),
    }


def _updated_at(memory: Memory) -> datetime:
    """Return when the value was last written; refreshing a time to live moves only ``updated_at`` of the memory."""
    try:
        return parse_timestamp(memory.metadata[_UPDATED_AT], field=_UPDATED_AT)
    except (KeyError, ValidationError):
        return memory.updated_at
