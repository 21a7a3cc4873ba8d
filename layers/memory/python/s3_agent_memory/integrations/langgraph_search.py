"""Searching items and listing namespaces, below a prefix that may hold any number of namespaces."""

import heapq
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final, NamedTuple, TypeVar

from langgraph.store.base import InvalidNamespaceError, ListNamespacesOp, MatchCondition, SearchOp

from s3_agent_memory.domain.filters import CONDITION_COUNT_MAX
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.errors import LimitExceededError, ValidationError
from s3_agent_memory.integrations.langgraph_filters import check_filter, index_conditions, passes
from s3_agent_memory.integrations.langgraph_items import KIND, SOURCE, UNINDEXED, is_item, value_of
from s3_agent_memory.integrations.langgraph_keys import Labels, labels_of, namespace_of
from s3_agent_memory.service.results import MemoryPage
from s3_agent_memory.service.store.memory_service import MemoryService

NAMESPACE_COUNT_MAX: Final = 1_000
WORKER_COUNT_MAX: Final = 16
_WILDCARD: Final = "*"
_T = TypeVar("_T")


class Place(NamedTuple):
    """A namespace under both its names."""

    labels: Labels
    namespace: Namespace


class Found(NamedTuple):
    """A memory that keeps an item, and its score if a query ranked it."""

    place: Place
    memory: Memory
    score: float | None = None


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a search may return: as conditions of the index, and whether these say all of it."""

    operation: SearchOp
    conditions: dict[str, object]
    is_decided: bool

    def includes(self, memory: Memory) -> bool:
        """Return True if a memory keeps an item, and one within the filter."""
        filters = self.operation.filter
        return is_item(memory) and (not filters or passes(value_of(memory), filters))


def in_parallel(calls: Iterable[Callable[[], _T]]) -> list[_T]:
    """Run calls on up to 16 threads and return their results in order; the first error is raised once all are done."""
    waiting = list(calls)
    if len(waiting) < 2:
        return [call() for call in waiting]
    with ThreadPoolExecutor(min(WORKER_COUNT_MAX, len(waiting))) as pool:
        return [future.result() for future in [pool.submit(call) for call in waiting]]


class ItemSearcher:
    """Finds items and namespaces in a memory store."""

    def __init__(self, memories: MemoryService) -> None:
        self._memories = memories

    def search(self, operation: SearchOp) -> list[Found]:
        """Return the items an operation asks for: what its query finds, best first, then the rest, latest change first.

        Raises:
            ValueError: the filter has an operator that does not exist.
            ValidationError: limit, offset or query are out of bounds.
            LimitExceededError: there are more than 1,000 namespaces below the prefix.
        """
        wanted = self._wanted(operation)
        stop = operation.offset + operation.limit
        if not operation.limit:
            return []
        places = self._places_below(operation.namespace_prefix)
        ranked = self._ranked(places, wanted, stop) if operation.query and operation.query.strip() else []
        rest: list[Found] = []
        if len(ranked) < stop:
            seen = {(found.place.namespace, found.memory.id) for found in ranked}
            unseen = (
                found
                for found in self._latest(places, wanted, stop)
                if (found.place.namespace, found.memory.id) not in seen
            )
            rest = list(islice(unseen, stop - len(ranked)))
        return [*ranked, *rest][operation.offset : stop]

    def _wanted(self, operation: SearchOp) -> _Wanted:
        bounds: dict[str, object] = {"limit": operation.limit, "offset": operation.offset}
        for name, number in bounds.items():
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                raise ValidationError(f"{name} must be a whole number from 0 on")
        check_filter(operation.filter or {})
        # Two conditions are this module's own.
        conditions, is_decided = index_conditions(operation.filter or {}, count_max=CONDITION_COUNT_MAX - 2)
        return _Wanted(operation, {"source": SOURCE, **conditions}, is_decided)

    def _places_below(self, prefix: Labels) -> list[Place]:
        places = list(islice(self._places(prefix), NAMESPACE_COUNT_MAX + 1))
        if len(places) > NAMESPACE_COUNT_MAX:
            raise LimitExceededError(
                f"there are more than {NAMESPACE_COUNT_MAX} namespaces below {prefix!r}; search a longer prefix",
                limit="namespace_count_max",
                maximum=NAMESPACE_COUNT_MAX,
            )
        return places

    def _places(self, prefix: Labels) -> Iterator[Place]:
        try:
            root = namespace_of(prefix) if prefix else None
        except InvalidNamespaceError:
            # Nothing can be stored there.
            return
        for name in self._memories.namespaces(root):
            namespace = Namespace(tuple(name.split("/")))
            labels = labels_of(namespace)
            if labels is not None:
                yield Place(labels, namespace)

    def _ranked(self, places: list[Place], wanted: _Wanted, stop: int) -> list[Found]:
        """Return what the query finds, best first; of each namespace its first hits only, up to a page of the store."""
        count_max = self._memories.limits.result_count_max
        limit = min(stop, count_max) if wanted.is_decided else count_max
        conditions = {**wanted.conditions, f"metadata.{UNINDEXED}": {"$ne": True}}

        def recall(place: Place) -> list[Found]:
            query = wanted.operation.query or ""
            hits = self._memories.recall(place.namespace, query, kind=KIND, filter=conditions, limit=limit)
            return [Found(place, hit.memory, hit.score) for hit in hits if wanted.includes(hit.memory)]

        hits = in_parallel(partial(recall, place) for place in places)
        merged = heapq.merge(*hits, key=lambda found: -(found.score or 0.0))
        return list(islice(merged, stop)) if wanted.is_decided else list(merged)

    def _latest(self, places: list[Place], wanted: _Wanted, stop: int) -> Iterator[Found]:
        """Yield all items within the filter, the most recently changed first."""
        limit = min(stop, self._memories.limits.result_count_max)

        def page(place: Place, cursor: str | None = None) -> MemoryPage:
            return self._memories.list(place.namespace, kind=KIND, filter=wanted.conditions, limit=limit, cursor=cursor)

        def items(place: Place, present: MemoryPage) -> Iterator[Found]:
            while True:
                yield from (Found(place, memory) for memory in present.memories if wanted.includes(memory))
                if present.next_cursor is None:
                    return
                present = page(place, present.next_cursor)

        first_pages = in_parallel(partial(page, place) for place in places)
        found = [items(place, first) for place, first in zip(places, first_pages, strict=True)]
        return heapq.merge(*found, key=lambda found: found.memory.updated_at, reverse=True)

    def namespaces(self, operation: ListNamespacesOp) -> list[Labels]:
        """Return the namespaces an operation asks for, in order.

        Raises:
            ValueError: a match condition is neither a prefix nor a suffix.
        """
        conditions = operation.match_conditions or ()
        for condition in conditions:
            if condition.match_type not in ("prefix", "suffix"):
                raise ValueError(f"Unsupported match type: {condition.match_type}; use prefix or suffix")
        places = self._places(_common_root(conditions))
        matching = [place.labels for place in places if all(_matches(place.labels, item) for item in conditions)]
        depth = operation.max_depth
        names = sorted({labels[:depth] for labels in matching})
        return names[operation.offset : operation.offset + operation.limit]


def _common_root(conditions: Iterable[MatchCondition]) -> Labels:
    """Return the longest prefix without a wildcard that a condition asks for: only what lies there is listed."""
    roots = [_before_wildcard(condition.path) for condition in conditions if condition.match_type == "prefix"]
    return max(roots, key=len, default=())


def _before_wildcard(path: Labels) -> Labels:
    return path[: path.index(_WILDCARD)] if _WILDCARD in path else path


def _matches(labels: Labels, condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(labels) < len(path):
        return False
    part = labels[: len(path)] if condition.match_type == "prefix" else labels[len(labels) - len(path) :]
    return all(wanted in (_WILDCARD, label) for label, wanted in zip(part, path, strict=True))
