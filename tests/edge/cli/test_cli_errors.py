"""Exit codes and messages of commands that cannot do what was asked."""

import errno
from pathlib import Path

import pytest

from s3_agent_memory import bootstrap, errors, names
from s3_agent_memory.edge.cli import commands as cli_commands
from s3_agent_memory.edge.cli.errors import describe_error
from tests.edge.cli.conftest import Run

ALICE = ("-n", "users/alice")


@pytest.mark.parametrize(
    "argv",
    [
        ["get", "nothing"],
        ["forget", "nothing"],
        ["update", "nothing", "--content", "x"],
        ["token", "revoke", "0123456789"],
    ],
)
def test_what_is_not_there_exits_with_1(run: Run, argv: list[str]) -> None:
    assert run(*argv).exit_code == 1


@pytest.mark.parametrize(
    "argv",
    [
        ["remember", ""],
        ["remember", "x" * (16 * 1024 + 1)],
        ["remember", "x", "--importance", "1.5"],
        ["remember", "x", "--importance", "nan"],
        ["remember", "x", "--ttl-days", "0"],
        ["remember", "x", "--ttl-days", "-1"],
        ["remember", "x", "--ttl-days", "nan"],
        ["remember", "x", "--ttl-days", "inf"],
        ["remember", "x", "--ttl-days", "1e300"],
        ["remember", "x", "--id", "../escape"],
        ["remember", "x", "--id", ""],
        ["remember", "x", "--tag", ""],
        ["remember", "x", "--tag", " padded "],
        ["remember", "x", "--data", "[1]"],
        ["remember", "x", "--metadata", '"text"'],
        ["remember", "x", "--data", '{"a": "\\ud800"}'],
        ["remember", "x", "-n", "users/../bob"],
        ["remember", "x", "-n", ""],
        ["remember", "x", "-n", "users/*"],
        ["remember", "x", "--url", "ftp://host/dir"],
        ["remember", "x", "--url", "s3://[bad"],
        ["remember", "x", "--url", "file://~nobody-has-this-name/q"],
        ["recall", "q", "--limit", "0"],
        ["recall", "q", "--limit", "-1"],
        ["recall", "q", "--limit", "5000"],
        ["recall", "q" * 2_001],
        ["recall", "q", "--filter", '{"unknown": 1}'],
        ["recall", "q", "--filter", '{"data.a": {"$near": 1}}'],
        ["recall", "q", "--filter", "[]"],
        ["list", "--cursor", "foreign"],
        ["list", "--limit", "0"],
        ["get", "../escape"],
        ["get", "x" * 129],
        ["update", "x"],
        ["update", "x", "--tag", "a", "--clear", "tags"],
        ["update", "x", "--content", "y", "--expected-version", "0"],
        ["import", "/does/not/exist.jsonl"],
        ["import", "/"],
        ["export", "-o", "/"],
        ["export", "-o", "/does/not/exist/file.jsonl"],
        ["export", "-o", "n" * 300],
        ["namespaces", "users/*"],
        ["token", "create", "--principal", ""],
        ["token", "create", "--principal", "p", "--ttl-days", "0"],
        ["token", "create", "--principal", "p", "-n", "a", "--namespace-prefix", "b"],
        ["token", "create", "--principal", "p", "-n", "a/*"],
        ["token", "revoke", "zz"],
    ],
    ids=lambda argv: " ".join(argv)[:48],
)
def test_a_wrong_request_exits_with_2(run: Run, argv: list[str]) -> None:
    outcome = run(*argv)
    assert (outcome.exit_code, outcome.out) == (2, ""), outcome.err


def test_a_wrong_change_of_a_memory_exits_with_2(run: Run) -> None:
    run("remember", "one", "--id", "mine", *ALICE)
    assert run("update", "mine", "--content", "", *ALICE).exit_code == 2


def test_a_stale_version_exits_with_3(run: Run) -> None:
    run("remember", "one", "--id", "mine", *ALICE)
    assert run("update", "mine", "--content", "two", "--expected-version", "7", *ALICE).exit_code == 3


def test_an_id_that_exists_exits_with_3(run: Run) -> None:
    run("remember", "one", "--id", "mine", *ALICE)
    assert run("remember", "two", "--id", "mine", *ALICE).exit_code == 3


def test_a_forgotten_id_says_how_to_use_it_again(run: Run) -> None:
    run("remember", "one", "--id", "mine", *ALICE)
    run("forget", "mine", *ALICE)
    outcome = run("remember", "two", "--id", "mine", *ALICE)
    assert (outcome.exit_code, "--resurrect" in outcome.err) == (3, True)


def test_a_broken_object_exits_with_3_and_names_its_key(run: Run, tmp_path: Path) -> None:
    key = run("remember", "one", "--id", "mine", *ALICE).document["key"]
    (tmp_path / "store" / key).write_text("{", "utf-8")
    outcome = run("get", "mine", *ALICE)
    assert (outcome.exit_code, key in outcome.err) == (3, True)


def test_a_store_that_cannot_be_reached_exits_with_3(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv(names.ENV_ENDPOINT_URL, "http://127.0.0.1:1")
    assert run("remember", "x", "--url", "s3://bucket").exit_code == 3


def test_an_error_is_one_line_with_its_code_and_a_next_step(run: Run) -> None:
    lines = run("get", "nothing").err.splitlines()
    assert [lines[0].startswith("error: "), lines[0].endswith("[not_found]"), lines[1][:6]] == [True, True, "hint: "]


def test_a_token_that_is_not_there_hints_at_the_list_of_tokens(run: Run) -> None:
    assert run("token", "revoke", "0123456789").err.splitlines()[1] == "hint: `token list` shows the tokens there are"


def test_an_error_of_the_system_names_its_reason_and_its_file(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_settings: bootstrap.Settings) -> None:
        raise OSError(errno.EMFILE, "Too many open files", "/some/file")

    monkeypatch.setattr(cli_commands, "_open", fail)
    outcome = run("stats")
    expected = "error: the system refused: Too many open files: /some/file [system]\n"
    assert (outcome.exit_code, outcome.err) == (3, expected)


def test_a_working_directory_that_is_gone_is_not_blamed_on_standard_output(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    outcome = run("list", "--url", "file://./store")
    assert (outcome.exit_code, "standard output" in outcome.err) == (3, False)


def test_an_error_leaves_standard_output_empty(run: Run) -> None:
    assert run("get", "nothing").out == ""


def test_an_interrupt_exits_with_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_settings: bootstrap.Settings) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_commands, "_open", interrupt)
    outcome = run("stats")
    assert (outcome.exit_code, outcome.err) == (130, "interrupted\n")


@pytest.mark.parametrize(
    "error",
    [
        errors.BackendError("the storage answered 500"),
        errors.ThrottledError("slow down"),
        errors.AccessDeniedError("no"),
        errors.UnknownOutcomeError("no answer"),
    ],
)
def test_what_the_storage_refuses_exits_with_3(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: errors.AgentMemoryError
) -> None:
    def fail(_settings: bootstrap.Settings) -> None:
        raise error

    monkeypatch.setattr(cli_commands, "_open", fail)
    outcome = run("stats")
    assert (outcome.exit_code, outcome.err) == (3, describe_error(error) + "\n")
