"""The synopsis in the README names every option of every command."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from s3_agent_memory.edge.cli.main import build_parser

README = Path(__file__).resolve().parents[3] / "README.md"
EVERYWHERE = {"-h", "--help", "--url", "-n", "--namespace", "--embeddings", "--embedding-model"}


def options(parser: argparse.ArgumentParser, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield command and option, in its shortest spelling, for every option that is not one of every command's."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                yield from options(child, f"{path} {name}".strip())
        elif path and action.option_strings and not EVERYWHERE & set(action.option_strings):
            yield path, action.option_strings[0]


@pytest.mark.parametrize(("command", "option"), sorted(options(build_parser())))
def test_the_synopsis_names_the_option(command: str, option: str) -> None:
    entries = re.findall(rf"^s3-agent-memory {command}\b.*(?:\n .*)*", README.read_text("utf-8"), re.MULTILINE)
    assert [entry for entry in entries if option in entry] != []
