"""A writer is killed at any point: readers never see half an object, and the next writer is not held up."""

import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from s3_agent_memory.domain.clock import SystemClock, SystemEntropy
from s3_agent_memory.storage.filesystem import FilesystemObjectStore
from tests.unit.storage.killed_writer import KEY, is_whole, sealed_body

PROJECT = Path(__file__).parents[3]
KILL_COUNT = 30
READ_COUNT_MAX = 1_000_000
SIZE_MAX = 10_000_000


@pytest.fixture
def store(tmp_path: Path) -> FilesystemObjectStore:
    return FilesystemObjectStore(tmp_path, clock=SystemClock(), entropy=SystemEntropy())


def start_writer(root: Path, mode: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.unit.storage.killed_writer", str(root), mode]
    return subprocess.Popen(command, cwd=PROJECT)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("function", ["utime", "fsync", "replace"])
def test_a_writer_killed_around_a_system_call_leaves_the_old_or_the_new_object(
    store: FilesystemObjectStore, tmp_path: Path, function: str, moment: str
) -> None:
    store.put(KEY, b"old")
    assert start_writer(tmp_path, f"{function}:{moment}").wait() == -signal.SIGKILL
    found = store.get(KEY, size_max=SIZE_MAX)
    has_new = (function, moment) == ("replace", "after")
    assert found is not None
    assert found.body == (sealed_body(0) if has_new else b"old")


@pytest.mark.parametrize("function", ["utime", "fsync", "replace"])
def test_a_killed_writer_holds_up_nobody(store: FilesystemObjectStore, tmp_path: Path, function: str) -> None:
    start_writer(tmp_path, f"{function}:before").wait()
    etag = store.put(KEY, b"next", if_absent=True)
    assert [(row.key, row.etag) for row in store.list_page("").objects] == [(KEY, etag)]


def test_no_object_is_torn_however_often_its_writer_is_killed(store: FilesystemObjectStore, tmp_path: Path) -> None:
    seed = 20_261
    random = Random(seed)
    for kill in range(KILL_COUNT):
        writer = start_writer(tmp_path, "endless")
        bodies = read_versions(store, count=random.randint(2, 6))
        writer.kill()
        writer.wait()
        bodies.append(read_versions(store, count=1)[0])
        assert all(map(is_whole, bodies)), f"seed {seed}, kill {kill}"


def read_versions(store: FilesystemObjectStore, *, count: int) -> list[bytes]:
    """Read until so many versions were seen; returns their bodies."""
    bodies: dict[str, bytes] = {}
    for _ in range(READ_COUNT_MAX):
        found = store.get(KEY, size_max=SIZE_MAX)
        if found is not None:
            bodies[found.etag] = found.body
        if len(bodies) >= count:
            return list(bodies.values())
    raise AssertionError("the writer writes nothing")
