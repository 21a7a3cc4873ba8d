"""Which memories a read may return, and whether the object of a proposed row is one of them."""

from dataclasses import dataclass
from typing import Protocol

from s3_agent_memory.domain.filters import Condition, matches
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.validity import Moment
from s3_agent_memory.index.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which memories a read may return: of one kind, with all these tags, within the filter, true at a moment.

    Attributes:
        as_of_us: the moment, microseconds since the epoch; None for now.
    """

    kind: Kind | None = None
    tags: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    as_of_us: int | None = None

    def moment(self, now_us: int) -> Moment:
        """Return the moment at which the memories must be true: ``as_of_us``, or now."""
        return Moment(now_us) if self.as_of_us is None else Moment(self.as_of_us, is_present=False)

    def includes(self, memory: Memory) -> bool:
        """Return True if the memory as stored now is among them, whenever it is true."""
        is_kind = self.kind is None or memory.kind is self.kind
        return is_kind and set(self.tags) <= set(memory.tags) and matches(memory, self.conditions)


class ProposedRow(Protocol):
    """What both kinds of candidate have in common."""

    @property
    def id(self) -> str:
        """Whose row it is."""

    @property
    def kind(self) -> Kind:
        """Under which kind its object lies."""

    @property
    def version(self) -> int:
        """The version it was made from."""


class Verifier:
    """Decides whether the object of a candidate is what the index proposed it for.

    The row has been found true. The object may be a later version, whose log entry is still to come: another memory
    may have superseded that version all the same.
    """

    def __init__(self, snapshot: Snapshot, selection: Selection, now_us: int) -> None:
        self._snapshot = snapshot
        self._selection = selection
        self._moment = selection.moment(now_us)

    def accepts(self, row: ProposedRow, memory: Memory) -> bool:
        """Return True if the memory may be returned."""
        if not self._selection.includes(memory) or not memory.is_true_at(self._moment):
            return False
        return memory.version == row.version or not self._is_ended(memory)

    def _is_ended(self, memory: Memory) -> bool:
        namers = self._snapshot.namers_of(memory.id)
        named = (item for item in namers if item.named_version == memory.version)
        return any(item.is_whole or item.has_begun(self._moment) for item in named)
