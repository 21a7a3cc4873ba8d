"""Ctrl-C, whenever it comes: exit code 130, one line and no traceback. The processes interrupt themselves."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.edge.cli.conftest import TIMEOUT_SECONDS, run_process

INTERRUPT = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
# Like a module that reports whatever happens while it loads as an error of its own.
INTERRUPT_TURNED_INTO_ANOTHER_ERROR = f"""
try:
    {INTERRUPT.replace(chr(10), "; ")}
except BaseException:
    raise ImportError("cannot load") from None
"""
# Runs main() as the installed command does, with a command that does ``COMMAND``.
SCRIPT = """
import atexit, os, signal, sys
from s3_agent_memory.edge.cli import main as cli
from s3_agent_memory.edge.cli import program as cli_program

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

def run(argv, *, begin):
    begin()
    COMMAND
    return 0

cli_program.run = run
sys.exit(cli.main())
"""


@pytest.fixture(autouse=True)
def interrupts_are_heard() -> Iterator[None]:
    """Tests started in the background ignore interrupts, and so would every process they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("code", [INTERRUPT, INTERRUPT_TURNED_INTO_ANOTHER_ERROR], ids=["plain", "turned"])
@pytest.mark.parametrize("module", ["argparse", "numpy"])
def test_an_interrupt_while_modules_load(environment: dict[str, str], tmp_path: Path, module: str, code: str) -> None:
    (tmp_path / f"{module}.py").write_text(code, "utf-8")
    path = os.pathsep.join([str(tmp_path), *filter(None, [environment.get("PYTHONPATH")])])
    done = run_process({**environment, "PYTHONPATH": path}, "stats")
    assert (done.returncode, done.stderr) == (130, b"interrupted\n")


@pytest.mark.parametrize(
    "command", ["interrupt()", "atexit.register(interrupt)"], ids=["while it works", "while the process ends"]
)
def test_an_interrupt_after_that(environment: dict[str, str], command: str) -> None:
    done = run_script(environment, command)
    assert (done.returncode, done.stderr) == (130, b"interrupted\n")


def test_a_process_that_was_started_to_ignore_interrupts_ignores_them(environment: dict[str, str]) -> None:
    done = run_script(environment, "interrupt()", shell="trap '' INT; ")
    assert (done.returncode, done.stderr) == (0, b"")


def run_script(environment: dict[str, str], command: str, *, shell: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run the script by a shell that first does what ``shell`` says."""
    program = [sys.executable, "-c", SCRIPT.replace("COMMAND", command)]
    return subprocess.run(
        ["sh", "-c", f'{shell}exec "$@"', "sh", *program],
        env=environment,
        capture_output=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
