"""The guard around suites that start processes: it passes an end on, and makes one where there is none."""

import os
import sys
from pathlib import Path
from select import select

import pytest

from tests.faults.guard import EXIT_TIMED_OUT, guard

WAITS_FOR_EVER = "import threading; threading.Event().wait()"
STARTS_ANOTHER = """
import os, subprocess, sys
held = os.open(sys.argv[1], os.O_WRONLY)
other = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"], pass_fds=[held])
"""
AND_WAITS, AND_ENDS = "other.wait()", ""
END_SECONDS_MAX = 30


def test_an_exit_code_is_passed_on() -> None:
    assert guard([sys.executable, "-c", "raise SystemExit(7)"], seconds=60) == 7


def test_whoever_waits_for_ever_is_ended_and_says_where(capfd: pytest.CaptureFixture[str]) -> None:
    assert guard([sys.executable, "-c", WAITS_FOR_EVER], seconds=1) == EXIT_TIMED_OUT
    assert "did not end within 1 s" in (said := capfd.readouterr().err)
    assert "threading.py" in said


@pytest.mark.parametrize(("then", "seconds"), [(AND_WAITS, 5), (AND_ENDS, 60)], ids=["waits", "ends"])
def test_nobody_is_left_behind(tmp_path: Path, then: str, seconds: float) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        guard([sys.executable, "-c", STARTS_ANOTHER + then, str(pipe)], seconds=seconds)
        # The pipe ends when nobody holds it any more.
        has_ended, _, _ = select([reading], [], [], END_SECONDS_MAX)
        assert has_ended
    finally:
        os.close(reading)
