"""Runs the command line in this process, over a store in a directory of its own."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from s3_agent_memory import names
from s3_agent_memory.edge import cli


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
