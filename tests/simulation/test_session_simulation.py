"""Sessions under faults: many writers, digesters and erasers; and every mistake of the list is noticed."""

import pytest

from tests.simulation.session_mutations import MUTATIONS, applied
from tests.simulation.session_simulation import run_seed

SEED_COUNT = 40
# The others take more seeds than a run of the tests has time for.
QUICK = ("pending_is_cleared_first", "digests_are_overwritten", "erasures_keep_the_epoch", "no_tombstones")
QUICK_SEED_COUNT_MAX = 60


@pytest.mark.parametrize("seed", range(SEED_COUNT))
def test_every_turn_is_in_one_place_whatever_happens(seed: int) -> None:
    violation = run_seed(seed).violation
    assert violation is None, f"seed {seed}: {violation}"


def test_the_seeds_meet_what_they_are_about() -> None:
    counts = sum((run_seed(seed).counts for seed in range(3)), run_seed(3).counts)
    missing = [name for name in ("batches digested", "erasures", "crashes", "lost answers") if not counts[name]]
    assert missing == []


def test_one_seed_is_one_schedule() -> None:
    assert run_seed(5, is_traced=True).trace == run_seed(5, is_traced=True).trace


@pytest.mark.parametrize("name", QUICK)
def test_the_simulation_catches_a_mistake(name: str) -> None:
    def violation_of(seed: int) -> str | None:
        with applied(name):
            return run_seed(seed).violation

    assert any(violation_of(seed) for seed in range(QUICK_SEED_COUNT_MAX)), f"{name} was not caught"


def test_every_quick_mistake_is_on_the_list() -> None:
    assert set(QUICK) <= set(MUTATIONS)
