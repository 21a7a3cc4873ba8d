"""When each live row of a snapshot is true, by what it says itself and by what other live rows say of it.

A row that supersedes a version ends it when it begins. Rows that supersede the same version follow one another: each
ends when the next one begins, whatever the order they were written in. One that is never true, because it ends when it
begins or before, is no next one. A version that a row is consolidated from is
never returned beside it. All of this is derived; taking a row away restores what was before.

Nothing here is computed where no row says anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from s3_agent_memory.domain.validity import MemoryVersion, Moment
from s3_agent_memory.index.id_table import IdTable, Positions
from s3_agent_memory.index.segment import Segment
from s3_agent_memory.index.sparse_rows import FOREVER_US

Mask = npt.NDArray[np.bool_]
Times = npt.NDArray[np.int64]

_ALWAYS_US: Final = -(2**63)


@dataclass(frozen=True, slots=True)
class Namer:
    """A live row that names a version of another memory.

    Attributes:
        id, version: of the row itself.
        named_version: what it names.
        begin_us: from when it is true.
        is_begin_said: True if it says so itself; else it is true from its creation on.
        end_us: until before when, by what it says itself; ``FOREVER_US`` if it says nothing.
        is_whole: True if it is consolidated from that version, False if it supersedes it.
    """

    id: str
    version: int
    named_version: int
    begin_us: int
    end_us: int
    is_begin_said: bool
    is_whole: bool

    @property
    def named(self) -> MemoryVersion:
        """The row's own memory and version, as others name it."""
        return MemoryVersion(self.id, self.version)

    def has_begun(self, moment: Moment) -> bool:
        """Return True if it is true at a moment or was before."""
        return self.begin_us <= moment.us or (moment.is_present and not self.is_begin_said)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Links:
    """Named versions, one element each.

    Attributes:
        segments, places: which segment names it, and its place in the ``sparse`` rows there.
        docs: document number of the row that names it.
        begins_us: from when that row is true; ``present_us`` the same as far as it says so itself, else always.
        versions: the version named.
        is_whole: True if the row is consolidated from it.
    """

    segments: Positions
    places: Positions
    docs: Positions
    begins_us: Times
    present_us: Times
    versions: npt.NDArray[np.uint64]
    is_whole: Mask

    def take(self, index: npt.NDArray[np.integer] | Mask) -> Self:
        """Return some of them."""
        return type(self)(**{item.name: getattr(self, item.name)[index] for item in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What is known of rows that are not simply true from their creation on; all document numbers of live rows.

    Attributes:
        doc_count: rows of the snapshot, live or not.
        absorbed: rows that another is consolidated from.
        timed, from_us, to_us, is_from_said: rows that say themselves when they are true.
        ended, end_us, present_end_us: rows that others end, once for each of them.
    """

    doc_count: int
    absorbed: Positions
    timed: Positions
    from_us: Times
    to_us: Times
    is_from_said: Mask
    ended: Positions
    end_us: Times
    present_end_us: Times

    def untrue(self, moment: Moment) -> Positions:
        """Return rows that are not true at a moment, whenever they were created; one may be there several times."""
        if moment.is_present:
            is_out = (self.is_from_said & (self.from_us > moment.us)) | (self.to_us <= moment.us)
            is_ended = self.present_end_us <= moment.us
        else:
            is_out = (self.from_us > moment.us) | (self.to_us <= moment.us)
            is_ended = self.end_us <= moment.us
        return np.concatenate((self.absorbed, self.timed[is_out], self.ended[is_ended]))


def true_mask(segments: Sequence[Segment], timeline: Timeline | None, moment: Moment) -> Mask | None:
    """Return which rows are true at a moment, by document number; None if all are."""
    if moment.is_present:
        if timeline is None:
            return None
        mask = np.ones(timeline.doc_count, np.bool_)
    else:
        has_begun = [segment.created_us <= moment.us for segment in segments]
        mask = np.concatenate([np.zeros(0, np.bool_), *has_begun])
    if timeline is not None:
        mask[timeline.timed] = True
        mask[timeline.untrue(moment)] = False
    return mask


def build_timeline(segments: Sequence[Segment], bases: Positions, is_live: Mask) -> Timeline | None:
    """Return what the rows of a snapshot say, or None if none says anything."""
    if all(segment.sparse.is_empty for segment in segments):
        return None
    timed, from_us, to_us, is_from_said = _timed(segments, bases)
    is_kept = is_live[timed]
    links = _links(segments, bases)
    links = links.take(is_live[links.docs])
    namers, targets, target_begins_us = _targets(segments, bases, links, is_live)
    is_whole = links.is_whole[namers]
    superseding = namers[~is_whole]
    is_void = np.zeros(int(bases[-1]), np.bool_)
    is_void[timed[to_us <= from_us]] = True
    is_void[targets[~is_whole & (links.begins_us[namers] <= target_begins_us)]] = True
    earlier, later_us, later_present_us = _siblings(segments, links.take(~links.is_whole), is_void)
    return Timeline(
        doc_count=int(bases[-1]),
        absorbed=targets[is_whole],
        timed=timed[is_kept],
        from_us=from_us[is_kept],
        to_us=to_us[is_kept],
        is_from_said=is_from_said[is_kept],
        ended=np.concatenate((targets[~is_whole], earlier)),
        end_us=np.concatenate((links.begins_us[superseding], later_us)),
        present_end_us=np.concatenate((links.present_us[superseding], later_present_us)),
    )


def namers_of(segments: Sequence[Segment], bases: Positions, is_live: Mask, memory_id: str) -> list[Namer]:
    """Return the live rows that name any version of a memory."""
    wanted = IdTable.of([memory_id])
    found: list[Namer] = []
    for segment, base in zip(segments, bases.tolist(), strict=False):
        sparse = segment.sparse
        if not len(sparse.naming_rows):
            continue
        _, places = wanted.match(sparse.naming_ids)
        for place in places.tolist():
            row = int(sparse.naming_rows[place])
            if is_live[base + row]:
                meta = segment.meta(row)
                found.append(
                    Namer(
                        id=meta.id,
                        version=meta.version,
                        named_version=int(sparse.naming_versions[place]),
                        begin_us=meta.begin_us,
                        end_us=FOREVER_US if meta.valid_to_us is None else meta.valid_to_us,
                        is_begin_said=meta.valid_from_us is not None,
                        is_whole=bool(sparse.naming_is_whole[place]),
                    )
                )
    return found


def _timed(segments: Sequence[Segment], bases: Positions) -> tuple[Positions, Times, Times, Mask]:
    sparse = [segment.sparse for segment in segments]
    docs = np.concatenate([rows.timed_rows + base for rows, base in zip(sparse, bases.tolist(), strict=False)])
    from_us = np.concatenate([rows.timed_from_us for rows in sparse])
    created_us = np.concatenate([segment.created_us[segment.sparse.timed_rows] for segment in segments])
    return docs, from_us, np.concatenate([rows.timed_to_us for rows in sparse]), from_us != created_us


def _links(segments: Sequence[Segment], bases: Positions) -> _Links:
    parts = []
    for number, (segment, base) in enumerate(zip(segments, bases.tolist(), strict=False)):
        sparse = segment.sparse
        rows = sparse.naming_rows
        begins_us, is_said = sparse.begins(rows, segment.created_us[rows])
        parts.append(
            (
                np.full(len(rows), number),
                np.arange(len(rows)),
                rows + base,
                begins_us,
                np.where(is_said, begins_us, _ALWAYS_US),
                sparse.naming_versions,
                sparse.naming_is_whole == 1,
            )
        )
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return _Links(**dict(zip((item.name for item in fields(_Links)), columns, strict=True)))


def _targets(
    segments: Sequence[Segment], bases: Positions, links: _Links, is_live: Mask
) -> tuple[Positions, Positions, Times]:
    """Return which links name a live row in exactly its version, those rows' document numbers, and when they begin."""
    namers, targets, begins_us = ([np.zeros(0, np.int64)] for _ in range(3))
    for number in np.unique(links.segments).tolist():
        segment = segments[number]
        place_of_link = np.full(len(segment.sparse.naming_rows), -1, np.int64)
        here = np.flatnonzero(links.segments == number)
        place_of_link[links.places[here]] = here
        for other, base in zip(segments, bases.tolist(), strict=False):
            places, positions = segment.named_in(other)
            found = place_of_link[places]
            found, positions = found[found >= 0], positions[found >= 0]
            is_named = other.ranks[positions] == links.versions[found] * np.uint64(2)
            is_named &= is_live[positions + base]
            positions = positions[is_named]
            namers.append(found[is_named])
            targets.append(positions + base)
            begins_us.append(other.sparse.begins(positions, other.created_us[positions])[0])
    return np.concatenate(namers), np.concatenate(targets), np.concatenate(begins_us)


def _siblings(segments: Sequence[Segment], links: _Links, is_void: Mask) -> tuple[Positions, Times, Times]:
    """Return rows that supersede what a later one supersedes too: each with the times when the next one begins."""
    links = links.take(_is_shared(segments, links))
    count = len(links.docs)
    if not count:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    _, id_numbers = np.unique(_ids(segments, links), return_inverse=True)
    order = np.lexsort((links.begins_us, links.versions, id_numbers))
    links, id_numbers, void = links.take(order), id_numbers[order], is_void[links.docs[order]]
    is_new_version = (np.diff(id_numbers, prepend=-1) != 0) | (np.diff(links.versions, prepend=np.uint64(0)) != 0)
    # All of one version that begin at one moment are a step; the first of a later step that is true at all ends it.
    is_new_step = is_new_version | (np.diff(links.begins_us, prepend=_ALWAYS_US) != 0)
    starts = np.append(np.flatnonzero(is_new_step), count)
    step = np.cumsum(is_new_step) - 1
    next_true = np.append(np.minimum.accumulate(np.where(void, count, np.arange(count))[::-1])[::-1], count)
    following = next_true[starts[step + 1]]
    version = np.append(np.cumsum(is_new_version), -1)
    ended = np.flatnonzero(version[following] == version[:-1])
    following = following[ended]
    present_us = np.minimum.reduceat(np.where(void, FOREVER_US, links.present_us), starts[:-1])
    return links.docs[ended], links.begins_us[following], present_us[step[following]]


def _is_shared(segments: Sequence[Segment], links: _Links) -> Mask:
    """Return which links name what may be named by another one too: equal hashes are told apart by the caller."""
    parts = np.zeros(len(links.docs), np.uint64)
    for number in np.unique(links.segments).tolist():
        table = segments[number].sparse.naming_ids
        hashes = np.empty(len(table), np.uint64)
        hashes[table.order] = table.hashes
        here = links.segments == number
        parts[here] = hashes[links.places[here]]
    keys = parts + links.versions * np.uint64(0x9E3779B97F4A7C15)
    order = np.argsort(keys, kind="stable")
    is_same = keys[order[1:]] == keys[order[:-1]]
    is_shared = np.zeros(len(keys), np.bool_)
    is_shared[order[1:][is_same]] = True
    is_shared[order[:-1][is_same]] = True
    return is_shared


def _ids(segments: Sequence[Segment], links: _Links) -> npt.NDArray[np.bytes_]:
    tables = [segments[number].sparse.naming_ids for number in links.segments.tolist()]
    return np.array([table.text(place) for table, place in zip(tables, links.places.tolist(), strict=True)], np.bytes_)
