"""The grammar of the command line: where options may stand, what help says, what is refused."""

import argparse
import subprocess
import sys

import pytest

from s3_agent_memory.edge.cli.errors import UsageError
from s3_agent_memory.edge.cli.main import build_parser
from tests.edge.cli.conftest import COMMANDS, Run


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


def test_a_wrong_command_line_is_one_line_and_a_hint_to_the_help_of_the_command(run: Run) -> None:
    assert run("remember", "x", "--data", "{").err.splitlines() == [
        "error: argument --data: not valid JSON [validation]",
        "hint: `s3-agent-memory remember --help` says what is allowed",
    ]


def test_a_command_of_two_words_hints_at_its_own_help(run: Run) -> None:
    assert "`s3-agent-memory token create --help`" in run("token", "create").err


def test_an_argument_that_is_repeated_in_an_error_stays_on_one_line(run: Run) -> None:
    assert "a\\nb\\x1b[31m [validation]" in run("stats", "a\nb\x1b[31m").err.splitlines()[0]


@pytest.mark.parametrize("days", ["0", "-1", "nan", "soon"])
@pytest.mark.parametrize("command", [["remember", "x"], ["update", "x"], ["token", "create", "--principal", "p"]])
def test_a_time_to_live_that_is_wrong_is_told_in_days(run: Run, command: list[str], days: str) -> None:
    assert "--ttl-days: must be a positive number of days" in run(*command, "--ttl-days", days).err


def test_options_are_not_abbreviated() -> None:
    with pytest.raises(UsageError):
        build_parser().parse_args(["remember", "x", "--imp", "1"])


@pytest.mark.parametrize(
    "words",
    ["semantic: a fact", "(default: semantic)", "(default: 0.5)", "days until it expires (default: never)"],
)
def test_help_of_remember_names_the_kinds_and_the_defaults(run: Run, words: str) -> None:
    assert words in " ".join(run("remember", "--help").out.split())


def test_the_parser_is_a_plain_argparse_parser() -> None:
    assert isinstance(build_parser(), argparse.ArgumentParser)


def test_help_loads_neither_numpy_nor_boto3_nor_tqdm() -> None:
    code = (
        "import sys\nfrom s3_agent_memory.edge.cli.main import build_parser\nbuild_parser().format_help()\n"
        "print(sorted({'numpy', 'boto3', 'tqdm'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
