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
    patient = replace(INDEXERS, timeout_seconds=1e9)
    assert not run_spread(patient, rate=5, namespaces=100_000).keeps_up
    assert run_spread(replace(patient, concurrency=10), rate=5, namespaces=100_000).keeps_up


def test_a_batch_that_names_more_namespaces_than_there_is_time_for_is_cut_off() -> None:
    found = run_spread(INDEXERS, rate=1, namespaces=100_000, backlog=5_000)
    assert found.timeouts > 0
    assert found.backlog_end > 1_000
    assert not found.keeps_up


def test_with_time_enough_a_backlog_is_worked_off() -> None:
    found = run_spread(
        replace(INDEXERS, concurrency=5, timeout_seconds=1_100), rate=1, namespaces=100_000, backlog=5_000
    )
    assert found.timeouts == 0
    assert found.backlog_end < 200
