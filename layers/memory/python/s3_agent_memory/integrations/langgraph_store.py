"""The store of LangGraph over a memory store: what a graph puts survives its process and can be found by meaning."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from s3_agent_memory.domain.clock import Clock, Entropy, SystemClock, SystemEntropy
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.integrations.langgraph_items import ItemKeeper, item_of, search_item_of
from s3_agent_memory.integrations.langgraph_search import ItemSearcher, in_parallel
from s3_agent_memory.service.store.memory_service import MemoryService


class S3Store(BaseStore):
    """A ``BaseStore`` whose items are memories.

    Safe for many threads, and as many processes as you like may use one store at once. Search is by words, and by
    meaning as well if the memory store has an embedder.

    Args:
        memories: where the items are kept.
        index: paths of the text that items are found by, or a mapping with them as ``fields``; by default every string
            in the value. ``put`` can name others for one item.
        ttl: defaults for ``put`` and for refreshing on reads. What has expired is never returned.
        clock, entropy: of the system by default.

    Raises:
        ValidationError: ``index`` is none of these.

    Example:
        >>> from s3_agent_memory import MemoryStore
        >>> store = S3Store(MemoryStore.from_url("memory://"), index=["text"])
        >>> store.put(("users", "alice"), "units", {"text": "prefers metric units"})
        >>> [item.key for item in store.search(("users",), query="metric")]
        ['units']
    """

    __slots__ = ("_keeper", "_searcher", "ttl_config")

    supports_ttl = True

    def __init__(
        self,
        memories: MemoryService,
        *,
        index: Sequence[str] | Mapping[str, Any] | None = None,
        ttl: TTLConfig | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self.ttl_config = ttl
        self._keeper = ItemKeeper(
            memories, fields=_fields(index), clock=clock or SystemClock(), entropy=entropy or SystemEntropy()
        )
        self._searcher = ItemSearcher(memories)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: first all reads, at once, then all writes, at once.

        So a read sees nothing that its own batch writes. Of several writes to one key the last wins. An operation that
        cannot be right is refused before anything is written.

        Raises:
            InvalidNamespaceError: a namespace has a wrong label, or cannot be stored.
            ValueError: an operation or filter operator is unknown.
            ValidationError: a value, limit or offset is wrong; the message says what is allowed.
        """
        operations = list(ops)
        for operation in operations:
            validate_op_namespace(operation)
        last_puts = {(item.namespace, item.key): item for item in operations if isinstance(item, PutOp)}
        writes = [self._keeper.prepare(operation) for operation in last_puts.values()]
        results = in_parallel([self._read(operation) for operation in operations])
        in_parallel(partial(self._keeper.write, write) for write in writes)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations on another thread, so that the event loop goes on; see ``batch``."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, operation: Op) -> Callable[[], Result]:
        if isinstance(operation, GetOp):
            return partial(self._get, operation)
        if isinstance(operation, SearchOp):
            return partial(self._search, operation)
        if isinstance(operation, ListNamespacesOp):
            return partial(self._searcher.namespaces, operation)
        if isinstance(operation, PutOp):
            return lambda: None
        raise ValueError(f"Unknown operation type: {type(operation)}")

    def _get(self, operation: GetOp) -> Item | None:
        memory = self._keeper.read(operation.namespace, operation.key)
        if memory is None:
            return None
        if operation.refresh_ttl:
            self._keeper.refresh(memory)
        return item_of(memory, operation.namespace)

    def _search(self, operation: SearchOp) -> list[SearchItem]:
        found = self._searcher.search(operation)
        if operation.refresh_ttl:
            in_parallel(partial(self._keeper.refresh, item.memory) for item in found if item.memory.expires_at)
        return [search_item_of(item.memory, item.place.labels, score=item.score) for item in found]


def _fields(index: Sequence[str] | Mapping[str, Any] | None) -> list[str] | None:
    if isinstance(index, Mapping):
        if index.get("embed") is not None:
            raise ValidationError(
                "index takes no embed: give the embedder to the memory store, MemoryStore.from_url(url, embedder=...)"
            )
        index = index.get("fields")
    if index is None:
        return None
    if isinstance(index, str) or not all(isinstance(path, str) for path in index):
        raise ValidationError("index must be a list of paths such as ['text', 'sections[*].title']")
    return list(index)
