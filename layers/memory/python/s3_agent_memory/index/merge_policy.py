"""Which segments to merge: size-tiered, so that every row is rewritten about once for each factor of 8 in size."""

from typing import Final

from s3_agent_memory.index.manifest import Manifest, SegmentRef

FAN_OUT: Final = 8
ROWS_MAX: Final = 250_000
# Below the most that is read of one index file, with room for what a merge cannot foresee.
BYTES_MAX: Final = 48 * 1024 * 1024
_TIER_ROWS: Final = 64


def choose_merge(manifest: Manifest) -> tuple[SegmentRef, ...] | None:
    """Return segments worth merging into one, or None.

    Segments whose log entries are not cleaned up yet are left alone: readers still learn from them which log entries
    they can ignore. A tier holds segments of up to 64 * 8^n rows; a full tier (8 segments) is merged.
    """
    pending = {fold.segment_id for fold in manifest.folds}
    tiers: dict[int, list[SegmentRef]] = {}
    for segment in manifest.segments:
        if segment.id not in pending:
            tiers.setdefault(_tier(segment.row_count), []).append(segment)
    for _, members in sorted(tiers.items()):
        chosen = _within_caps(sorted(members, key=lambda segment: segment.row_count))
        is_full = len(chosen) >= FAN_OUT
        # Where the cap keeps a tier from ever being full, merge once the result is worth it.
        is_capped = len(chosen) < len(members) and len(chosen) >= FAN_OUT // 2 and _rows(chosen) >= ROWS_MAX // 2
        if is_full or is_capped:
            return tuple(chosen)
    return None


def _rows(segments: list[SegmentRef]) -> int:
    return sum(segment.row_count for segment in segments)


def _tier(row_count: int) -> int:
    tier, ceiling = 0, _TIER_ROWS * FAN_OUT
    while row_count >= ceiling:
        tier, ceiling = tier + 1, ceiling * FAN_OUT
    return tier


def _within_caps(members: list[SegmentRef]) -> list[SegmentRef]:
    chosen: list[SegmentRef] = []
    rows = size_bytes = 0
    for segment in members:
        rows, size_bytes = rows + segment.row_count, size_bytes + segment.size_bytes
        if rows > ROWS_MAX or size_bytes > BYTES_MAX:
            break
        chosen.append(segment)
    return chosen
