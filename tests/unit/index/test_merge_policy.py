"""Segments of one size are merged eight at a time, within the caps of one file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.index.manifest import FoldRef, Manifest, SegmentRef, VectorRef
from s3_agent_memory.index.merge_policy import BYTES_MAX, FAN_OUT, ROWS_MAX, choose_merge, choose_vector_merge

_ROW_BYTES = 150


def manifest_of(*row_counts: int, row_bytes: int = _ROW_BYTES, pending: int = 0) -> Manifest:
    """Return a manifest of segments with these many rows; the last ``pending`` of them still have log entries."""
    segments = tuple(SegmentRef(f"s{n:04}", rows, rows * row_bytes) for n, rows in enumerate(row_counts))
    folds = tuple(FoldRef(item.id, None) for item in segments[len(segments) - pending :]) if pending else ()
    return Manifest(analyzer="english/1", segments=segments, folds=folds)


def chosen_rows(manifest: Manifest) -> list[int]:
    return sorted(segment.row_count for segment in choose_merge(manifest) or ())


@pytest.mark.parametrize("rows", [1, 64, 511, 512, 4_096, 20_000])
def test_eight_segments_of_one_size_are_merged(rows: int) -> None:
    assert chosen_rows(manifest_of(*[rows] * 8)) == [rows] * 8


@pytest.mark.parametrize("count", [0, 1, 7])
def test_fewer_than_eight_are_left_alone(count: int) -> None:
    assert choose_merge(manifest_of(*[64] * count)) is None


def test_segments_of_different_sizes_are_not_mixed() -> None:
    assert choose_merge(manifest_of(*[64] * 7, *[600] * 7, *[5_000] * 7)) is None


def test_the_smallest_full_tier_comes_first() -> None:
    assert chosen_rows(manifest_of(*[600] * 8, *[64] * 8)) == [64] * 8


def test_segments_whose_log_is_not_cleaned_up_are_left_alone() -> None:
    assert choose_merge(manifest_of(*[64] * 8, pending=1)) is None


def test_a_merge_stays_within_the_row_cap() -> None:
    assert sum(chosen_rows(manifest_of(*[40_000] * 12))) <= ROWS_MAX


def test_a_merge_stays_within_the_byte_cap() -> None:
    chosen = choose_merge(manifest_of(*[600] * 40, row_bytes=10_000))
    assert chosen is not None
    assert sum(segment.size_bytes for segment in chosen) <= BYTES_MAX


@pytest.mark.parametrize("count", [1, 2, 3, 4, 12, 30])
def test_segments_at_the_cap_are_not_merged_again(count: int) -> None:
    assert choose_merge(manifest_of(*[ROWS_MAX] * count)) is None


@given(st.lists(st.integers(min_value=1, max_value=2_000), min_size=1, max_size=200))
def test_merging_ends_with_few_segments_and_every_row(row_counts: list[int]) -> None:
    manifest = manifest_of(*row_counts)
    for step in range(len(row_counts)):
        chosen = choose_merge(manifest)
        if chosen is None:
            break
        merged = SegmentRef(
            f"m{step:04}", sum(item.row_count for item in chosen), sum(item.size_bytes for item in chosen)
        )
        rest = tuple(item for item in manifest.segments if item not in chosen)
        manifest = Manifest(analyzer="english/1", segments=(merged, *rest))
    assert sum(segment.row_count for segment in manifest.segments) == sum(row_counts)
    # Three tiers of at most seven, and one above.
    assert len(manifest.segments) <= 4 * (FAN_OUT - 1)


def test_a_million_rows_folded_64_at_a_time_stay_below_40_segments() -> None:
    segments: dict[str, SegmentRef] = {}
    most = 0
    for number in range(1_000_000 // 64):
        segments[f"f{number:06}"] = SegmentRef(f"f{number:06}", 64, 64 * _ROW_BYTES)
        chosen = choose_merge(Manifest(segments=tuple(segments.values())))
        if chosen:
            for item in chosen:
                del segments[item.id]
            rows = sum(item.row_count for item in chosen)
            segments[f"m{number:06}"] = SegmentRef(f"m{number:06}", rows, rows * _ROW_BYTES)
        most = max(most, len(segments))
    assert most <= 40


# --- vector shards ----------------------------------------------------------------------------------------------------

_VECTOR_BYTES = 444


def shards_of(*row_counts: int, model: str = "model/1") -> tuple[VectorRef, ...]:
    return tuple(VectorRef(f"{model[0]}{n:04}", rows, rows * _VECTOR_BYTES, model) for n, rows in enumerate(row_counts))


def test_eight_shards_of_one_size_and_model_are_merged() -> None:
    chosen = choose_vector_merge(Manifest(vectors=shards_of(*[64] * 8)))
    assert chosen == shards_of(*[64] * 8)


def test_shards_of_two_models_are_not_merged() -> None:
    vectors = (*shards_of(*[64] * 7), *shards_of(*[64] * 7, model="other/1"))
    assert choose_vector_merge(Manifest(vectors=vectors)) is None


def test_any_number_of_vectors_ends_up_in_few_shards() -> None:
    """Shards of 4,096 vectors, as an embedder writes them, until there are a million."""
    vectors: dict[str, VectorRef] = {}
    for number in range(1_000_000 // 4_096):
        vectors[f"n{number}"] = VectorRef(f"n{number}", 4_096, 4_096 * _VECTOR_BYTES, "model/1")
        while chosen := choose_vector_merge(Manifest(vectors=tuple(vectors.values()))):
            for shard in chosen:
                del vectors[shard.id]
            rows = sum(shard.row_count for shard in chosen)
            vectors[f"m{number}-{rows}"] = VectorRef(f"m{number}-{rows}", rows, rows * _VECTOR_BYTES, "model/1")
    assert (len(vectors) <= 30, max(shard.size_bytes for shard in vectors.values()) <= BYTES_MAX) == (True, True)
