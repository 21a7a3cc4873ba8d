"""A consumer of the event feed, that knows of a namespace only what the feed told it."""

from __future__ import annotations

from collections.abc import Iterable

from s3_agent_memory.bootstrap import Parts
from s3_agent_memory.domain.events import Event, EventType
from s3_agent_memory.errors import CursorTooOldError
from tests.simulation.oracle import Oracle

PAGE_COUNT_MAX = 200


class FeedConsumer:
    """Follows the feed as its documentation says, page by page, on whatever instance answers.

    Attributes:
        known: the latest that was told of each id: twice the version, and one more if it was forgotten.
    """

    def __init__(self, oracle: Oracle, namespace: str) -> None:
        self.oracle = oracle
        self.namespace = namespace
        self.cursor: str | None = None
        self.known: dict[str, int] = {}

    def read(self, parts: Parts, limit: int) -> bool:
        """Read a page, and return whether there is more; a crash in between leaves the consumer as it was."""
        cursor = self.cursor
        try:
            page = parts.memories.events(self.namespace, cursor, limit=limit)
        except CursorTooOldError:
            self.oracle.counts["feed cursors too old"] += 1
            if self.cursor == cursor:
                self.cursor, self.known = None, {}
            return True
        self._check(page.events)
        # Two calls of one consumer may overlap: the one that ends first counts, the other's events come again.
        if self.cursor == cursor:
            self.cursor = page.cursor
            for event in page.events:
                self._apply(event)
        return page.has_more

    def _apply(self, event: Event) -> None:
        if event.type is EventType.SUPERSEDED:
            return
        rank = 2 * event.version + (event.type is EventType.FORGOTTEN)
        self.known[event.id] = max(rank, self.known.get(event.id, 0))

    def _check(self, events: Iterable[Event]) -> None:
        """Nothing is told that never was."""
        for event in events:
            self.oracle.counts["events told"] += 1
            landed = {item.version for op in self.oracle.writes[event.id] for item in op.landings}
            if event.type in (EventType.CREATED, EventType.UPDATED) and event.version not in landed:
                self.oracle.fail(f"the feed tells of {event.id} v{event.version}, which never was")
            # Whoever brings back what had expired forgets it first, with a tombstone and without a call.
            is_asked_for = self.oracle.forgets[event.id] or self.oracle.tombstone_version(event.id) >= event.version
            if event.type is EventType.FORGOTTEN and landed and not is_asked_for:
                self.oracle.fail(f"the feed says that {event.id} was forgotten, which nobody asked for")

    def check_complete(self, ids: Iterable[str]) -> None:
        """After quiet and the last page the consumer knows exactly what is there."""
        for memory_id in ids:
            live = [version for version, _ in self.oracle.live(memory_id)]
            told = self.known.get(memory_id, 0)
            if live and told != 2 * live[0]:
                self.oracle.fail(f"{memory_id} is there at v{live[0]}, and the feed told {_said(told)}")
            if not live and told and not told % 2:
                self.oracle.fail(f"{memory_id} is gone, and the feed told {_said(told)}")


def _said(rank: int) -> str:
    return f"of v{rank // 2}{', forgotten' if rank % 2 else ''}" if rank else "nothing of it"
