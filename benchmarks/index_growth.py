"""An index that grows fold by fold: how many files, how much is written again, how large the manifest.

Manifests and merges are the library's own; only the files themselves are left out.
"""

import math
from dataclasses import dataclass, replace

from s3_agent_memory.index.manifest import (
    Manifest,
    SegmentRef,
    TrashRef,
    VectorRef,
    add_fold,
    add_vectors,
    drop_folds,
    encode_manifest,
    replace_segments,
    replace_vectors,
    stamp,
)
from s3_agent_memory.index.merge_policy import choose_merge, choose_vector_merge
from s3_agent_memory.service.grace import LOG_GRACE_MS, TRASH_GRACE_MS

# Counted by the cost model's tests: bytes of a row with its terms and of its vector; beside them a file's directory.
ROW_BYTES = 250
VECTOR_BYTES = 444
FILE_BYTES = 2_000
MODEL = "model/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What became of an index that took in so many memories.

    Attributes:
        write_amplification: bytes of index files written, for each byte that the folds themselves wrote.
        bytes_per_write: the same for each memory, manifests included.
        segments_mean, segments_max, shards_max: files that a cold reader loads.
        manifest_bytes_max: of the largest manifest.
        largest_merge_bytes: what warm readers load again at once.
    """

    rows: int
    rows_per_fold: int
    folds: int
    merges: int
    write_amplification: float
    bytes_per_write: float
    segments_mean: float
    segments_max: int
    shards_max: int
    manifest_bytes_max: int
    largest_merge_bytes: int


def grow(rows: int, rows_per_fold: int, *, fold_seconds: float) -> Growth:
    """Return what becomes of an index folded every ``fold_seconds``, with one merge of each sort behind each fold."""
    manifest = Manifest()
    folded = written = manifests = merges = largest = 0
    counts: list[int] = []
    shards_max = manifest_bytes_max = 0
    fold_count = math.ceil(rows / rows_per_fold)
    for number in range(fold_count):
        now_ms = round(number * fold_seconds * 1_000)
        size = min(rows_per_fold, rows - number * rows_per_fold)
        manifest = _tidied(manifest, now_ms)
        segment = SegmentRef(f"{number:016x}-s", size, FILE_BYTES + size * ROW_BYTES)
        shard = VectorRef(f"{number:016x}-v", size, FILE_BYTES + size * VECTOR_BYTES, MODEL)
        added = add_fold(stamp(manifest, now_ms), segment, analyzer="a", has_log_entries=True)
        assert added is not None  # Every fold has the same analyzer.
        manifest = add_vectors(added, shard, now_ms)
        folded += segment.size_bytes + shard.size_bytes
        manifest, sizes = _merged(manifest, f"{number:016x}", now_ms)
        written += segment.size_bytes + shard.size_bytes + sum(sizes)
        merges, largest = merges + len(sizes), max(largest, *sizes, 0)
        counts.append(len(manifest.segments))
        shards_max = max(shards_max, len(manifest.vectors))
        if number % 16 == 0 or number == fold_count - 1:
            manifest_bytes_max = max(manifest_bytes_max, len(encode_manifest(manifest)))
        manifests += (1 + len(sizes)) * manifest_bytes_max
    return Growth(
        rows=rows,
        rows_per_fold=rows_per_fold,
        folds=fold_count,
        merges=merges,
        write_amplification=round(written / folded, 2),
        bytes_per_write=round((written + manifests) / rows, 1),
        segments_mean=round(sum(counts) / len(counts), 1),
        segments_max=max(counts),
        shards_max=shards_max,
        manifest_bytes_max=manifest_bytes_max,
        largest_merge_bytes=largest,
    )


def _tidied(manifest: Manifest, now_ms: int) -> Manifest:
    """Return the manifest without folds whose log entries may go and trash whose grace is over."""
    due = [
        fold.segment_id
        for fold in manifest.folds
        if fold.stamped_ms is not None and fold.stamped_ms < now_ms - LOG_GRACE_MS
    ]
    dropped = drop_folds(manifest, due)

    def kept(trash: tuple[TrashRef, ...]) -> tuple[TrashRef, ...]:
        return tuple(item for item in trash if item.stamped_ms is None or item.stamped_ms >= now_ms - TRASH_GRACE_MS)

    return replace(dropped, trash=kept(dropped.trash), vector_trash=kept(dropped.vector_trash))


def _merged(manifest: Manifest, name: str, now_ms: int) -> tuple[Manifest, list[int]]:
    """Return the manifest after one merge of segments and one of shards, if there are any to do, and their sizes."""
    sizes = []
    segments = choose_merge(manifest)
    if segments is not None:
        rows = sum(item.row_count for item in segments)
        merged = SegmentRef(f"{name}-m", rows, FILE_BYTES + rows * ROW_BYTES)
        after = replace_segments(stamp(manifest, now_ms), [item.id for item in segments], (merged,), analyzer="a")
        manifest = after or manifest
        sizes.append(merged.size_bytes)
    shards = choose_vector_merge(manifest)
    if shards is not None:
        rows = sum(item.row_count for item in shards)
        shard = VectorRef(f"{name}-w", rows, FILE_BYTES + rows * VECTOR_BYTES, MODEL)
        replaced = replace_vectors(stamp(manifest, now_ms), [item.id for item in shards], (shard,))
        manifest = replaced or manifest
        sizes.append(shard.size_bytes)
    return manifest, sizes
