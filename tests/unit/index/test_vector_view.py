"""A view finds the vectors of live memories and of nothing else."""

import numpy as np
import pytest

from s3_agent_memory.errors import ValidationError
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.vectors import view as vector_view
from s3_agent_memory.index.vectors.scan import QueryVector
from s3_agent_memory.index.vectors.view import VectorView
from tests.unit.index.vectors import DIMENSION, make_shard, segment_of, unit_vectors

AXES = np.eye(DIMENSION, dtype=np.float32)


def axis(*numbers):
    """Return the vectors of some axes, one for each window."""
    return AXES[list(numbers)]


def found(view, query, *, count=1, is_eligible=None):
    return view.nearest(query, count=count, is_eligible=is_eligible).tolist()


def cosine(view, query, doc):
    return float(view.cosines(query, np.array([doc]))[0])


@pytest.fixture(params=["exact", "two stages"])
def stages(request, monkeypatch):
    """Search exactly, or choose few candidates by Hamming distance first."""
    if request.param == "two stages":
        monkeypatch.setattr(vector_view, "EXACT_COUNT_MAX", 0)
        monkeypatch.setattr(vector_view, "_CANDIDATE_COUNT_MIN", 1)
        monkeypatch.setattr(vector_view, "_CANDIDATES_PER_RESULT", 1)


def test_a_memory_is_found_by_its_vector(stages):
    view = VectorView(Snapshot([segment_of(("a", 1, 10), ("b", 1, 20))]), [make_shard({10: axis(0), 20: axis(1)})])
    assert (found(view, AXES[1]), cosine(view, AXES[1], 1)) == ([1], pytest.approx(1, abs=1e-5))


def test_the_vector_of_an_outdated_text_is_not_found(stages):
    snapshot = Snapshot([segment_of(("a", 1, 10)), segment_of(("a", 2, 11))])
    view = VectorView(snapshot, [make_shard({10: axis(0)})])
    assert (view.vector_count, found(view, AXES[0]), view.missing_docs().tolist()) == (0, [], [1])


def test_an_update_with_the_same_text_keeps_the_vector():
    snapshot = Snapshot([segment_of(("a", 1, 10)), segment_of(("a", 2, 10))])
    view = VectorView(snapshot, [make_shard({10: axis(0)})])
    assert (found(view, AXES[0]), view.dead_row_count(0)) == ([1], 0)


def test_the_vector_of_a_forgotten_memory_is_dead(stages):
    snapshot = Snapshot([segment_of(("a", 1, 10), ("b", 1, 20)), segment_of(deletions=[("a", 1)])])
    view = VectorView(snapshot, [make_shard({10: axis(0, 1, 2), 20: axis(3)})])
    assert (found(view, AXES[0], count=9), view.dead_row_count(0), view.missing_docs().tolist()) == ([1], 3, [])


def test_a_later_shard_wins(stages):
    snapshot = Snapshot([segment_of(("a", 1, 10), ("b", 1, 20))])
    view = VectorView(snapshot, [make_shard({10: axis(0), 20: axis(1)}), make_shard({10: axis(2)})])
    assert cosine(view, AXES[0], 0) == 0
    assert [view.dead_row_count(index) for index in (0, 1)] == [1, 0]
    assert (view.vector_count, view.row_count) == (2, 3)


def test_the_best_window_of_a_text_counts(stages):
    snapshot = Snapshot([segment_of(("a", 1, 20), ("b", 1, 10))])
    view = VectorView(snapshot, [make_shard({10: axis(0), 20: axis(1, 2, 3)})])
    assert [cosine(view, AXES[number], 0) for number in range(4)] == pytest.approx([0, 1, 1, 1], abs=1e-5)
    assert [found(view, AXES[number]) for number in range(4)] == [[1], [0], [0], [0]]


def test_vectors_are_counted_by_memories():
    view = VectorView(Snapshot([segment_of(("a", 1, 10))]), [make_shard({10: axis(0, 1), 99: axis(2)})])
    assert (view.vector_count, view.row_count, view.dead_row_count(0)) == (1, 3, 1)


def test_a_memory_without_a_vector_has_no_cosine():
    view = VectorView(Snapshot([segment_of(("a", 1, 10), ("b", 1, 11))]), [make_shard({11: axis(0)})])
    assert np.isnan(view.cosines(AXES[0], np.arange(2))).tolist() == [True, False]


def test_missing_memories_are_the_live_ones_without_a_vector():
    rows = segment_of(("a", 1, 10), ("b", 1, 11), ("c", 1, 12), deletions=[("d", 1)])
    view = VectorView(Snapshot([rows, segment_of(deletions=[("c", 1)])]), [make_shard({11: axis(0)})])
    assert view._snapshot.ids(view.missing_docs()).tolist() == [b"a"]


def test_what_is_not_eligible_takes_nobodys_place(stages):
    rng = np.random.default_rng(0)
    vectors = unit_vectors(rng, 200)
    view = VectorView(
        Snapshot([segment_of(*((f"id{key:03}", 1, key) for key in range(1, 201)))]),
        [make_shard({key: vectors[key - 1 : key] for key in range(1, 201)})],
    )
    is_eligible = np.zeros(200, np.bool_)
    is_eligible[[3, 77, 150]] = True
    assert found(view, vectors[5], count=3, is_eligible=is_eligible) == [3, 77, 150]


def test_equal_vectors_are_cut_to_a_bounded_number():
    keys = range(1, 1_001)
    view = VectorView(
        Snapshot([segment_of(*((f"id{key:04}", 1, key) for key in keys))]), [make_shard(dict.fromkeys(keys, axis(0)))]
    )
    assert len(view._near_docs(QueryVector.of(AXES[0]), view._is_dead_row, 5)) == 5


def test_a_view_without_shards_finds_nothing():
    view = VectorView(Snapshot([segment_of(("a", 1, 10))]), [])
    assert (found(view, AXES[0]), view.missing_docs().tolist(), view.row_count) == ([], [0], 0)


def test_a_view_of_an_empty_snapshot_finds_nothing():
    view = VectorView(Snapshot([]), [make_shard({10: axis(0)})])
    assert (found(view, AXES[0]), view.dead_row_count(0), view.vector_count) == ([], 1, 0)


def test_zeros_resemble_nothing(stages):
    view = VectorView(Snapshot([segment_of(("a", 1, 10))]), [make_shard({10: axis(0)})])
    assert (found(view, 0 * AXES[0]), cosine(view, 0 * AXES[0], 0)) == ([], 0)


@pytest.mark.parametrize("other", [{"model": "other"}, {"dimension": 3}])
def test_shards_of_different_models_are_refused(other):
    with pytest.raises(ValidationError, match="models"):
        VectorView(Snapshot([]), [make_shard({}), make_shard({}, **other)])


@pytest.mark.parametrize("query", [AXES[0][1:], AXES[:1]])
def test_a_query_of_another_shape_is_refused(query):
    view = VectorView(Snapshot([segment_of(("a", 1, 10))]), [make_shard({10: axis(0)})])
    with pytest.raises(ValidationError, match=str(DIMENSION)):
        view.nearest(query, count=1, is_eligible=None)
