"""A snapshot of many segments shows each id once, like one dictionary of rows."""

import gc
import random
import weakref
from typing import Any

import numpy as np
import pytest

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.index import id_table
from s3_agent_memory.index.row import row_digest
from s3_agent_memory.index.snapshot import Snapshot
from tests.unit.index.rows import make_deletion, make_row, make_segment, random_rows, winners

SEEDS = range(40)


@pytest.fixture(params=[2**64, 4])
def _hashing(request, monkeypatch):
    own_hash = id_table.id_hash
    monkeypatch.setattr(id_table, "id_hash", lambda memory_id: own_hash(memory_id) % request.param)


def random_snapshot(seed):
    """Return a snapshot of random segments and the rows that count in it."""
    rng = random.Random(seed)
    parts = [random_rows(rng, rng.randrange(25), id_count=20) for _ in range(rng.randrange(6))]
    return Snapshot([make_segment(part) for part in parts]), winners(row for part in parts for row in part)


def live(rows):
    return {memory_id: row for memory_id, row in rows.items() if not row.is_deleted}


@pytest.mark.usefixtures("_hashing")
@pytest.mark.parametrize("seed", SEEDS)
def test_live_ids_are_those_of_the_model(seed):
    snapshot, model = random_snapshot(seed)
    expected = sorted((row.id, row.kind) for row in live(model).values())
    assert sorted(snapshot.live_ids()) == expected, f"seed {seed}"


@pytest.mark.usefixtures("_hashing")
@pytest.mark.parametrize("seed", SEEDS)
def test_found_rows_are_those_of_the_model(seed):
    snapshot, model = random_snapshot(seed)
    found = {memory_id: snapshot.find(memory_id) for memory_id in (f"id{number}" for number in range(22))}
    shown = {memory_id: (row.rank, row.etag_hash) for memory_id, row in found.items() if row is not None}
    assert shown == {memory_id: (row.rank, row.etag_hash) for memory_id, row in model.items()}, f"seed {seed}"


@pytest.mark.usefixtures("_hashing")
@pytest.mark.parametrize("seed", SEEDS)
def test_winner_etags_are_those_of_the_model(seed):
    snapshot, model = random_snapshot(seed)
    ids = [f"id{number}" for number in [*range(22), 3]]
    etags, is_deleted, is_present = snapshot.winner_etags(ids)
    shown = list(zip(etags.tolist(), is_deleted.tolist(), is_present.tolist(), strict=True))
    rows = [model.get(memory_id) for memory_id in ids]
    assert shown == [(row.etag_hash, row.is_deleted, True) if row else (0, False, False) for row in rows], (
        f"seed {seed}"
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_totals_are_those_of_the_model(seed):
    snapshot, model = random_snapshot(seed)
    rows = live(model).values()
    by_kind = {kind: sum(row.kind is kind for row in rows) for kind in Kind}
    expected = (len(rows), sum(row.length for row in rows), by_kind)
    assert (snapshot.live_count, snapshot.length_total, snapshot.count_by_kind()) == expected, f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_expired_ids_are_those_of_the_model(seed):
    snapshot, model = random_snapshot(seed)
    expected = [(row.id, row.kind) for row in live(model).values() if 0 < row.expires_us <= 50]
    assert sorted(snapshot.expired_ids(50)) == sorted(expected), f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_digest_is_the_sum_over_live_rows(seed):
    snapshot, model = random_snapshot(seed)
    codes = {kind: code for code, kind in enumerate((Kind.SEMANTIC, Kind.EPISODIC, Kind.PROCEDURAL))}
    rows = live(model).values()
    total = sum(row_digest(row.id, codes[row.kind], row.version, row.etag_hash) for row in rows) % 2**128
    assert snapshot.digest() == f"{total:032x}", f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_digest_does_not_depend_on_segments(seed):
    snapshot, model = random_snapshot(seed)
    assert snapshot.digest() == Snapshot([make_segment(live(model).values())]).digest(), f"seed {seed}"


@pytest.mark.parametrize("change", [{"version": 2}, {"etag_hash": 8}, {"kind": Kind.EPISODIC}, {"id": "b"}])
def test_digest_depends_on_what_identifies_a_memory(change):
    row: dict[str, Any] = {"memory_id": "a", "version": 1, "etag_hash": 7, "kind": Kind.SEMANTIC}
    other = {**row, **change}
    other["memory_id"] = other.pop("id", "a")
    assert (
        Snapshot([make_segment([make_row(**row)])]).digest() != Snapshot([make_segment([make_row(**other)])]).digest()
    )


@pytest.mark.parametrize("row_count_max", [1, 3, 1_000])
def test_live_rows_come_in_chunks(row_count_max):
    snapshot, model = random_snapshot(7)
    chunks = list(snapshot.live_rows(row_count_max=row_count_max))
    shown = sorted(
        row
        for chunk in chunks
        for row in zip(chunk.ids, chunk.versions.tolist(), chunk.etag_hashes.tolist(), strict=True)
    )
    assert shown == sorted((row.id, row.version, row.etag_hash) for row in live(model).values())


def test_chunks_are_not_larger_than_asked_for():
    snapshot = Snapshot([make_segment(make_row(f"id{number}") for number in range(8))])
    assert [len(chunk.ids) for chunk in snapshot.live_rows(row_count_max=3)] == [3, 3, 2]


def test_later_segment_wins_where_ranks_are_equal():
    snapshot = Snapshot([make_segment([make_row("a", etag_hash=number)]) for number in (1, 2)])
    assert [chunk.etag_hashes.tolist() for chunk in snapshot.live_rows()] == [[2]]


def test_row_comes_back_to_life_with_a_higher_version():
    parts = [[make_row("a", version=1)], [make_deletion("a", version=1)], [make_row("a", version=2)]]
    snapshot = Snapshot([make_segment(part) for part in parts])
    assert (snapshot.live_count, snapshot.dead.tolist()) == (1, [0, 1])


def test_document_numbers_count_on_over_segments():
    snapshot = Snapshot([make_segment([make_row("a")]), make_segment([]), make_segment([make_row("b")])])
    assert [row.id for row in snapshot.rows_at(np.array([1, 0]))] == ["b", "a"]


def test_snapshot_of_nothing_is_empty():
    snapshot = Snapshot([])
    assert (snapshot.live_count, snapshot.find("a"), list(snapshot.live_ids()), snapshot.digest()) == (
        0,
        None,
        [],
        "0" * 32,
    )


def test_remembered_matches_do_not_keep_a_segment_alive():
    large, small = make_segment([make_row("a")]), make_segment([make_row("a", version=2)])
    gone = weakref.ref(small)
    Snapshot([large, small])
    del small
    gc.collect()
    assert gone() is None
