"""Merging segments into one: of each id the row with the highest rank survives."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from s3_agent_memory.errors import ValidationError
from s3_agent_memory.index.id_table import Positions
from s3_agent_memory.index.segment import Segment
from s3_agent_memory.index.segment_layout import Postings, RowColumns, encode_segment, posting_docs, posting_tfs
from s3_agent_memory.index.sparse_rows import SparseRows

IsDroppable = Callable[[list[str]], npt.NDArray[np.bool_]]


def merge_segments(
    segments: Sequence[Segment],
    *,
    analyzer_signature: str,
    folded_keys: Sequence[str] = (),
    deletion_horizon_us: int | None = None,
    is_droppable: IsDroppable | None = None,
) -> bytes:
    """Return the segment that ``build_segment`` would give for the rows of all segments, in their order.

    Args:
        deletion_horizon_us: deletions older than this moment (microseconds since the epoch) are left out; None keeps
            them all.
        is_droppable: which of some ids may lose their deletion row. It must refuse every id that another segment or
            the log still knows: an older row there would come back to life. None allows all.

    Raises:
        ValidationError: a segment comes from another text analysis.
    """
    foreign = {segment.analyzer_signature for segment in segments} - {analyzer_signature}
    if foreign:
        raise ValidationError(f"segments of the text analysis {foreign.pop()!r} cannot be merged")
    if not segments:
        raise ValidationError("there must be at least one segment to merge")
    rows = RowColumns.joined([_rows_of(segment) for segment in segments])
    survivors = _winners(rows)
    if deletion_horizon_us is not None:
        survivors = survivors[~_is_outdated(rows.take(survivors), deletion_horizon_us, is_droppable)]
    survivors = survivors[np.lexsort((rows.ids[survivors], rows.created_us[survivors]))]
    return encode_segment(
        rows.take(survivors),
        _postings_of(segments, survivors, len(rows.ids)),
        _sparse_of(segments, survivors, len(rows.ids)),
        digest=_digest_of(segments, survivors, len(rows.ids)),
        analyzer_signature=analyzer_signature,
        folded_keys=folded_keys,
    )


def without_rows(segment: Segment, doomed: Positions) -> bytes:
    """Return a segment without some of its rows and without every term that only they have."""
    survivors = np.setdiff1d(np.arange(segment.row_count), doomed)
    return encode_segment(
        _rows_of(segment).take(survivors),
        _postings_of([segment], survivors, segment.row_count),
        _sparse_of([segment], survivors, segment.row_count),
        digest=_digest_of([segment], survivors, segment.row_count),
        analyzer_signature=segment.analyzer_signature,
        folded_keys=segment.folded_keys,
    )


def _rows_of(segment: Segment) -> RowColumns:
    id_hashes = np.empty(segment.row_count, np.uint64)
    id_hashes[segment.id_table.order] = segment.id_table.hashes
    return RowColumns(
        ids=segment.id_table.take(np.arange(segment.row_count)),
        id_hashes=id_hashes,
        kinds=segment.kinds,
        ranks=segment.ranks,
        etag_hashes=segment.etag_hashes,
        created_us=segment.created_us,
        updated_us=segment.updated_us,
        expires_us=segment.expires_us,
        importances=segment.importances,
        lengths=segment.lengths,
        sessions=segment.sessions,
        sequences=segment.sequences,
        flags=segment.flags,
        text_keys=segment.text_keys,
    )


def _winners(rows: RowColumns) -> Positions:
    """Return one position for each id: that of the highest rank, the last of equal ones."""
    order = np.argsort(rows.id_hashes, kind="stable")
    hashes = rows.id_hashes[order]
    is_repeated = np.zeros(len(order), np.bool_)
    is_repeated[1:] = hashes[1:] == hashes[:-1]
    is_repeated[:-1] |= is_repeated[1:]
    rivals = order[is_repeated]
    # Only rows that share a hash are compared by id.
    rivals = rivals[np.lexsort((rivals, rows.ranks[rivals], rows.ids[rivals]))]
    ids = rows.ids[rivals]
    is_last = np.ones(len(rivals), np.bool_)
    is_last[:-1] = ids[1:] != ids[:-1]
    return np.concatenate((order[~is_repeated], rivals[is_last]))


def _is_outdated(rows: RowColumns, horizon_us: int, is_droppable: IsDroppable | None) -> npt.NDArray[np.bool_]:
    is_outdated: npt.NDArray[np.bool_] = ((rows.ranks & np.uint64(1)) == 1) & (rows.updated_us < horizon_us)
    candidates = np.flatnonzero(is_outdated)
    if is_droppable is not None and len(candidates):
        is_outdated[candidates] = is_droppable(rows.ids[candidates].astype(str).tolist())
    return is_outdated


def _postings_of(segments: Sequence[Segment], survivors: Positions, row_count: int) -> Postings:
    position_of = np.full(row_count, -1, np.int64)
    position_of[survivors] = np.arange(len(survivors))
    vocabulary = np.unique(np.concatenate([segment.term_hashes for segment in segments]))
    terms, docs, tfs, base = [], [], [], 0
    for segment in segments:
        moved = position_of[base : base + segment.row_count][posting_docs(segment.postings)]
        is_kept = moved >= 0
        indexes = np.searchsorted(vocabulary, segment.term_hashes)
        terms.append(np.repeat(indexes, np.diff(segment.term_offsets))[is_kept])
        docs.append(moved[is_kept])
        tfs.append(posting_tfs(segment.postings)[is_kept])
        base += segment.row_count
    return Postings(
        vocabulary=vocabulary, terms=np.concatenate(terms), docs=np.concatenate(docs), tfs=np.concatenate(tfs)
    )


def _sparse_of(segments: Sequence[Segment], survivors: Positions, row_count: int) -> SparseRows:
    if all(segment.sparse.is_empty for segment in segments):
        return SparseRows.of_rows(())
    position_of = np.full(row_count, -1, np.int64)
    position_of[survivors] = np.arange(len(survivors))
    starts = np.cumsum([0, *(segment.row_count for segment in segments)]).tolist()
    return SparseRows.moved(
        (segment.sparse, position_of[start : start + segment.row_count])
        for segment, start in zip(segments, starts, strict=False)
    )


def _digest_of(segments: Sequence[Segment], survivors: Positions, row_count: int) -> int:
    """Return the digest of the surviving rows from those of the segments, less the rows that are left out."""
    is_left_out = np.ones(row_count, np.bool_)
    is_left_out[survivors] = False
    digest, base = 0, 0
    for segment in segments:
        left_out = np.flatnonzero(is_left_out[base : base + segment.row_count])
        digest += segment.digest - segment.row_digests(left_out)
        base += segment.row_count
    return digest
