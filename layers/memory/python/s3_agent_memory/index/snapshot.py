"""What one reader sees: several segments as one index, each id once, with the row of the highest rank."""

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.validity import MemoryVersion, Moment
from s3_agent_memory.index.id_table import IdTable, Positions
from s3_agent_memory.index.row import DIGEST_MODULUS, KINDS, RowMeta
from s3_agent_memory.index.segment import Segment
from s3_agent_memory.index.session_links import SessionLinks, link_sessions
from s3_agent_memory.index.timeline import Namer, Timeline, build_timeline, namers_of, true_mask

_CHUNK_ROWS: Final = 65_536


@dataclass(frozen=True, slots=True)
class LiveRows:
    """Some live rows as columns: ids, kinds (codes into ``KINDS``), versions, and hashes of ETags (0 for unknown)."""

    ids: list[str]
    kinds: npt.NDArray[np.uint8]
    versions: npt.NDArray[np.uint64]
    etag_hashes: npt.NDArray[np.uint64]


class Snapshot:
    """Segments seen together. A row is live if it is no deletion and no other row of its id outranks it.

    Of equal ranks the row of the later segment counts. A document number is the position of a row in its segment plus
    the segment's base, the number of rows before it.

    Attributes:
        segments: the segments, in the order given.
        bases: base of each segment, and the number of all rows at the end, int64.
        dead: document numbers of all rows that are not live, ascending.
        derived: what scorers worked out from this snapshot and will need again.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = tuple(segments)
        self.derived: dict[Hashable, object] = {}
        self.bases: npt.NDArray[np.int64] = np.cumsum([0, *(segment.row_count for segment in segments)])
        self._starts: list[int] = self.bases[:-1].tolist()
        self._dead = [segment.deletions for segment in self.segments]
        self._mark_outranked()
        self.dead: Positions = np.concatenate(
            [np.zeros(0, np.int64), *(rows + base for rows, base in zip(self._dead, self.bases, strict=False))]
        )

    @property
    def doc_count(self) -> int:
        """Rows of all segments, live or not."""
        return int(self.bases[-1])

    @property
    def live_count(self) -> int:
        """Live rows: the memories this snapshot holds."""
        return self.doc_count - len(self.dead)

    @cached_property
    def length_total(self) -> int:
        """Words of all live texts together."""
        pairs = zip(self.segments, self._dead, strict=True)
        return sum(segment.length_total - int(segment.lengths[dead].sum(dtype=np.int64)) for segment, dead in pairs)

    @cached_property
    def lengths(self) -> npt.NDArray[np.unsignedinteger]:
        """Words of each text, by document number."""
        return np.concatenate([np.zeros(0, np.uint8), *(segment.lengths for segment in self.segments)])

    @cached_property
    def is_live(self) -> npt.NDArray[np.bool_]:
        """Which document numbers are live."""
        mask = np.ones(self.doc_count, np.bool_)
        mask[self.dead] = False
        return mask

    @cached_property
    def session_links(self) -> SessionLinks | None:
        """The turns before and after each live row, or None if there are no conversations."""
        return link_sessions(self.segments, self.bases, self.dead)

    @cached_property
    def timeline(self) -> Timeline | None:
        """What rows say of when they and others are true, or None if none says anything."""
        return build_timeline(self.segments, self.bases, self.is_live)

    def is_true_at(self, moment: Moment) -> npt.NDArray[np.bool_] | None:
        """Return which rows are true at a moment, by document number, dead ones included; None if all are."""
        return true_mask(self.segments, self.timeline, moment)

    def namers_of(self, memory_id: str) -> list[Namer]:
        """Return the live rows that name any version of a memory."""
        if self.timeline is None:
            return []
        return namers_of(self.segments, self.bases, self.is_live, memory_id)

    def is_never_true(self, named: MemoryVersion, begin_us: int, end_us: int) -> bool:
        """Return True if a memory ends when it begins or before, by its own words or those of one that supersedes it.

        Args:
            begin_us, end_us: what the memory says itself.
        """
        return end_us <= begin_us or any(
            item.begin_us <= begin_us
            for item in self.namers_of(named.id)
            if item.named_version == named.version and not item.is_whole
        )

    def share_with_flag(self, flag: int) -> float:
        """Return the share of live rows whose flags have a bit, 0 to 1."""
        has_flag = (np.arange(256) & flag) > 0
        return float(self._flag_counts[has_flag].sum()) / max(1, self.live_count)

    @cached_property
    def _flag_counts(self) -> npt.NDArray[np.int64]:
        counts = np.zeros(256, np.int64)
        for segment, dead in zip(self.segments, self._dead, strict=True):
            counts += segment.flag_counts - np.bincount(segment.flags[dead], minlength=256)
        return counts

    def live_docs(self) -> Positions:
        """Return the document numbers of all live rows, ascending."""
        return np.flatnonzero(self.is_live)

    def parts(self, docs: Positions) -> Iterator[tuple[Segment, slice, Positions]]:
        """Split document numbers by segment: yield each segment with its slice of ``docs`` and the positions there.

        Args:
            docs: document numbers, ascending.
        """
        cuts = docs.searchsorted(self.bases).tolist()
        for segment, base, start, end in zip(self.segments, self._starts, cuts, cuts[1:], strict=False):
            if end > start:
                yield segment, slice(start, end), docs[start:end] - base

    def columns(self, docs: Positions, *names: str) -> list[npt.NDArray[Any]]:
        """Return columns of ``Segment``, by name, at ascending document numbers."""
        parts = [[getattr(segment, name)[rows] for name in names] for segment, _, rows in self.parts(docs)]
        return [np.concatenate(column) for column in zip(*parts, strict=True)] or [np.zeros(0, np.int64)] * len(names)

    def ids(self, docs: Positions) -> npt.NDArray[np.bytes_]:
        """Return the ids at ascending document numbers, as bytes that compare and sort like the ids."""
        parts = [segment.id_table.take(rows) for segment, _, rows in self.parts(docs)]
        return np.concatenate(parts) if parts else np.zeros(0, np.bytes_)

    def identity(self, doc: int) -> tuple[str, Kind, int]:
        """Return id, kind and version of one row by document number."""
        segment, position = self._locate(doc)
        return segment.id_table.text(position), KINDS[segment.kinds[position]], int(segment.ranks[position]) >> 1

    def meta(self, doc: int) -> RowMeta:
        """Return the columns of one row by document number."""
        segment, position = self._locate(doc)
        return segment.meta(position)

    def rows_at(self, docs: Positions) -> list[RowMeta]:
        """Return the columns of some rows by document number, in the order given."""
        return [self.meta(doc) for doc in docs.tolist()]

    def find(self, memory_id: str) -> RowMeta | None:
        """Return the row that counts for an id, which may be a deletion, or None."""
        found: RowMeta | None = None
        for segment in self.segments:
            position = segment.find(memory_id)
            if position is not None and (found is None or int(segment.ranks[position]) >= found.rank):
                found = segment.meta(position)
        return found

    def winner_etags(
        self, ids: Sequence[str]
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return what the row that counts says about each id: its ETag's hash, is it a deletion, is it there at all."""
        table = IdTable.of(ids)
        etags = np.zeros(len(ids), np.uint64)
        ranks = np.zeros(len(ids), np.uint64)
        for segment in self.segments:
            here, there = table.match(segment.id_table)
            is_better = segment.ranks[there] >= ranks[here]
            here, there = here[is_better], there[is_better]
            ranks[here] = segment.ranks[there]
            etags[here] = segment.etag_hashes[there]
        return etags, (ranks & np.uint64(1)) == 1, ranks > 0

    def expired_ids(self, now_us: int) -> list[tuple[str, Kind]]:
        """Return ids and kinds of live rows that are expired at ``now_us``."""
        found: list[tuple[str, Kind]] = []
        for segment, dead in zip(self.segments, self._dead, strict=True):
            rows = segment.expiring[segment.expires_us[segment.expiring] <= now_us]
            rows = np.setdiff1d(rows, dead, assume_unique=True)
            found.extend(zip(segment.ids(rows), _kinds(segment.kinds[rows]), strict=True))
        return found

    def live_ids(self) -> Iterator[tuple[str, Kind]]:
        """Yield id and kind of every live row."""
        for rows in self.live_rows():
            yield from zip(rows.ids, _kinds(rows.kinds), strict=True)

    def live_rows(self, *, row_count_max: int = _CHUNK_ROWS) -> Iterator[LiveRows]:
        """Yield all live rows, at most ``row_count_max`` at a time."""
        for segment, base in zip(self.segments, self.bases, strict=False):
            live = np.flatnonzero(self.is_live[base : base + segment.row_count])
            for start in range(0, len(live), row_count_max):
                rows = live[start : start + row_count_max]
                versions = segment.ranks[rows] >> np.uint64(1)
                yield LiveRows(segment.ids(rows), segment.kinds[rows], versions, segment.etag_hashes[rows])

    def count_by_kind(self) -> dict[Kind, int]:
        """Return how many live rows there are of each kind."""
        counts = np.zeros(len(KINDS), np.int64)
        for segment, dead in zip(self.segments, self._dead, strict=True):
            counts += np.bincount(segment.kinds, minlength=len(KINDS))
            counts -= np.bincount(segment.kinds[dead], minlength=len(KINDS))
        return dict(zip(KINDS, counts.tolist(), strict=True))

    def digest(self) -> str:
        """Return 128 bits that depend on id, kind, version and ETag of every live row, and not on how they are stored.

        Two snapshots with equal digests hold the same memories in the same versions.
        """
        return self._digest

    @cached_property
    def _digest(self) -> str:
        pairs = zip(self.segments, self._dead, strict=True)
        total = sum(segment.digest - segment.row_digests(dead) for segment, dead in pairs)
        return f"{total % DIGEST_MODULUS:032x}"

    def _locate(self, doc: int) -> tuple[Segment, int]:
        index = bisect_right(self._starts, doc) - 1
        return self.segments[index], doc - self._starts[index]

    def _mark_outranked(self) -> None:
        outranked: list[list[Positions]] = [[rows] for rows in self._dead]
        for later, segment in enumerate(self.segments):
            for earlier, other in enumerate(self.segments[:later]):
                there, here = other.match(segment)
                if len(here):
                    is_newer = segment.ranks[here] >= other.ranks[there]
                    outranked[earlier].append(there[is_newer])
                    outranked[later].append(here[~is_newer])
        self._dead = [rows[0] if len(rows) == 1 else np.unique(np.concatenate(rows)) for rows in outranked]


def _kinds(codes: npt.NDArray[np.uint8]) -> list[Kind]:
    return [KINDS[code] for code in codes.tolist()]
