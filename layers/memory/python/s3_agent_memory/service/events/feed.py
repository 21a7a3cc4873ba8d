"""The event feed: changes since a cursor, complete without any write of its own.

Every acknowledged change is in the log or in a segment in use. A cursor names the segments, and the unfolded log
entries, whose changes a consumer was told; whatever else is there is news. That asks no clock: an entry with an old
name, a fold that lands late, and an import of old memories are new files like all others.

A merge replaces segments that a consumer knows by one that it does not know. As long as the replaced ones can still be
read, their rows are told apart from new ones, and a memory that is in neither is found out. Once they are collected
the cursor is too old, and that is said. A segment that was told in part is told to its end, replaced or not. What was
told from the log alone must be in a segment once its entry is gone: a deletion may have come and left the index again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.events import NOW, Event, EventPage, EventType
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.timestamps import parse_timestamp
from s3_agent_memory.errors import CursorTooOldError, ThrottledError
from s3_agent_memory.index.id_table import id_hash
from s3_agent_memory.index.log import LogEntry
from s3_agent_memory.index.manifest import Manifest
from s3_agent_memory.index.row import RowMeta
from s3_agent_memory.index.segment import Segment
from s3_agent_memory.service.events.cursor import (
    SEEN_COUNT_MAX,
    FeedCursor,
    SeenChange,
    decode_cursor,
    entry_hash,
)
from s3_agent_memory.service.events.rows import NewRows, events_of, missing_hashes
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.head import HeadStore, IndexBrokenError
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.truth import Truth

_ATTEMPT_COUNT_MAX: Final = 8
_TOO_OLD: Final = "the cursor is too old: list the memories, then start again without a cursor"


@dataclass(frozen=True, slots=True)
class _Present:
    """The present state of an index, as far as it is news.

    Attributes:
        manifest: the segments in use.
        log_hashes: every log entry there is, by ``entry_hash``, oldest first; True if no segment has taken it in.
        tail: unfolded entries that were not told, by ``entry_hash``, oldest first; no more than a cursor can remember.
        rows: new segments.
    """

    manifest: Manifest
    log_hashes: Mapping[int, bool]
    tail: Mapping[int, LogEntry]
    rows: NewRows


class EventsFeed:
    """Tells what changed in a namespace. Reading it never writes."""

    def __init__(self, runtime: Runtime, heads: HeadStore, reader: IndexReader, truth: Truth) -> None:
        self._runtime = runtime
        self._heads = heads
        self._reader = reader
        self._truth = truth

    def read(self, namespace: Namespace, cursor: str | None, *, limit: int) -> EventPage:
        """Return what happened since a cursor; see ``StoreMaintenance.events``.

        Raises:
            CursorTooOldError: segments that the cursor stands on are gone.
            IndexBrokenError: the index must be rebuilt.
            ThrottledError: the index changed too fast to be read, several times over.
        """
        known = FeedCursor() if cursor in (None, NOW) else decode_cursor(cursor, namespace)
        broken: IndexBrokenError | None = None
        for _ in range(_ATTEMPT_COUNT_MAX):
            try:
                present = self._look(namespace, known, with_rows=cursor != NOW)
            except IndexBrokenError as error:
                # A segment may be merged away under a slow reader: then a newer manifest does without it.
                if broken is not None and str(broken) == str(error):
                    raise
                broken = error
                continue
            if present is None:
                continue
            if cursor == NOW:
                return EventPage(
                    events=(), cursor=_after(present, known, present.tail).encode(namespace), has_more=False
                )
            return self._page(namespace, known, present, limit)
        if broken is not None:
            raise broken
        raise ThrottledError("the index changed too fast to be read; send the same request again")

    def _look(self, namespace: Namespace, known: FeedCursor, *, with_rows: bool) -> _Present | None:
        """Return the present state; None if an entry was cleaned up in between, so that a newer manifest has it."""
        # The log is listed before the manifest is read: an entry that is gone by then is in a segment of that manifest.
        log_keys = self._reader.list_log(namespace)
        head = self._heads.load(namespace)
        if head.etag is None:
            # Says so if the index is lost; a young namespace has none yet.
            self._reader.view(namespace)
        folded = self._reader.folded_keys(namespace, head.manifest)
        log_hashes = {entry_hash(key): key not in folded for key in log_keys}
        tail_keys = [key for key in log_keys if key not in folded]
        untold = [key for key in tail_keys if entry_hash(key) not in known.seen]
        room = SEEN_COUNT_MAX - (len(tail_keys) - len(untold))
        wanted = untold[: max(0, room)]
        read = self._reader.entries(namespace, wanted)
        if read.gone:
            return None
        fresh_ids = _fresh_ids(head.manifest, known) if with_rows else []
        in_use = [item for item in fresh_ids if item in head.manifest.segment_ids]
        fresh = [
            *self._replaced(namespace, frozenset(fresh_ids).difference(in_use)),
            *self._reader.segments(namespace, in_use),
        ]
        replaced = self._replaced(namespace, known.segments - head.manifest.segment_ids)
        present = _Present(
            manifest=head.manifest,
            log_hashes=log_hashes,
            tail={entry_hash(key): read.found[key] for key in wanted if key in read.found},
            rows=NewRows(
                fresh,
                replaced,
                frozenset((item.id_hash, item.rank) for item in known.seen.values()),
            ),
        )
        if with_rows:
            self._check_told(namespace, known, present)
        return present

    def _replaced(self, namespace: Namespace, segment_ids: frozenset[str]) -> list[Segment]:
        try:
            return self._reader.segments(namespace, sorted(segment_ids))
        except IndexBrokenError as error:
            raise CursorTooOldError(_TOO_OLD) from error

    def _check_told(self, namespace: Namespace, known: FeedCursor, present: _Present) -> None:
        """Check that what was told from the log alone is in a segment, once its entry has left the log or was folded.

        Raises:
            CursorTooOldError: the index knows nothing of it any more, so nobody can say what became of it.
        """
        loose = {entry: item for entry, item in known.seen.items() if item.is_loose and not item.is_deletion}
        settled = [item.id_hash for entry, item in loose.items() if not present.log_hashes.get(entry)]
        missing = missing_hashes(np.array(settled, np.uint64), [*present.rows.fresh, *present.rows.known])
        if len(missing):
            # What looked loose only because its fold was merged at once is in a segment that the consumer knows.
            others = self._reader.segments(namespace, sorted(known.segments & present.manifest.segment_ids))
            missing = missing_hashes(missing, others)
        if len(missing):
            raise CursorTooOldError(_TOO_OLD)

    def _page(self, namespace: Namespace, known: FeedCursor, present: _Present, limit: int) -> EventPage:
        events: list[Event] = []
        done = set(known.segments)
        left = limit
        for index, segment_id in enumerate(_fresh_ids(present.manifest, known)):
            # One row more than there is room for says where the next page begins.
            rows = list(islice(present.rows.untold(index, known.start_in(segment_id)), left + 1))
            for _, row in rows[:left]:
                events += events_of(row)
            if len(rows) > left:
                partial = (segment_id, rows[left][0])
                cursor = FeedCursor(frozenset(done), partial, known.seen)
                return EventPage(events=tuple(events), cursor=cursor.encode(namespace), has_more=True)
            left -= len(rows)
            done.add(segment_id)
            if segment_id not in present.manifest.segment_ids:
                # It is known now, and what has left the index since can be told from it: on the next page.
                cursor = FeedCursor(frozenset(done), None, known.seen)
                return EventPage(events=tuple(events), cursor=cursor.encode(namespace), has_more=True)
        told = dict(islice(present.tail.items(), left))
        for entry in told.values():
            if entry.row.rank > present.rows.best_rank(entry.row.id) and _told(entry.row) not in present.rows.told:
                events += events_of(entry.row)
        events += self._vanished(namespace, present, limit)
        cursor = _after(present, known, told)
        return EventPage(events=tuple(events), cursor=cursor.encode(namespace), has_more=len(told) < len(present.tail))

    def _vanished(self, namespace: Namespace, present: _Present, limit: int) -> list[Event]:
        """Return events for memories that left the index without a row that says so."""
        gone = list(islice(present.rows.vanished(), limit + 1))
        if len(gone) > limit:
            raise CursorTooOldError("the index was rebuilt: list the memories, then start again without a cursor")
        found = (self._forgotten(namespace, row) for row in gone)
        return [event for event in found if event is not None]

    def _forgotten(self, namespace: Namespace, row: RowMeta) -> Event | None:
        if self._truth.live_object(namespace, row.id, row.kind) is not None:
            return None
        present = self._truth.tombstone(namespace, row.id)
        tombstone = present.tombstone if present else None
        at = parse_timestamp(tombstone.forgotten_at, field="forgotten_at") if tombstone else None
        return Event(
            type=EventType.FORGOTTEN,
            id=row.id,
            kind=row.kind,
            version=max(row.version, tombstone.deletes_version) if tombstone else row.version,
            at=at or to_datetime(self._runtime.clock.now_us()),
        )


def _fresh_ids(manifest: Manifest, known: FeedCursor) -> list[str]:
    """Return the segments that are to be told; first what was told in part, even if it was replaced meanwhile."""
    fresh = [item.id for item in manifest.segments if item.id not in known.segments]
    begun = [] if known.partial is None or known.partial[0] in fresh else [known.partial[0]]
    return [*begun, *fresh]


def _after(present: _Present, known: FeedCursor, told: Mapping[int, LogEntry]) -> FeedCursor:
    """Return the cursor of a consumer that knows all segments in use, and the entries it was told before and now.

    Entries are remembered as long as they can be read, for one whose fold was merged away looks unfolded once more.
    """
    changes = {entry: (item.id_hash, item.rank) for entry, item in known.seen.items()}
    changes |= {entry: _told(item.row) for entry, item in told.items()}
    listed: Sequence[tuple[int, bool]] = [item for item in present.log_hashes.items() if item[0] in changes]
    by_need = sorted(listed, key=lambda item: not item[1])
    seen = {entry: SeenChange(*changes[entry], is_loose) for entry, is_loose in by_need[:SEEN_COUNT_MAX]}
    return FeedCursor(present.manifest.segment_ids, None, seen)


def _told(row: RowMeta) -> tuple[int, int]:
    return id_hash(row.id), row.rank
