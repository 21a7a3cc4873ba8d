"""A small part of the simulation, for every run of the tests; ``make simulate`` runs as many seeds as you like."""

from collections import Counter

import pytest

from tests.simulation import batches
from tests.simulation.batches import catch
from tests.simulation.simulation import run_seed
from tests.simulation.world import Result

SEED_COUNT = 60


@pytest.mark.parametrize("seed", range(SEED_COUNT))
def test_every_promise_holds_under_faults(seed: int) -> None:
    violation = run_seed(seed).violation
    assert violation is None, f"replay: python -m tests.simulation --seed {seed} --trace"


def test_one_seed_is_one_schedule() -> None:
    first, second = run_seed(7, is_traced=True), run_seed(7, is_traced=True)
    assert first.trace == second.trace


@pytest.mark.parametrize("name", ["blind_put_of_head", "trust_the_index", "tombstone_after_delete"])
def test_the_simulation_catches_a_mistake(name: str) -> None:
    _, _, violation = catch(name)
    assert violation is not None, f"the mutation {name} was not caught"


def test_what_goes_wrong_without_the_mistake_too_is_not_put_down_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "run_seed", lambda seed: Result(seed, "always wrong", Counter()))
    _, _, violation = catch("trust_the_index")
    assert violation is None
