"""Facts that change, on the command line."""

from typing import Any

from tests.edge.cli.conftest import Run

ALICE = ("-n", "users/alice")


def remember(run: Run, *options: str) -> None:
    assert run("remember", "Alice lives in Oslo", "--id", "oslo", *options, *ALICE).exit_code == 0


def supersede(run: Run, *options: str) -> dict[str, Any]:
    outcome = run("supersede", "oslo", "Alice lives in Rome", "--new-id", "rome", *options, *ALICE)
    assert outcome.exit_code == 0, outcome.err
    memory: dict[str, Any] = outcome.document["memory"]
    return memory


def listed(run: Run, *options: str) -> list[str]:
    return [memory["id"] for memory in run("list", *options, *ALICE).document["memories"]]


def test_supersede_stores_what_its_options_say(run: Run) -> None:
    remember(run, "--tag", "home")
    options = ("--source", "chat:2", "--importance", "0.9", "--valid-from", "2020-05-01", "--pin", "--ttl-days", "7")
    memory = supersede(run, *options)
    assert (memory["source"], memory["importance"], memory["tags"], memory["pinned"]) == ("chat:2", 0.9, ["home"], True)
    assert memory["valid_from"] == "2020-05-01T00:00:00.000000Z"
    assert memory["expires_at"] is not None


def test_as_of_shows_what_was_true_then(run: Run) -> None:
    remember(run, "--valid-from", "2020-01-01")
    supersede(run, "--valid-from", "2024-05-01")
    assert (listed(run), listed(run, "--as-of", "2024-04-30")) == (["rome"], ["oslo"])
    hits = run("recall", "lives", "--as-of", "2024-05-01", *ALICE).document["hits"]
    assert [hit["memory"]["id"] for hit in hits] == ["rome"]


def test_an_update_ends_a_memory_and_clear_opens_it_again(run: Run) -> None:
    remember(run, "--valid-from", "2020-01-01")
    run("update", "oslo", "--valid-to", "2021-01-01", *ALICE)
    assert listed(run) == []
    run("update", "oslo", "--clear", "valid-to", "--no-pin", *ALICE)
    assert listed(run) == ["oslo"]


def test_history_shows_versions_and_chain(run: Run) -> None:
    remember(run)
    run("update", "oslo", "--source", "chat:1", *ALICE)
    supersede(run)
    document = run("history", "oslo", *ALICE).document
    assert [item["version"] for item in document["versions"]] == [1, 2]
    assert [item["id"] for item in document["successors"]] == ["rome"]


def test_wrong_input_says_what_is_allowed(run: Run) -> None:
    remember(run)
    assert run("supersede", "oslo", "new", "--valid-from", "soon", *ALICE).exit_code == 2
    assert run("supersede", "oslo", "new", "--expected-version", "7", *ALICE).exit_code == 3
    assert run("supersede", "never-was", "new", *ALICE).exit_code == 1
    assert run("history", "never-was", *ALICE).exit_code == 1
    assert listed(run) == ["oslo"]
