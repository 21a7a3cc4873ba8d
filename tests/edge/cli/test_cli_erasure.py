"""Erasing and verifying from the command line."""

from pathlib import Path

import pytest

from tests.edge.cli.conftest import Run


def contents(run: Run, namespace: str) -> list[str]:
    return sorted(memory["content"] for memory in run("list", "-n", namespace).document["memories"])


@pytest.fixture
def filled(run: Run) -> Run:
    for user in ("alice", "bob"):
        run("remember", f"of {user}", "--user-id", user, "-n", "shared")
    return run


def test_a_user_is_erased(filled: Run) -> None:
    outcome = filled("erase", "-n", "shared", "--confirm", "shared", "--user", "alice")
    assert (outcome.exit_code, outcome.document["memories"], contents(filled, "shared")) == (0, 1, ["of bob"])


def test_a_namespace_is_erased(filled: Run, store_url: str) -> None:
    outcome = filled("erase", "-n", "shared", "--confirm", "shared")
    assert (outcome.exit_code, outcome.document["is_finished"], contents(filled, "shared")) == (0, True, [])
    files = [path for path in Path(store_url.removeprefix("file://")).rglob("*") if path.is_file()]
    assert not [path for path in files if b"of alice" in path.read_bytes()]


def test_ids_are_erased(run: Run) -> None:
    for number in range(3):
        run("remember", f"number {number}", "--id", f"n{number}", "-n", "shared")
    run("erase", "-n", "shared", "--confirm", "shared", "--id", "n0", "--id", "n2")
    assert contents(run, "shared") == ["number 1"]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--confirm", "other"),
        ("--confirm", "shared", "--user", ""),
        ("--confirm", "shared", "--user", "alice", "--agent", "chef"),
    ],
)
def test_without_scope_and_confirmation_nothing_is_erased(filled: Run, options: tuple[str, ...]) -> None:
    assert filled("erase", "-n", "shared", *options).exit_code == 2
    assert contents(filled, "shared") == ["of alice", "of bob"]


def test_a_sound_namespace_is_verified(filled: Run) -> None:
    outcome = filled("verify", "-n", "shared")
    assert (outcome.exit_code, outcome.document["is_sound"], outcome.document["memories"]) == (0, True, 2)


def test_a_finding_says_what_to_do_and_ends_with_3(filled: Run, store_url: str) -> None:
    made = filled("remember", "broken", "--id", "broken", "-n", "shared").document
    (Path(store_url.removeprefix("file://")) / made["key"]).write_bytes(b"{")
    outcome = filled("verify", "-n", "shared")
    (finding,) = outcome.document["findings"]
    assert (outcome.exit_code, finding["kind"], finding["remedy"]) == (3, "memory_unreadable", "by hand")
