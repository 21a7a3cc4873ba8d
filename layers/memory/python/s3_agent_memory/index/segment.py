"""Segments: immutable index files with one row per id, posting lists, and the columns that ranking and filters use.

Rows lie in the order of (created, id), so a position is also an age, and neighbours in time are neighbours in a file.
Documents of a posting list are positions, ascending. See ``column_file`` for the bytes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Final, Self
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from s3_agent_memory.errors import CorruptError
from s3_agent_memory.index.column_file import Column, decode_columns
from s3_agent_memory.index.id_table import IdTable, Positions, hash_ids
from s3_agent_memory.index.row import KIND_CODES, KINDS, Row, RowMeta, row_digest
from s3_agent_memory.index.segment_layout import (
    COLUMN_DTYPES,
    MAGIC,
    SCHEMA_VERSION,
    Postings,
    RowColumns,
    encode_segment,
    posting_docs,
    posting_tfs,
)
from s3_agent_memory.index.sparse_rows import COLUMN_DTYPES as SPARSE_DTYPES
from s3_agent_memory.index.sparse_rows import FOREVER_US, SparseRows, are_sparse_rows_sound

_DIGEST: Final = re.compile("[0-9a-f]{32}")
# Columns with one element a row.
_ROW_COLUMNS: Final = ("id_order", *(item.name for item in fields(RowColumns) if item.name != "ids"))


class Segment:
    """One segment as read: its columns are views of the file's bytes.

    Attributes:
        key: where it was found.
        size_bytes: size of the file.
        analyzer_signature: the text analysis its terms come from.
        folded_keys: the log entries it has taken in.
        row_count: rows, deletions included.
        id_table: ids by position and positions by id.
        kinds: codes into ``KINDS``, uint8.
        ranks: version * 2, plus 1 for a deletion, uint64.
        etag_hashes: uint64, 0 for unknown.
        created_us, updated_us, expires_us: int64 microseconds since the epoch; ``expires_us`` 0 for never.
        importances: float32, 0 to 1.
        lengths: words of each text, unsigned.
        sessions, sequences: the conversation each row is a turn of (0 for none), and its place there, uint64.
        flags: bits of ``TextFlag``, uint8.
        text_keys: 64 bits that stand for id and embedded text, uint64.
        term_hashes: uint64, ascending.
        term_offsets: where each term's list starts in ``postings``, and one more: where the last one ends; uint32.
        postings: position * 256 + how often the term occurs there (1 to 255), uint32, ascending in each list.
        sparse: what only some rows have.
    """

    def __init__(self, directory: Mapping[str, object], columns: Mapping[str, Column], *, key: str, size_bytes: int):
        self.key = key
        self.size_bytes = size_bytes
        self.analyzer_signature = str(directory["analyzer"])
        folded_keys = directory["folded_keys"]
        self.folded_keys: tuple[str, ...] = tuple(folded_keys) if isinstance(folded_keys, list) else ()
        self.digest = int(str(directory["digest"]), 16)
        self.id_table = IdTable(
            hashes=columns["id_hashes"],
            order=columns["id_order"],
            offsets=columns["id_offsets"],
            blob=columns["id_bytes"],
        )
        self.kinds: npt.NDArray[np.uint8] = columns["kinds"]
        self.ranks: npt.NDArray[np.uint64] = columns["ranks"]
        self.etag_hashes: npt.NDArray[np.uint64] = columns["etag_hashes"]
        self.created_us: npt.NDArray[np.int64] = columns["created_us"]
        self.updated_us: npt.NDArray[np.int64] = columns["updated_us"]
        self.expires_us: npt.NDArray[np.int64] = columns["expires_us"]
        self.importances: npt.NDArray[np.float32] = columns["importances"]
        self.lengths: npt.NDArray[np.unsignedinteger] = columns["lengths"]
        self.sessions: npt.NDArray[np.uint64] = columns["sessions"]
        self.sequences: npt.NDArray[np.uint64] = columns["sequences"]
        self.flags: npt.NDArray[np.uint8] = columns["flags"]
        self.text_keys: npt.NDArray[np.uint64] = columns["text_keys"]
        self.term_hashes: npt.NDArray[np.uint64] = columns["term_hashes"]
        self.term_offsets: npt.NDArray[np.uint32] = columns["term_offsets"]
        self.postings: npt.NDArray[np.uint32] = columns["postings"]
        self.sparse = SparseRows.of_columns(columns)
        self.row_count = len(self.kinds)
        self._matches: WeakKeyDictionary[Segment, tuple[Positions, Positions]] = WeakKeyDictionary()
        self._named: WeakKeyDictionary[Segment, tuple[Positions, Positions]] = WeakKeyDictionary()

    @classmethod
    def decode(cls, body: bytes, key: str) -> Self:
        """Return the segment stored in ``body``, which it keeps and reads from.

        Raises:
            CorruptError: the bytes are not a segment, not all of one, or not as it was written.
        """
        directory, columns = decode_columns(body, key, magic=MAGIC, dtypes=COLUMN_DTYPES, optional=SPARSE_DTYPES)
        are_columns_sound = _are_rows_sound(columns) and _are_postings_sound(columns)
        is_sound = _is_directory_sound(directory) and are_columns_sound
        if not (is_sound and are_sparse_rows_sound(columns, len(columns["kinds"]))):
            raise CorruptError(f"{key} holds columns that contradict each other", key=key)
        return cls(directory, columns, key=key, size_bytes=len(body))

    @cached_property
    def is_deleted(self) -> npt.NDArray[np.bool_]:
        """Which rows stand for deletions."""
        return (self.ranks & np.uint64(1)).astype(np.bool_)

    @cached_property
    def deletions(self) -> Positions:
        """Positions of the rows that stand for deletions."""
        return np.flatnonzero(self.is_deleted)

    @cached_property
    def expiring(self) -> Positions:
        """Positions of the rows that expire at some time."""
        return np.flatnonzero(self.expires_us)

    @cached_property
    def session_order(self) -> Positions:
        """Positions of the rows that are turns of a conversation, by conversation, in the order of the turns."""
        turns = np.flatnonzero(self.sessions)
        # Positions are in the order of creation, then of ids; turns created at once are in the order of their sequence.
        keys = (turns, self.sequences[turns], self.created_us[turns], self.sessions[turns])
        return turns[np.lexsort(keys)]

    @cached_property
    def session_pairs(self) -> tuple[Positions, Positions]:
        """Positions of turns that have a next one here, and of that next one."""
        order = self.session_order
        names = self.sessions[order]
        is_next = names[1:] == names[:-1]
        return order[:-1][is_next], order[1:][is_next]

    @cached_property
    def session_names(self) -> npt.NDArray[np.uint64]:
        """The conversations that have turns here, ascending."""
        return np.unique(self.sessions[self.session_order])

    @cached_property
    def flag_counts(self) -> npt.NDArray[np.int64]:
        """How many rows have each combination of flags, 256 numbers."""
        return np.bincount(self.flags, minlength=256)

    @cached_property
    def length_total(self) -> int:
        """Words of all texts together."""
        return int(self.lengths.sum(dtype=np.int64))

    def all_ids(self) -> list[str]:
        """Return the ids of all rows, deletions included, by position."""
        return self.ids(np.arange(self.row_count))

    def ids(self, positions: npt.NDArray[np.integer]) -> list[str]:
        """Return the ids of some rows."""
        return self.id_table.texts(positions)

    def find(self, memory_id: str) -> int | None:
        """Return the position of an id, or None."""
        return self.id_table.find(memory_id)

    def meta(self, position: int) -> RowMeta:
        """Return the columns of one row."""
        rank = int(self.ranks[position])
        created_us = int(self.created_us[position])
        from_us, to_us = self.sparse.interval(position) or (created_us, FOREVER_US)
        return RowMeta(
            id=self.id_table.text(position),
            kind=KINDS[self.kinds[position]],
            version=rank >> 1,
            is_deleted=bool(rank & 1),
            etag_hash=int(self.etag_hashes[position]),
            created_us=created_us,
            updated_us=int(self.updated_us[position]),
            expires_us=int(self.expires_us[position]),
            importance=float(self.importances[position]),
            length=int(self.lengths[position]),
            session=int(self.sessions[position]),
            sequence=int(self.sequences[position]),
            flags=int(self.flags[position]),
            text_key=int(self.text_keys[position]),
            valid_from_us=None if from_us == created_us else from_us,
            valid_to_us=None if to_us == FOREVER_US else to_us,
            supersedes=self.sparse.named(position, is_whole=False),
            consolidated_from=self.sparse.named(position, is_whole=True),
        )

    def row(self, position: int) -> Row:
        """Return one row with its terms; it scans all postings, so use ``rows`` for many."""
        return self._row(position, np.flatnonzero(posting_docs(self.postings) == position))

    def rows(self) -> Iterator[Row]:
        """Yield all rows with their terms, by position."""
        docs = posting_docs(self.postings)
        by_row = np.argsort(docs, kind="stable")
        ends = np.searchsorted(docs[by_row], np.arange(self.row_count), "right")
        start = 0
        for position, end in enumerate(ends.tolist()):
            yield self._row(position, by_row[start:end])
            start = end

    def find_terms(self, hashes: npt.NDArray[np.uint64]) -> list[tuple[int, int, int]]:
        """Return (index into ``hashes``, start, end) of the posting list of each term that occurs in this segment.

        Args:
            hashes: term hashes, ascending.
        """
        if not len(self.term_hashes):
            return []
        places = self.term_hashes.searchsorted(hashes)
        is_found = (self.term_hashes.take(places, mode="clip") == hashes).tolist()
        starts = self.term_offsets.take(places).tolist()
        ends = self.term_offsets.take(places + 1, mode="clip").tolist()
        return [(term, starts[term], ends[term]) for term, is_there in enumerate(is_found) if is_there]

    def turns_of(self, sessions: npt.NDArray[np.uint64]) -> Positions:
        """Return the positions of the rows that are turns of some conversations (ascending, without 0)."""
        order = self.session_order
        names = self.sessions[order]
        starts, ends = names.searchsorted(sessions, "left"), names.searchsorted(sessions, "right")
        counts = ends - starts
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        turns: Positions = order[np.repeat(starts, counts) + within]
        return turns

    def docs_with(self, term: int) -> npt.NDArray[np.uint32]:
        """Return the positions of the rows that have a term (given by its hash), ascending."""
        found = self.find_terms(np.array([term], np.uint64))
        _, start, end = found[0] if found else (0, 0, 0)
        return posting_docs(self.postings[start:end])

    def row_digests(self, positions: npt.NDArray[np.integer]) -> int:
        """Return the sum of the digests of some rows, deletions left out."""
        live = positions[~self.is_deleted[positions]]
        return digest_of(self.ids(live), self.kinds[live], self.ranks[live], self.etag_hashes[live])

    def match(self, other: "Segment") -> tuple[Positions, Positions]:
        """Return the positions of the ids both segments hold, here and there; remembered as long as both are in use."""
        found = self._matches.get(other)
        if found is None:
            found = self._matches[other] = self.id_table.match(other.id_table)
        return found

    def named_in(self, other: "Segment") -> tuple[Positions, Positions]:
        """Return which versions named here (places in ``sparse``) are of ids that a segment holds, and where there.

        It is remembered as long as both are in use.
        """
        found = self._named.get(other)
        if found is None:
            found = self._named[other] = self.sparse.naming_ids.match(other.id_table)
        return found

    def _row(self, position: int, postings: Positions) -> Row:
        terms = self.term_hashes[np.searchsorted(self.term_offsets, postings, "right") - 1]
        counts = dict(zip(terms.tolist(), posting_tfs(self.postings[postings]).tolist(), strict=True))
        meta = self.meta(position)
        return Row(terms=counts, **{name: getattr(meta, name) for name in RowMeta.__slots__})


def build_segment(rows: Iterable[Row], *, analyzer_signature: str, folded_keys: Sequence[str] = ()) -> bytes:
    """Return the segment of some rows; of several rows of one id the highest rank is kept, of equal ones the last.

    Args:
        analyzer_signature: the text analysis the terms come from.
        folded_keys: the log entries the rows were made from.
    """
    kept: dict[str, Row] = {}
    for row in rows:
        present = kept.get(row.id)
        if present is None or row.rank >= present.rank:
            kept[row.id] = row
    ordered = sorted(kept.values(), key=lambda row: (row.created_us, row.id))
    columns = _columns_of(ordered)
    return encode_segment(
        columns,
        _postings_of(ordered),
        SparseRows.of_rows(ordered),
        digest=digest_of([row.id for row in ordered], columns.kinds, columns.ranks, columns.etag_hashes),
        analyzer_signature=analyzer_signature,
        folded_keys=folded_keys,
    )


def digest_of(
    ids: Sequence[str],
    kinds: npt.NDArray[np.uint8],
    ranks: npt.NDArray[np.uint64],
    etag_hashes: npt.NDArray[np.uint64],
) -> int:
    """Return the sum of the digests of rows, deletions left out."""
    rows = zip(ids, kinds.tolist(), ranks.tolist(), etag_hashes.tolist(), strict=True)
    return sum(row_digest(memory_id, kind, rank >> 1, etag) for memory_id, kind, rank, etag in rows if not rank & 1)


def _columns_of(rows: Sequence[Row]) -> RowColumns:
    ids = [row.id for row in rows]
    return RowColumns(
        ids=np.array([memory_id.encode("ascii") for memory_id in ids], dtype=np.bytes_),
        id_hashes=hash_ids(ids, len(ids)),
        kinds=np.array([KIND_CODES[row.kind] for row in rows], np.uint8),
        ranks=np.array([row.rank for row in rows], np.uint64),
        etag_hashes=np.array([row.etag_hash for row in rows], np.uint64),
        created_us=np.array([row.created_us for row in rows], np.int64),
        updated_us=np.array([row.updated_us for row in rows], np.int64),
        expires_us=np.array([row.expires_us for row in rows], np.int64),
        importances=np.array([row.importance for row in rows], np.float32),
        lengths=np.array([row.length for row in rows], np.uint32),
        sessions=np.array([row.session for row in rows], np.uint64),
        sequences=np.array([row.sequence for row in rows], np.uint64),
        flags=np.array([row.flags for row in rows], np.uint8),
        text_keys=np.array([row.text_key for row in rows], np.uint64),
    )


def _postings_of(rows: Sequence[Row]) -> Postings:
    counts = [len(row.terms) for row in rows]
    total = sum(counts)
    hashes = np.fromiter((term for row in rows for term in row.terms), np.uint64, total)
    vocabulary, terms = np.unique(hashes, return_inverse=True)
    return Postings(
        vocabulary=vocabulary,
        terms=terms,
        docs=np.repeat(np.arange(len(rows)), counts),
        tfs=np.fromiter((tf for row in rows for tf in row.terms.values()), np.uint8, total),
    )


def _is_directory_sound(directory: Mapping[str, object]) -> bool:
    digest, folded_keys = directory.get("digest"), directory.get("folded_keys")
    is_digest = isinstance(digest, str) and _DIGEST.fullmatch(digest) is not None
    are_keys = isinstance(folded_keys, list) and all(isinstance(item, str) for item in folded_keys)
    is_signed = isinstance(directory.get("analyzer"), str)
    return directory.get("schema") == SCHEMA_VERSION and is_digest and are_keys and is_signed


def _are_rows_sound(columns: Mapping[str, Column]) -> bool:
    """Return True if no look-up can leave the columns: a checksum proves who wrote them no more than a name does."""
    count = len(columns["kinds"])
    ids, order, created_us, hashes = (columns[name] for name in ("id_bytes", "id_order", "created_us", "id_hashes"))
    importances = columns["importances"]
    return (
        all(len(columns[name]) == count for name in _ROW_COLUMNS)
        and _are_offsets(columns["id_offsets"], count, len(ids))
        and bool(((ids > 0) & (ids < 128)).all())
        and int(order.max(initial=0)) < max(1, count)
        and bool((np.bincount(order, minlength=count) == 1).all())
        and bool((hashes[1:] >= hashes[:-1]).all() and (created_us[1:] >= created_us[:-1]).all())
        and bool((columns["kinds"] < len(KINDS)).all() and (columns["ranks"] > 0).all())
        and bool(((importances >= 0) & (importances <= 1)).all())
    )


def _are_postings_sound(columns: Mapping[str, Column]) -> bool:
    postings, hashes = columns["postings"], columns["term_hashes"]
    return (
        _are_offsets(columns["term_offsets"], len(hashes), len(postings))
        and bool((hashes[1:] > hashes[:-1]).all())
        and int(posting_docs(postings).max(initial=0)) < max(1, len(columns["kinds"]))
        and bool((posting_tfs(postings) > 0).all())
    )


def _are_offsets(offsets: Column, count: int, total: int) -> bool:
    """Return True if these are the bounds of ``count`` pieces, none of them empty, of ``total`` elements."""
    if len(offsets) != count + 1 or offsets[0] != 0 or offsets[-1] != total:
        return False
    return bool((offsets[1:] > offsets[:-1]).all())
