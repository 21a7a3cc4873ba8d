"""A compiled graph with checkpoints and this store goes on in the next process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS_MAX = 180


def run_process(*arguments: str, **environment: str) -> str:
    run = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **environment},
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def say(directory: Path, thread: str, message: str) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(
        run_process("-m", "tests.integrations.langgraph_program", str(directory), thread, message)
    )
    return state


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What three processes end with: one is told something, one goes on, one begins another conversation."""
    directory = tmp_path_factory.mktemp("graph")
    turns = (("first", "I am vegetarian"), ("first", "I live in Rome"), ("second", "What may a vegetarian eat?"))
    return [say(directory, thread, message) for thread, message in turns]


def test_the_first_process_knows_nothing(states: list[dict[str, Any]]) -> None:
    assert states[0]["facts"] == []


def test_the_next_process_remembers_by_the_store(states: list[dict[str, Any]]) -> None:
    assert states[1]["facts"] == ["I am vegetarian"]


def test_the_next_process_goes_on_by_the_checkpoint(states: list[dict[str, Any]]) -> None:
    assert [state["turn"] for state in states] == [1, 2, 1]


def test_another_conversation_remembers_what_fits_first(states: list[dict[str, Any]]) -> None:
    assert states[2]["facts"] == ["I am vegetarian", "I live in Rome"]


def test_the_example_runs_twice_and_remembers(tmp_path: Path) -> None:
    first, second = (run_process("examples/langgraph_agent.py", URL=f"file://{tmp_path}") for _ in range(2))
    assert "I know about you: nothing yet" in first
    assert "nothing yet" not in second
