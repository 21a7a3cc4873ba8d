"""Facts that change, under faults; and every mistake of the list is noticed."""

import pytest

from tests.simulation.succession_mutations import MUTATIONS, applied
from tests.simulation.succession_simulation import run_seed

SEED_COUNT = 30
# The others take more seeds than a run of the tests has time for.
QUICK = (
    "forgetting_ends_nothing",
    "readers_know_no_succession",
    "forgets_leave_earlier_versions",
    "updates_keep_nothing",
    "superseders_name_nothing",
)
QUICK_SEED_COUNT_MAX = 30


@pytest.mark.parametrize("seed", range(SEED_COUNT))
def test_what_is_superseded_or_forgotten_stays_so_whatever_happens(seed: int) -> None:
    violation = run_seed(seed).violation
    assert violation is None, f"seed {seed}: {violation}"


def test_the_seeds_meet_what_they_are_about() -> None:
    counts = sum((run_seed(seed).counts for seed in range(7)), run_seed(7).counts)
    wanted = (
        "supersede",
        "update",
        "forget",
        "read",
        "look_back",
        "history",
        "crashes",
        "lost answers",
        "late requests",
    )
    assert [name for name in wanted if not counts[name]] == []


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
