"""The product's ports over the simulated world: object storage, clock and randomness."""

from __future__ import annotations

import random
from collections.abc import Sequence

from s3_agent_memory.storage.port import (
    UNCHANGED,
    Get,
    ListedObject,
    ObjectPage,
    Read,
    ReadResult,
    StoredObject,
    Unchanged,
)
from tests.simulation.world import SECOND_US, Request, World

PAGE_SIZE = 40


class SimulatedObjectStore:
    """Object storage whose every request is a switch of the scheduler."""

    def __init__(self, world: World) -> None:
        self._world = world

    def get(self, key: str, *, size_max: int) -> StoredObject | None:
        return self._world.send(Request("get", key, lambda: self._read(key, size_max)))  # type: ignore[return-value]

    def get_if_changed(self, key: str, etag: str, *, size_max: int) -> StoredObject | Unchanged | None:
        def effect() -> object:
            found = self._read(key, size_max)
            return UNCHANGED if found is not None and found.etag == etag else found

        return self._world.send(Request("get", key, effect))  # type: ignore[return-value]

    def _read(self, key: str, size_max: int) -> StoredObject | None:
        found = self._world.objects.get(key)
        if found is None:
            return None
        return StoredObject(found.body[:size_max], found.etag, len(found.body) > size_max)

    def list_page(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> ObjectPage:
        def effect() -> ObjectPage:
            found, is_last = self._world.list(prefix, start_after, min(limit or PAGE_SIZE, PAGE_SIZE))
            rows = [ListedObject(key, item.etag, len(item.body), item.modified_ms) for key, item in found]
            return ObjectPage(tuple(rows), is_last)

        return self._world.send(Request("list", prefix, effect))  # type: ignore[return-value]

    def read_many(self, reads: Sequence[Read]) -> list[ReadResult]:
        order = list(range(len(reads)))
        self._world.rng.shuffle(order)
        results: list[ReadResult] = [None] * len(reads)
        for position in order:
            read = reads[position]
            if not isinstance(read, Get):
                results[position] = self.list_page(read.prefix, start_after=read.start_after, limit=read.limit)
            elif read.if_none_match is not None:
                results[position] = self.get_if_changed(read.key, read.if_none_match, size_max=read.size_max)
            else:
                results[position] = self.get(read.key, size_max=read.size_max)
        return results

    def put(self, key: str, body: bytes, *, if_match: str | None = None, if_absent: bool = False) -> str:
        request = Request(
            "put",
            key,
            lambda: self._world.put(key, body, if_match, if_absent),
            is_write=True,
            is_conditional=if_absent or if_match is not None,
        )
        return self._world.send(request)  # type: ignore[return-value]

    def delete(self, key: str, *, if_match: str | None = None) -> None:
        request = Request(
            "delete",
            key,
            lambda: self._world.delete(key, if_match),
            is_write=True,
            is_conditional=if_match is not None,
        )
        self._world.send(request)

    def delete_many(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.delete(key)


class SimulatedClock:
    """The world's time with the skew of one machine."""

    def __init__(self, world: World, skew_s: float) -> None:
        self._world = world
        self._skew_us = int(skew_s * SECOND_US)

    def now_us(self) -> int:
        return self._world.now_us + self._skew_us

    def monotonic_s(self) -> float:
        return self._world.now_us / SECOND_US

    def sleep(self, seconds: float) -> None:
        self._world.send(Request("sleep", "", lambda: seconds * SECOND_US))


class SimulatedEntropy:
    """Random bytes of the seed."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def random_bytes(self, count: int) -> bytes:
        return self._rng.randbytes(count)
