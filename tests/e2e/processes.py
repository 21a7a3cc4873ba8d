"""Commands that the suite runs, each with a time limit and with its output in the failure message."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
_OUTPUT_LENGTH_MAX = 8_000


def clean_environment() -> dict[str, str]:
    """Return this process's environment without whatever could lead a program to a real account or another store."""
    foreign = ("AWS_", "CDK_", "S3_AGENT_MEMORY_", "POWERTOOLS_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


def run(
    command: Sequence[str | Path], environment: Mapping[str, str], *, seconds: float, directory: Path = PROJECT
) -> str:
    """Run a command to its end and return its standard output; fail unless it ends well and in time."""
    with subprocess.Popen(
        [str(word) for word in command],
        env=dict(environment),
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A group of its own, so that its children end with it.
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            errors += f"\nnot done after {seconds:g} s"
    if process.returncode:
        told = (output + errors)[-_OUTPUT_LENGTH_MAX:]
        raise AssertionError(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{told}")
    return output
