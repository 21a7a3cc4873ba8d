"""The grammar of the command line: where options may stand, what help says, what is refused."""

import argparse
import subprocess
import sys

import pytest

from s3_agent_memory.edge.cli import build_parser
from tests.edge.cli.conftest import Run

COMMANDS = ("remember recall get forget update list prune reindex sweep stats namespaces export import".split()) + [
    "token create",
    "token list",
    "token revoke",
]


@pytest.mark.parametrize("argv", [["-n", "users/alice", "stats"], ["stats", "-n", "users/alice"]])
def test_the_namespace_may_stand_before_and_after_the_command(argv: list[str]) -> None:
    assert build_parser().parse_args(argv).namespace == "users/alice"


def test_the_namespace_after_the_command_wins() -> None:
    assert build_parser().parse_args(["-n", "before", "stats", "-n", "after"]).namespace == "after"


def test_the_url_may_stand_before_a_command_of_two_words() -> None:
    assert build_parser().parse_args(["--url", "memory://", "token", "list"]).url == "memory://"


def test_what_was_not_given_is_left_to_the_settings() -> None:
    assert not hasattr(build_parser().parse_args(["stats"]), "namespace")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(run: Run, command: str) -> None:
    assert f"examples:\n  s3-agent-memory {command}" in run(*command.split(), "--help").out


def test_help_of_the_program_names_every_exit_code(run: Run) -> None:
    assert "0 ok, 1 not found, 2 validation error, 3 conflict or backend error" in run("--help").out


def test_help_exits_with_0(run: Run) -> None:
    assert run("--help").exit_code == 0


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version").out.startswith("s3-agent-memory ")


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["token"],
        ["unknown"],
        ["remember"],
        ["recall", "q", "--limit", "abc"],
        ["remember", "x", "--kind", "nonsense"],
        ["remember", "x", "--data", "{"],
        ["remember", "x", "--data", '{"a": NaN}'],
        ["recall", "q", "--filter", "city=Rome"],
        ["update", "x", "--clear", "content"],
        ["token", "create", "--principal", "p", "--permission", "everything"],
        ["remember", "\udcff"],
        ["stats", "-n", "\udcff"],
    ],
)
def test_a_wrong_command_line_exits_with_2(run: Run, argv: list[str]) -> None:
    assert run(*argv).exit_code == 2


def test_a_wrong_command_line_says_what_is_wrong(run: Run) -> None:
    assert "argument --data: not valid JSON" in run("remember", "x", "--data", "{").err


def test_options_are_not_abbreviated() -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["remember", "x", "--imp", "1"])


def test_the_parser_is_a_plain_argparse_parser() -> None:
    assert isinstance(build_parser(), argparse.ArgumentParser)


def test_help_loads_neither_numpy_nor_boto3_nor_tqdm() -> None:
    code = (
        "import sys\nfrom s3_agent_memory.edge.cli import build_parser\nbuild_parser().format_help()\n"
        "print(sorted({'numpy', 'boto3', 'tqdm'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
