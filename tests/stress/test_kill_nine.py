"""Writers, indexers and sweepers are killed at random points: whatever was acknowledged is there, for every reader.

Between two rounds hours or days pass on the clock of all processes, so that clean-up and collection really happen.
"""

import sys

import pytest

from tests.stress.scene import Scene
from tests.stress.storm import list_all
from tests.stress.victims import NAMESPACE

KILL_COUNT = 200
SEED = 9
WORK = ("folds", "merges", "clean-ups", "collections", "log entries", "segment files")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A namespace in which so many have died."""
    played = Scene(tmp_path_factory.mktemp("killed"), SEED)
    played.play(KILL_COUNT)
    return played


def test_nothing_acknowledged_is_missing_and_nothing_forgotten_is_back(scene: Scene) -> None:
    assert scene.findings == []


def test_there_was_something_to_lose(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    told = scene.fleet.events
    with capsys.disabled():
        figures = ", ".join(f"{count} {what}" for what, count in sorted(told.items()))
        sys.stdout.write(
            f"\n{scene.fleet.kill_count} kills, {scene.ledger.acknowledged_count} acknowledged changes, "
            f"{scene.ledger.unacknowledged_count} cut short, {len(scene.ledger.live)} memories left; {figures}\n"
        )
    assert scene.fleet.kill_count >= KILL_COUNT
    assert [what for what in WORK if not told[what]] == [], f"seed {SEED}: {told}"


def test_the_index_never_had_to_be_rebuilt(scene: Scene) -> None:
    assert scene.fleet.events["rebuilds"] == 0, f"seed {SEED}"


def test_a_sweep_heals_what_died_half_way(scene: Scene) -> None:
    store = scene.open().memories
    store.sweep(NAMESPACE)
    again = scene.open().memories.sweep(NAMESPACE)
    assert (again.repaired, again.corrupt_keys) == (0, ()), f"seed {SEED}"


def test_after_a_sweep_the_list_is_what_is_stored(scene: Scene) -> None:
    store = scene.open().memories
    store.sweep(NAMESPACE)
    assert sorted(list_all(store, NAMESPACE)) == sorted(scene.ledger.live), f"seed {SEED}"


def test_after_a_sweep_a_rebuild_changes_nothing(scene: Scene) -> None:
    store = scene.open().memories
    store.sweep(NAMESPACE)
    report = store.reindex(NAMESPACE)
    assert report.digest_before == report.digest_after, f"seed {SEED}"
    assert report.corrupt_keys == (), f"seed {SEED}"
