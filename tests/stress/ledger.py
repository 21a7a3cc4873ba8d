"""What may and what must be in a namespace, by what writers intended and what was acknowledged to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.stress.victims import Acknowledged, Intent


@dataclass(slots=True)
class Ledger:
    """The book of all memories.

    Attributes:
        contents: content by id, None for a memory that is forgotten.
        last_contents: content by id, also of memories that were forgotten since.
        pending: what each writer is doing, or was doing when it died.
        unlogged: ids whose last change was never acknowledged; the index may not know it before a sweep.
        markers: what was acknowledged to be on the shared memory.
        doubtful_markers: what may be there as well.
    """

    contents: dict[str, str | None] = field(default_factory=dict)
    last_contents: dict[str, str] = field(default_factory=dict)
    pending: dict[str, Intent] = field(default_factory=dict)
    unlogged: set[str] = field(default_factory=set)
    markers: set[str] = field(default_factory=set)
    doubtful_markers: set[str] = field(default_factory=set)
    acknowledged_count: int = 0
    unacknowledged_count: int = 0

    def intend(self, writer: str, intent: Intent) -> None:
        """Take note that a writer begins something."""
        self.pending[writer] = intent

    def acknowledge(self, writer: str, message: Acknowledged) -> None:
        """Take note that what a writer began is done."""
        intent = self.pending.pop(writer)
        changes = dict(intent.changes)
        if intent.newcomer:
            changes[message.memory_id] = intent.newcomer
        self._change(changes)
        self.unlogged.difference_update(changes)
        if intent.marker:
            self.markers.add(intent.marker)
        self.acknowledged_count += 1

    @property
    def live(self) -> dict[str, str]:
        """Content by id of the memories that must be there."""
        return {memory_id: content for memory_id, content in self.contents.items() if content is not None}

    @property
    def pending_ids(self) -> set[str]:
        """Ids that somebody is changing, or was changing when he died."""
        return {memory_id for intent in self.pending.values() for memory_id in intent.changes}

    def settle(self, present: Mapping[str, str]) -> None:
        """Take what lies in the store for the outcome of all that was never acknowledged, where it may be that.

        Args:
            present: content by id of every memory object; nobody writes at present.
        """
        newcomers = {intent.newcomer for intent in self.pending.values() if intent.newcomer}
        for memory_id, content in present.items():
            if content in newcomers:
                self._change({memory_id: content})
                self.unlogged.add(memory_id)
        for intent in self.pending.values():
            self.unacknowledged_count += 1
            self.doubtful_markers |= {intent.marker} - {""}
            self.unlogged |= set(intent.changes)
            self._change({key: content for key, content in intent.changes.items() if present.get(key) == content})
        self.pending.clear()

    def start_round(self) -> None:
        """Begin a round with a new shared memory."""
        self.markers.clear()
        self.doubtful_markers.clear()

    def _change(self, changes: Mapping[str, str | None]) -> None:
        self.contents.update(changes)
        self.last_contents.update({memory_id: content for memory_id, content in changes.items() if content})
