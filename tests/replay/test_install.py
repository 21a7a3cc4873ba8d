"""The library works without a home, in a directory it cannot write to, and with nothing in the environment."""

import subprocess
import sys
from pathlib import Path

import pytest

ROUND_TRIP = """
from s3_agent_memory import MemoryStore
store = MemoryStore.from_url({url!r})
store.remember("users/alice", "Alice is vegetarian")
print(store.recall("users/alice", "vegetarian")[0].memory.content)
"""


@pytest.fixture
def read_only_directory(tmp_path: Path) -> Path:
    directory = tmp_path / "read-only"
    directory.mkdir(mode=0o500)
    return directory


def run_bare(code: str, directory: Path, *options: str) -> str:
    """Run Python with an empty environment (no HOME) in a directory."""
    command = [sys.executable, "-B", *options, "-c", code]
    return subprocess.run(command, cwd=directory, env={}, check=True, capture_output=True, text=True).stdout


def test_a_store_in_memory_needs_nothing_of_the_machine(read_only_directory: Path) -> None:
    assert run_bare(ROUND_TRIP.format(url="memory://"), read_only_directory) == "Alice is vegetarian\n"


def test_a_store_in_a_temporary_directory_needs_no_other(read_only_directory: Path, tmp_path: Path) -> None:
    code = ROUND_TRIP.format(url=f"file://{tmp_path}/store")
    assert run_bare(code, read_only_directory) == "Alice is vegetarian\n"


@pytest.mark.parametrize("module", ["s3_agent_memory", "s3_agent_memory.bootstrap", "s3_agent_memory.edge.cli.main"])
def test_importing_writes_nothing(read_only_directory: Path, module: str) -> None:
    run_bare(f"import {module}", read_only_directory, "-W", "error")
    assert list(read_only_directory.iterdir()) == []


def test_opening_a_directory_store_and_reading_it_creates_nothing(tmp_path: Path) -> None:
    code = f"""
from s3_agent_memory import MemoryStore
store = MemoryStore.from_url("file://{tmp_path}/store")
print(list(store.recall("users/alice", "anything")), store.list("users/alice").memories, store.namespaces())
"""
    assert run_bare(code, tmp_path) == "[] () []\n"
    assert not (tmp_path / "store").exists()
