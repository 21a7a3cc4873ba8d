"""Sixteen rivals at one object: threads on the real S3 server and in memory, processes on a directory."""

from collections.abc import Iterator
from functools import partial
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path

import pytest

from s3_agent_memory.storage.port import ObjectStore
from tests.contract.object_store import racers
from tests.contract.object_store.racers import RACER_COUNT, Race

KEY = "memory/alice/semantic/units.json"


@pytest.fixture(scope="module")
def processes() -> Iterator[Pool]:
    """One process for each racer; started once, for that takes longer than a race."""
    context = get_context("spawn")
    with context.Pool(RACER_COUNT, racers.prepare_process, (context.Barrier(RACER_COUNT),)) as pool:
        yield pool
        pool.close()
        pool.join()


@pytest.fixture(params=["memory", "directory", "seaweedfs"])
def adapter(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def racing_store(request: pytest.FixtureRequest, adapter: str) -> ObjectStore:
    found: ObjectStore = request.getfixturevalue(f"{adapter}_store")
    return found


@pytest.fixture
def race(request: pytest.FixtureRequest, adapter: str, racing_store: ObjectStore, tmp_path: Path) -> Race:
    if adapter == "directory":
        return partial(racers.race_in_processes, request.getfixturevalue("processes"), tmp_path / "objects")
    return partial(racers.race_in_threads, racing_store)


def put_first_version(store: ObjectStore) -> None:
    store.put(f"{KEY}.etag", store.put(KEY, b"first").encode())


@pytest.mark.parametrize("heat", range(3))
def test_one_of_many_creators_wins(race: Race, racing_store: ObjectStore, heat: int) -> None:
    winners = [number for number, has_won in enumerate(race(racers.create, KEY)) if has_won]
    body = racers.read(racing_store, KEY).body.decode()
    assert [f"racer {number}" for number in winners] == [body]


@pytest.mark.parametrize("heat", range(3))
def test_one_of_many_replacements_wins(race: Race, racing_store: ObjectStore, heat: int) -> None:
    put_first_version(racing_store)
    winners = [number for number, has_won in enumerate(race(racers.replace, KEY)) if has_won]
    body = racers.read(racing_store, KEY).body.decode()
    assert [f"racer {number}" for number in winners] == [body]


@pytest.mark.parametrize("heat", range(3))
def test_a_conditional_delete_and_a_replacement_cannot_both_win(
    race: Race, racing_store: ObjectStore, heat: int
) -> None:
    put_first_version(racing_store)
    winners = [number for number, has_won in enumerate(race(racers.delete_or_replace, KEY)) if has_won]
    found = racing_store.get(KEY, size_max=100)
    left = [] if found is None else [found.body.decode()]
    assert (len(winners), left) == (1, [f"racer {number}" for number in winners if number % 2 == 0])


def test_no_increment_of_a_counter_is_lost(race: Race, racing_store: ObjectStore) -> None:
    racing_store.put(KEY, b"0")
    assert all(race(racers.increment, KEY))
    assert int(racers.read(racing_store, KEY).body) == RACER_COUNT * racers.INCREMENT_COUNT
