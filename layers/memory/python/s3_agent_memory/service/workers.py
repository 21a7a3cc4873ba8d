"""Doing the same to many things, side by side where requests wait for a network."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Workers:
    """A bounded number of threads; one worker works in the caller's own.

    Args:
        count: things that are under way at once.
    """

    def __init__(self, count: int = 1) -> None:
        self._count = count

    def each(self, action: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
        """Return what the action makes of every item, in order; what it raises escapes when the others have ended."""
        if self._count == 1 or len(items) < 2:
            return [action(item) for item in items]
        with ThreadPoolExecutor(min(self._count, len(items))) as pool:
            return list(pool.map(action, items))
