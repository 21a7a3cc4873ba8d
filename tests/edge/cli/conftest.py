"""Runs the command line, in this process or in one of its own, over a store in a directory of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from s3_agent_memory import names
from s3_agent_memory.edge.cli import main as cli


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    exit_code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document on standard output."""
        return json.loads(self.out)


Run = Callable[..., Outcome]

COMMANDS = (
    *"remember recall get forget update list prune reindex sweep erase verify stats".split(),
    *"namespaces export import serve".split(),
    "supersede",
    "history",
    "consolidate",
    "consolidate undo",
    "consolidate runs",
    "token create",
    "token list",
    "token revoke",
    "cost",
)
PROGRAM = [sys.executable, "-c", "import sys; from s3_agent_memory.edge.cli.main import main; sys.exit(main())"]
TIMEOUT_SECONDS = 120


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    """The address of an empty store."""
    return f"file://{tmp_path}/store"


@pytest.fixture
def run(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs one command line over the empty store."""
    for name in (names.ENV_NAMESPACE, names.ENV_ENDPOINT_URL):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(names.ENV_URL, store_url)

    def run_command(*argv: str) -> Outcome:
        capsys.readouterr()
        try:
            exit_code = cli.main(argv)
        except SystemExit as stop:
            exit_code = int(stop.code or 0)
        captured = capsys.readouterr()
        return Outcome(exit_code, captured.out, captured.err)

    return run_command


@pytest.fixture
def environment(store_url: str) -> dict[str, str]:
    """An environment that points at the empty store, in a poor locale and without a home."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "TMPDIR")}
    return {**kept, names.ENV_URL: store_url, names.ENV_NAMESPACE: "users/alice"}


def run_process(environment: dict[str, str], *argv: str | bytes) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own."""
    return subprocess.run([*PROGRAM, *argv], env=environment, capture_output=True, check=False, timeout=TIMEOUT_SECONDS)


def run_redirected(environment: dict[str, str], redirection: str, *argv: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own, with a shell's redirection such as ``>&-``."""
    shell = ["sh", "-c", f'exec "$@" {redirection}', "sh", *PROGRAM, *argv]
    return subprocess.run(shell, env=environment, capture_output=True, check=False, timeout=TIMEOUT_SECONDS)
