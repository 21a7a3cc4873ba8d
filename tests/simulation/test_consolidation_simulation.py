"""Consolidation under faults: no fact is ever out of sight, and a run ends in one way or the other."""

from unittest.mock import patch

import pytest

from s3_agent_memory.domain.consolidation import RunState
from s3_agent_memory.service.consolidation import settler as consolidation_settler
from tests.simulation.consolidation_simulation import run_seed

SEED_COUNT = 24
MUTATION_SEED_COUNT_MAX = 60


@pytest.mark.parametrize("seed", range(SEED_COUNT))
def test_every_fact_is_told_whatever_happens(seed: int) -> None:
    violation = run_seed(seed).violation
    assert violation is None, f"seed {seed}: {violation}"


def test_the_seeds_meet_what_they_are_about() -> None:
    counts = sum((run_seed(seed).counts for seed in range(4)), run_seed(4).counts)
    wanted = ("merges written", "merges taken away", "undo", "prune", "crashes", "lost answers")
    assert [name for name in wanted if not counts[name]] == []


def test_one_seed_is_one_schedule() -> None:
    assert run_seed(5, is_traced=True).trace == run_seed(5, is_traced=True).trace


def test_the_simulation_catches_undoing_what_is_settled() -> None:
    with patch.object(consolidation_settler, "UNDOABLE", frozenset(RunState)):
        assert any(run_seed(seed).violation for seed in range(MUTATION_SEED_COUNT_MAX))
