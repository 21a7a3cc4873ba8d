"""Which index files to merge: size-tiered, so that every row is rewritten about once for each factor of 8 in size."""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from s3_agent_memory.index.manifest import Manifest, SegmentRef, VectorRef

FAN_OUT: Final = 8
ROWS_MAX: Final = 250_000
# Below the most that is read of one index file, with room for what a merge cannot foresee.
BYTES_MAX: Final = 48 * 1024 * 1024
_TIER_ROWS: Final = 64

_Ref = TypeVar("_Ref", SegmentRef, VectorRef)


def choose_merge(manifest: Manifest) -> tuple[SegmentRef, ...] | None:
    """Return segments worth merging into one, or None.

    Segments whose log entries are not cleaned up yet are left alone: readers still learn from them which log entries
    they can ignore. A tier holds segments of up to 64 * 8^n rows; a full tier (8 segments) is merged.
    """
    pending = {fold.segment_id for fold in manifest.folds}
    return _choose(segment for segment in manifest.segments if segment.id not in pending)


def choose_vector_merge(manifest: Manifest) -> tuple[VectorRef, ...] | None:
    """Return vector shards of one model worth merging into one, or None; tiers are those of ``choose_merge``."""
    for model in dict.fromkeys(shard.model for shard in manifest.vectors):
        chosen = _choose(manifest.vectors_of(model))
        if chosen is not None:
            return chosen
    return None


def _choose(files: Iterable[_Ref]) -> tuple[_Ref, ...] | None:
    tiers: dict[int, list[_Ref]] = {}
    for file in files:
        tiers.setdefault(_tier(file.row_count), []).append(file)
    for _, members in sorted(tiers.items()):
        chosen = _within_caps(sorted(members, key=lambda file: file.row_count))
        is_full = len(chosen) >= FAN_OUT
        # Where the cap keeps a tier from ever being full, merge once the result is worth it.
        is_capped = len(chosen) < len(members) and len(chosen) >= 2 and _is_large(chosen)
        if is_full or is_capped:
            return tuple(chosen)
    return None


def _is_large(files: Sequence[_Ref]) -> bool:
    row_count, size_bytes = sum(file.row_count for file in files), sum(file.size_bytes for file in files)
    return row_count >= ROWS_MAX // 2 or size_bytes >= BYTES_MAX // 2


def _tier(row_count: int) -> int:
    tier, ceiling = 0, _TIER_ROWS * FAN_OUT
    while row_count >= ceiling:
        tier, ceiling = tier + 1, ceiling * FAN_OUT
    return tier


def _within_caps(members: list[_Ref]) -> list[_Ref]:
    chosen: list[_Ref] = []
    rows = size_bytes = 0
    for file in members:
        rows, size_bytes = rows + file.row_count, size_bytes + file.size_bytes
        if rows > ROWS_MAX or size_bytes > BYTES_MAX:
            break
        chosen.append(file)
    return chosen
