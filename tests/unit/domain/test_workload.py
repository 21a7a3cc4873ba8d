"""A month of work: what it may be, and how changes come together."""

import pytest

from s3_agent_memory.domain.workload import SECONDS, Workload
from s3_agent_memory.errors import ValidationError


def make(**changes: object) -> Workload:
    given = {"recalls": 100, "writes": 10, "memories": 50, **changes}
    return Workload(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("recalls", -1, "recalls must be from 0"),
        ("writes", float("nan"), "writes must be from 0"),
        ("updates", 10**13, "updates must be from 0 to 1,000,000,000,000"),
        ("memories", -5, "memories must be from 0"),
        ("memories", 1_000_001, "1,000,000 for each namespace"),
        ("namespaces", 0, "namespaces must be from 1"),
        ("size_bytes", 0, "size in bytes must be from 1 to 16,384"),
        ("size_bytes", 16_385, "size in bytes must be from 1 to 16,384"),
        ("cold_share", 1.1, "cold share must be from 0 to 1"),
        ("changes_per_fold", 0.5, "changes per fold must be from 1 to 1,000"),
        ("poller_count", 1, "pollers must be from 2"),
        ("architecture", "mips", "architecture must be one of arm64, x86_64, not 'mips'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_is_allowed(name: str, value: object, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        make(**{name: value})


def test_rare_changes_are_folded_alone() -> None:
    assert make(writes=720, namespaces=10).fold_size == pytest.approx(1, abs=0.001)


def test_changes_of_a_window_are_folded_together() -> None:
    # Ten a second for a minute, over five readers.
    assert make(writes=10 * SECONDS).fold_size == 1 + 10 * 60 / 5


def test_a_fold_is_no_larger_than_a_batch() -> None:
    assert make(writes=10**12).fold_size == 1_000


def test_who_knows_how_changes_arrive_may_say_so() -> None:
    assert make(changes_per_fold=64).fold_size == 64


@pytest.mark.parametrize(("memories", "count"), [(0, 4), (511, 4), (512, 8), (10_000, 12), (1_000_000, 20)])
def test_an_index_has_four_files_in_each_tier(memories: int, count: int) -> None:
    assert make(memories=memories).index_file_count == count


def test_files_are_those_of_one_namespace() -> None:
    assert make(memories=1_000_000, namespaces=100_000).index_file_count == 4
