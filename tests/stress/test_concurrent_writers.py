"""Many threads and processes write one namespace at once: nothing acknowledged is lost, nothing refused happened."""

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import pytest

from s3_agent_memory.service.results import ReindexReport, SweepReport
from tests.fakes.s3_server import REGION
from tests.stress import storm
from tests.stress.conftest import BUCKET
from tests.stress.storm import Finding, Journal, Plan

SEED = 20_260


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What the writers were told, what a fresh process found, and what a rebuild and a sweep after that did."""

    told: Journal
    found: Finding
    reindexed: ReindexReport
    swept: SweepReport


@pytest.fixture(scope="module")
def directory_plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return Plan(
        url=f"file://{tmp_path_factory.mktemp('storm')}",
        seed=SEED,
        thread_count=32,
        process_count=8,
        remember_count=12,
        update_count=9,
    )


@pytest.fixture(scope="module")
def seaweedfs_plan(s3_endpoint_url: str) -> Plan:
    return Plan(
        url=f"s3://{BUCKET}/storm",
        endpoint_url=s3_endpoint_url,
        region=REGION,
        seed=SEED,
        thread_count=4,
        process_count=8,
        remember_count=8,
        update_count=4,
    )


@pytest.fixture(scope="module", params=["directory", "seaweedfs"])
def aftermath(request: pytest.FixtureRequest) -> Aftermath:
    """One storm for each kind of store; every test looks at another side of it."""
    plan: Plan = request.getfixturevalue(f"{request.param}_plan")
    told = storm.run_storm(plan)
    memory_ids = [*told.alive, *told.forgotten, *storm.shared_ids(), *storm.doomed_ids()]
    words = [content.split()[1] for content in told.alive.values() if "word" in content]
    # A process for each, so that neither knows anything from before.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as processes:
        found = processes.submit(storm.inspect, plan, memory_ids, words).result()
        reindexed, swept = processes.submit(storm.rebuild, plan).result()
    return Aftermath(told, found, reindexed, swept)


def test_no_writer_meets_an_error_but_the_conflicts_it_provoked(aftermath: Aftermath) -> None:
    assert aftermath.told.unexpected == [], f"seed {SEED}"


def test_every_acknowledged_memory_is_read_back_as_last_acknowledged(aftermath: Aftermath) -> None:
    found = {memory_id: memory.content for memory_id, memory in aftermath.found.read.items()}
    assert {memory_id: found.get(memory_id) for memory_id in aftermath.told.alive} == aftermath.told.alive, (
        f"seed {SEED}"
    )


def test_a_list_holds_every_live_memory_exactly_once(aftermath: Aftermath) -> None:
    assert Counter(aftermath.found.listed) == Counter([*aftermath.told.alive, *storm.shared_ids()]), f"seed {SEED}"


def test_every_acknowledged_memory_is_recalled_by_its_own_word(aftermath: Aftermath) -> None:
    by_word = {
        content.split()[1]: memory_id for memory_id, content in aftermath.told.alive.items() if "word" in content
    }
    missing = {word for word, memory_id in by_word.items() if memory_id not in aftermath.found.recalled[word]}
    assert missing == set(), f"seed {SEED}"


def test_no_acknowledged_update_is_lost(aftermath: Aftermath) -> None:
    told = {shared_id: {marker for marker, _ in updates} for shared_id, updates in aftermath.told.updates.items()}
    lost = {shared_id: markers - set(aftermath.found.read[shared_id].metadata) for shared_id, markers in told.items()}
    assert all(told.values())
    assert not any(lost.values()), f"seed {SEED}: {lost}"


def test_every_acknowledged_update_made_a_version_of_its_own(aftermath: Aftermath) -> None:
    for shared_id, updates in aftermath.told.updates.items():
        versions = sorted(version for _, version in updates)
        assert versions == list(range(2, aftermath.found.read[shared_id].version + 1)), f"seed {SEED}: {shared_id}"


def test_conflicts_are_reported(aftermath: Aftermath) -> None:
    assert aftermath.told.refused_markers, f"seed {SEED}: no conditional update ever lost, so nothing was tried"


def test_a_refused_update_changed_nothing(aftermath: Aftermath) -> None:
    present = {marker for shared_id in storm.shared_ids() for marker in aftermath.found.read[shared_id].metadata}
    assert present & aftermath.told.refused_markers == set(), f"seed {SEED}"


def test_a_chosen_id_is_given_to_one_writer(aftermath: Aftermath) -> None:
    assert sorted(aftermath.told.chosen) == storm.chosen_ids(), f"seed {SEED}"


def test_forgotten_memories_are_gone(aftermath: Aftermath) -> None:
    assert set(storm.doomed_ids()) <= aftermath.told.forgotten
    assert set(aftermath.found.read) & aftermath.told.forgotten == set(), f"seed {SEED}"


def test_a_rebuild_changes_nothing(aftermath: Aftermath) -> None:
    assert aftermath.reindexed.digest_before == aftermath.reindexed.digest_after, f"seed {SEED}"


def test_a_sweep_finds_nothing_to_repair(aftermath: Aftermath) -> None:
    assert aftermath.swept.repaired == 0, f"seed {SEED}"
