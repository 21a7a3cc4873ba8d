"""What the suite compares: scenarios, and results without what no two stores share."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from langgraph.store.base import BaseStore, Item, Op, Result

ALICE = ("users", "alice")
# Namespaces above, below and beside each other.
PLACES = (
    ("a",),
    ("a", "b"),
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "c", "f"),
    ("b", "b"),
    ("z", "v1"),
    ("y", "v1"),
)
Scenario = Callable[[BaseStore], Any]
Agree = Callable[[Scenario], Any]


class Awaiting(BaseStore):
    """A store whose every operation goes through its asynchronous side."""

    supports_ttl = True

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return asyncio.run(self.abatch(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self._store.abatch(ops)


def seen(item: Any) -> Any:
    """Return an item without its times, which no two stores share."""
    return None if item is None else (item.namespace, item.key, item.value)


def found(items: Iterable[Item]) -> list[Any]:
    """Return items without times and order."""
    return sorted((seen(item) for item in items), key=repr)


def keys(items: Iterable[Item]) -> list[str]:
    return sorted(item.key for item in items)
