"""The simulations behind the scale page: rates they keep up with, and what gives way first."""

from dataclasses import replace

import pytest

from benchmarks.index_growth import grow
from benchmarks.scale_simulation import Indexers, most_sustained, run_hot, run_spread
from s3_agent_memory.domain.pricing import Duration

# A fold takes a second, and each change in it ten milliseconds.
INDEXERS = Indexers(
    fold=Duration(compute_ms=0, wait_ms=1_000), fold_each=Duration(compute_ms=0, wait_ms=10), concurrency=1
)


def test_a_growing_index_keeps_few_files_and_writes_each_row_a_few_times() -> None:
    growth = grow(20_000, 64, fold_seconds=60)
    assert growth.folds == 313
    assert growth.segments_max <= 30
    assert growth.shards_max <= 30
    # Two merges at most, from 64 to 512 to 4,096 rows, and what is folded itself.
    assert 1 < growth.write_amplification < 4


def test_small_folds_write_more_for_each_memory() -> None:
    assert grow(2_000, 1, fold_seconds=60).bytes_per_write > 4 * grow(2_000, 64, fold_seconds=60).bytes_per_write


def test_changes_of_a_quiet_namespace_wait_for_the_window() -> None:
    found = run_hot(INDEXERS, rate=1)
    assert found.keeps_up
    assert 0 < found.lag_p50_s < found.lag_p99_s < INDEXERS.window_seconds + 10
    assert found.rows_per_change == pytest.approx(1, abs=0.1)


def test_a_namespace_takes_no_more_changes_than_a_fold_can_read() -> None:
    # Without end a change takes its ten milliseconds, so there is no keeping up above a hundred a second.
    rate = most_sustained(lambda rate: run_hot(INDEXERS, rate=rate))
    assert 50 < rate <= 100


def test_what_is_not_kept_up_with_stays_in_the_log() -> None:
    found = run_hot(INDEXERS, rate=200)
    assert not found.keeps_up
    assert found.log_end > 200_000


def test_indexers_side_by_side_fold_the_same_changes_of_one_namespace() -> None:
    found = run_hot(replace(INDEXERS, concurrency=5), rate=50)
    assert found.rows_per_change > 2


def test_many_namespaces_are_kept_up_with_by_more_indexers() -> None:
    patient = replace(INDEXERS, timeout_seconds=1e9, side_by_side=1)
    assert not run_spread(patient, rate=5, namespaces=100_000).keeps_up
    assert run_spread(replace(patient, concurrency=10), rate=5, namespaces=100_000).keeps_up


def test_folds_side_by_side_take_more_namespaces() -> None:
    alone, together = (
        most_sustained(
            lambda rate, side=side: run_spread(  # type: ignore[misc]
                replace(INDEXERS, timeout_seconds=900, side_by_side=side), rate=rate, namespaces=100_000
            ),
            most=64,
        )
        for side in (1, 16)
    )
    assert alone <= 1
    assert 8 < together <= 16


def test_a_batch_gives_back_what_there_is_no_time_for() -> None:
    found = run_spread(replace(INDEXERS, side_by_side=1), rate=1, namespaces=100_000, backlog=5_000)
    assert found.returned > 500
    assert not found.keeps_up


def test_what_was_given_back_is_worked_off_with_what_comes() -> None:
    found = run_spread(replace(INDEXERS, concurrency=5, side_by_side=4), rate=1, namespaces=100_000, backlog=20_000)
    assert found.returned == 0
    assert found.backlog_end < 200
    scarce = replace(INDEXERS, concurrency=5, side_by_side=2, timeout_seconds=200)
    found = run_spread(scarce, rate=1, namespaces=100_000, backlog=20_000)
    assert found.returned > 5_000
    assert found.backlog_end < 200
