"""Standard streams that are closed, full or no longer read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.edge.cli.conftest import COMMANDS, PROGRAM, TIMEOUT_SECONDS, Run, run_process, run_redirected

needs_dev_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
CLOSED = "error: standard output is closed; send it to /dev/null if nobody reads it [output]\n"


@pytest.mark.parametrize("command", [*COMMANDS, "--help", "--version"])
def test_every_command_refuses_a_standard_output_that_is_closed(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    outcome = run(*command.split())
    assert (outcome.exit_code, outcome.err) == (3, CLOSED)


def test_nothing_is_stored_if_standard_output_is_closed(environment: dict[str, str], tmp_path: Path) -> None:
    done = run_redirected(environment, ">&-", "remember", "x")
    assert (done.returncode, done.stderr.decode(), list(tmp_path.iterdir())) == (3, CLOSED, [])


def test_a_standard_input_that_is_closed_exits_with_2(environment: dict[str, str]) -> None:
    done = run_redirected(environment, "<&-", "import", "-")
    assert (done.returncode, done.stderr[:32]) == (2, b"error: standard input is closed;")


@needs_dev_full
@pytest.mark.parametrize("command", ["stats", "export", "--help", "--version", "token list --help"])
def test_a_full_disk_under_standard_output_is_one_line(environment: dict[str, str], command: str) -> None:
    run_process(environment, "remember", "x")
    done = run_redirected(environment, ">/dev/full", *command.split())
    expected = b"error: cannot write standard output: No space left on device [output]\n"
    assert (done.returncode, done.stderr) == (3, expected)


@needs_dev_full
@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_the_exit_code_is_right_where_standard_error_cannot_be_written(
    environment: dict[str, str], redirection: str
) -> None:
    done = run_redirected(environment, redirection, "get", "nothing")
    assert (done.returncode, done.stdout) == (1, b"")


def test_help_that_nobody_reads_is_no_error(environment: dict[str, str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [*PROGRAM, "--help"],
        env=environment,
        stdout=write_end,
        stderr=subprocess.PIPE,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (141, b"")
