"""Which rows of new index files say something that a consumer of events has not been told."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.events import Event, EventType
from s3_agent_memory.domain.validity import MemoryVersion
from s3_agent_memory.index.id_table import IdTable, id_hash
from s3_agent_memory.index.row import RowMeta
from s3_agent_memory.index.segment import Segment

_CHUNK_ROWS: Final = 8_192
_Ranks = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class NewRows:
    """Segments that are new to a consumer, and what it knows.

    Attributes:
        fresh: the new segments, in the order of the manifest.
        known: segments it knows that are no longer in use; rows of theirs were merged into new ones.
        told: changes it was told from the log: the hash of the id, and the rank.
    """

    fresh: Sequence[Segment]
    known: Sequence[Segment]
    told: Set[tuple[int, int]]

    def untold(self, index: int, start: int) -> Iterator[tuple[int, RowMeta]]:
        """Yield the rows of ``fresh[index]`` from a position on that say something new, each with its position."""
        segment = self.fresh[index]
        for first in range(start, segment.row_count, _CHUNK_ROWS):
            rows = np.arange(first, min(first + _CHUNK_ROWS, segment.row_count))
            ids = segment.ids(rows)
            table, ranks = IdTable.of(ids), segment.ranks[rows]
            # A higher rank is told where it lies; an equal one where it lies first.
            is_new = ranks > np.maximum(best_ranks(table, self.known), best_ranks(table, self.fresh[:index]))
            is_new &= ranks >= best_ranks(table, self.fresh[index + 1 :])
            for place in np.flatnonzero(is_new).tolist():
                if (id_hash(ids[place]), int(ranks[place])) not in self.told:
                    yield first + place, segment.meta(first + place)

    def best_rank(self, memory_id: str) -> int:
        """Return the highest rank of an id in the new segments, 0 if it is in none."""
        found = (segment.find(memory_id) for segment in self.fresh)
        pairs = zip(self.fresh, found, strict=True)
        return max((int(segment.ranks[place]) for segment, place in pairs if place is not None), default=0)

    def vanished(self) -> Iterator[RowMeta]:
        """Yield the rows of memories that were alive in known segments and that no new segment mentions.

        The row of a deletion leaves the index some days after it; one that came late may have left before it was told.
        """
        for index, segment in enumerate(self.known):
            rows = np.flatnonzero(~segment.is_deleted)
            table, ranks = IdTable.of(segment.ids(rows)), segment.ranks[rows]
            others = [*self.known[:index], *self.known[index + 1 :]]
            is_gone = (best_ranks(table, self.fresh) == 0) & (ranks >= best_ranks(table, others))
            for position in rows[is_gone].tolist():
                yield segment.meta(position)


def missing_hashes(hashes: npt.NDArray[np.uint64], segments: Sequence[Segment]) -> npt.NDArray[np.uint64]:
    """Return those of some hashes of ids that no segment has a row of."""
    for segment in segments:
        hashes = hashes[~np.isin(hashes, segment.id_table.hashes)]
    return hashes


def best_ranks(table: IdTable, segments: Sequence[Segment]) -> _Ranks:
    """Return the highest rank of each id of a table in some segments, 0 where it is in none."""
    ranks = np.zeros(len(table), np.uint64)
    for segment in segments:
        here, there = table.match(segment.id_table)
        np.maximum.at(ranks, here, segment.ranks[there])
    return ranks


def events_of(row: RowMeta) -> list[Event]:
    """Return the events that a row amounts to: its own, and one for each version that it takes the place of."""
    at = to_datetime(row.updated_us)
    own = Event(type=_type_of(row), id=row.id, kind=row.kind, version=row.version, at=at)
    if row.is_deleted:
        return [own]
    named: Sequence[MemoryVersion] = tuple(dict.fromkeys((*row.supersedes, *row.consolidated_from)))
    return [
        own,
        *(
            Event(type=EventType.SUPERSEDED, id=item.id, kind=None, version=item.version, at=at, by=row.id)
            for item in named
        ),
    ]


def _type_of(row: RowMeta) -> EventType:
    if row.is_deleted:
        return EventType.FORGOTTEN
    return EventType.CREATED if row.version == 1 else EventType.UPDATED
