"""The installed command as real processes: pipes, signals of the shell, and several at once."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.edge.cli.conftest import PROGRAM, TIMEOUT_SECONDS, run_process


def test_the_installed_command_answers(environment: dict[str, str]) -> None:
    program = Path(sys.executable).with_name("s3-agent-memory")
    done = subprocess.run([program, "stats"], env=environment, capture_output=True, timeout=TIMEOUT_SECONDS, check=True)
    assert json.loads(done.stdout)["memories"] == 0


def test_text_is_utf8_whatever_the_locale(environment: dict[str, str]) -> None:
    environment |= {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "latin-1"}
    done = run_process(environment, "list")
    assert done.returncode == 0, done.stderr
    environment |= {"PYTHONUTF8": "1"}
    assert "用户身份 🎉".encode() in run_process(environment, "remember", "用户身份 🎉").stdout


def test_an_argument_that_is_not_utf8_exits_with_2(environment: dict[str, str]) -> None:
    done = run_process(environment, "remember", b"\xff\xfe")
    assert (done.returncode, b"not valid UTF-8" in done.stderr) == (2, True)


def test_an_error_shows_no_traceback(environment: dict[str, str]) -> None:
    done = run_process(environment, "get", "nothing")
    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)


def test_a_reader_that_goes_away_is_no_error(environment: dict[str, str]) -> None:
    for number in range(3):
        run_process(environment, "remember", f"memory {number}")
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [*PROGRAM, "export"],
        env=environment,
        stdout=write_end,
        stderr=subprocess.PIPE,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (141, b"")


def test_export_flows_into_import_through_a_pipe(environment: dict[str, str]) -> None:
    run_process(environment, "remember", "Alice is vegetarian")
    exporting = subprocess.Popen([*PROGRAM, "export"], env=environment, stdout=subprocess.PIPE)
    importing = subprocess.run(
        [*PROGRAM, "import", "-", "-n", "users/bob"],
        env=environment,
        stdin=exporting.stdout,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    assert exporting.stdout is not None
    exporting.stdout.close()
    assert (exporting.wait(TIMEOUT_SECONDS), json.loads(importing.stdout)["imported"]) == (0, 1)


def test_eight_processes_that_remember_at_once_lose_nothing(environment: dict[str, str]) -> None:
    processes = [
        subprocess.Popen(
            [*PROGRAM, "remember", f"ramen shop number {number}"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for number in range(8)
    ]
    outcomes = [(process.communicate(timeout=TIMEOUT_SECONDS)[1], process.returncode) for process in processes]
    assert outcomes == [(b"", 0)] * 8
    hits = json.loads(run_process(environment, "recall", "ramen").stdout)["hits"]
    assert {hit["memory"]["content"] for hit in hits} == {f"ramen shop number {number}" for number in range(8)}
