"""Every command of the command line is in the README."""

import argparse
from collections.abc import Iterator

import pytest

from tests.architecture.project import ROOT

cli = pytest.importorskip("s3_agent_memory.edge.cli.main")


def commands(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the full name of every command that has no sub-commands of its own, such as ``token create``."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        yield " ".join(path)
    for group in groups:
        for name, child in group.choices.items():
            yield from commands(child, (*path, name))


def test_every_command_is_documented_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    missing = [name for name in commands(cli.build_parser()) if f"s3-agent-memory {name}" not in readme]
    assert not missing, f"not in README.md: {missing}"
