"""The command ``consolidate`` over a store in a directory."""

import pytest

from tests.edge.cli.conftest import Run

ALICE = ("-n", "users/alice")


@pytest.fixture
def told_twice(run: Run) -> Run:
    """A command line over a store in which one fact lies twice."""
    for text in ("Bob doesn't like tea", "bob dislikes tea", "Bob likes tea"):
        run("remember", text, *ALICE)
    return run


def count(run: Run) -> int:
    return len(run("list", *ALICE).document["memories"])


def test_a_dry_run_shows_the_texts_and_changes_nothing(told_twice: Run) -> None:
    (group,) = told_twice("consolidate", "--dry-run", *ALICE).document["groups"]
    assert [item["content"] for item in group["originals"]] == ["Bob doesn't like tea", "bob dislikes tea"]
    assert count(told_twice) == 3


def test_consolidate_merges_and_undo_restores(told_twice: Run) -> None:
    before = told_twice("export", *ALICE).out
    run_id = told_twice("consolidate", *ALICE).document["id"]
    assert count(told_twice) == 2
    assert told_twice("consolidate", "undo", run_id, *ALICE).document["restored"] == 2
    after = told_twice("export", *ALICE).out
    assert (count(told_twice), sorted(after.splitlines()[:3])) == (3, sorted(before.splitlines()[:3]))


def test_runs_are_listed_without_their_merges(told_twice: Run) -> None:
    run_id = told_twice("consolidate", "--undo-days", "0", *ALICE).document["id"]
    (shown,) = told_twice("consolidate", "runs", *ALICE).document["runs"]
    assert (shown["id"], shown["state"], "merges" in shown) == (run_id, "settled", False)
    assert told_twice("consolidate", "undo", run_id, *ALICE).exit_code == 3


def test_only_the_kind_that_is_named_is_merged(told_twice: Run) -> None:
    assert told_twice("consolidate", "--kind", "episodic", *ALICE).document["merges"] == []


@pytest.mark.parametrize(
    "options",
    [("--threshold", "2"), ("--undo-days", "-1"), ("--merges", "0"), ("--summariser", "longest", "--model", "m")],
)
def test_a_wrong_option_is_a_validation_error(told_twice: Run, options: tuple[str, ...]) -> None:
    assert told_twice("consolidate", *options, *ALICE).exit_code == 2
    assert count(told_twice) == 3


def test_a_run_that_nobody_knows_is_not_found(told_twice: Run) -> None:
    assert told_twice("consolidate", "undo", "nobody", *ALICE).exit_code == 1
