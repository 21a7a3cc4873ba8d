"""Merging segments gives what building one of the surviving rows gives, byte for byte."""

import random

import numpy as np
import pytest

from s3_agent_memory.errors import ValidationError
from s3_agent_memory.index import id_table
from s3_agent_memory.index.segment import Segment, build_segment
from s3_agent_memory.index.segment_merge import merge_segments
from tests.unit.index.rows import SIGNATURE, make_deletion, make_row, make_segment, random_rows, winners


def split(rng, rows):
    """Return the rows cut into one to six pieces, some of them perhaps empty."""
    cuts = sorted(rng.randint(0, len(rows)) for _ in range(rng.randrange(6)))
    return [rows[start:end] for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def merged(segments, **options):
    return merge_segments(segments, analyzer_signature=SIGNATURE, **options)


def ids_after(segments, **options):
    return sorted(Segment.decode(merged(segments, **options), "key").all_ids())


@pytest.mark.parametrize("bound", [2**64, 5])
@pytest.mark.parametrize("seed", range(60))
def test_merge_equals_build(monkeypatch, seed, bound):
    own_hash = id_table.id_hash
    monkeypatch.setattr(id_table, "id_hash", lambda memory_id: own_hash(memory_id) % bound)
    rng = random.Random(seed)
    rows = random_rows(rng, rng.randrange(60), id_count=25)
    segments = [make_segment(part) for part in split(rng, rows)]
    assert merged(segments) == build_segment(rows, analyzer_signature=SIGNATURE), f"seed {seed}"


@pytest.mark.parametrize("seed", range(30))
def test_merge_leaves_out_old_deletions_that_may_go(seed):
    rng = random.Random(seed)
    rows = random_rows(rng, 60, id_count=30, deletion_share=0.5)
    protected = {f"id{number}" for number in range(10)}
    body = merged(
        [make_segment(part) for part in split(rng, rows)],
        deletion_horizon_us=50,
        is_droppable=lambda ids: np.array([memory_id not in protected for memory_id in ids]),
    )
    kept = [row for row in winners(rows).values() if not row.is_deleted or row.updated_us >= 50 or row.id in protected]
    assert body == build_segment(kept, analyzer_signature=SIGNATURE), f"seed {seed}"


def test_merge_without_a_horizon_keeps_all_deletions():
    assert ids_after([make_segment([make_deletion("a", updated_us=0)])]) == ["a"]


def test_merge_with_a_horizon_alone_drops_every_old_deletion():
    segment = make_segment([make_deletion("old", updated_us=1), make_deletion("new", updated_us=9), make_row("live")])
    assert ids_after([segment], deletion_horizon_us=5) == ["live", "new"]


def test_dropped_deletion_takes_what_it_deleted_with_it():
    segments = [make_segment([make_row("a", version=1)]), make_segment([make_deletion("a", version=1)])]
    assert ids_after(segments, deletion_horizon_us=5) == []


def test_merge_order_does_not_matter_where_ranks_differ():
    first, second = make_segment([make_row("a", version=1)]), make_segment([make_row("a", version=2)])
    assert merged([first, second]) == merged([second, first])


def test_last_of_equal_ranks_survives():
    segments = [make_segment([make_row("a", length=number)]) for number in (1, 2)]
    assert [row.length for row in Segment.decode(merged(segments), "key").rows()] == [2]


def test_merge_takes_the_folded_keys_it_is_given():
    body = merged([make_segment([], folded_keys=["before"])], folded_keys=["after"])
    assert Segment.decode(body, "key").folded_keys == ("after",)


def test_merge_refuses_another_text_analysis():
    with pytest.raises(ValidationError, match="german/1"):
        merged([make_segment([]), make_segment([], signature="german/1")])


def test_merge_refuses_to_make_a_segment_of_none():
    with pytest.raises(ValidationError):
        merged([])
