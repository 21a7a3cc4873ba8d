"""The event feed and migrations by the command line."""

import json
import signal
import subprocess
from itertools import islice
from pathlib import Path

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.edge.cli.transfer import follow
from tests.edge.cli.conftest import PROGRAM, Run

ALICE = ("-n", "users/alice")
FILES = Path(__file__).parents[2] / "unit" / "service" / "migrations"


def test_events_show_what_changed_since_a_cursor(run: Run) -> None:
    cursor = run("events", "--cursor", "now", *ALICE).document["cursor"]
    run("remember", "a secret", "--id", "diet", *ALICE)
    outcome = run("events", "--cursor", cursor, *ALICE)
    (event,) = outcome.document["events"]
    assert {name: event[name] for name in ("type", "id", "kind", "version")} == {
        "type": "created",
        "id": "diet",
        "kind": "semantic",
        "version": 1,
    }
    assert "secret" not in outcome.out


def test_events_of_a_wrong_cursor_or_limit_are_a_validation_error(run: Run) -> None:
    assert run("events", "--cursor", "x", *ALICE).exit_code == 2
    assert run("events", "--limit", "0", *ALICE).exit_code == 2
    assert run("events", "--follow", "--interval", "0", *ALICE).exit_code == 2


def test_following_waits_when_there_is_nothing_more() -> None:
    store = MemoryStore.from_url("memory://")
    store.remember("users/alice", "one", id="one")
    waits = iter(["two", "three"])

    def wait() -> None:
        name = next(waits)
        store.remember("users/alice", name, id=name)

    pages = list(islice(follow(store, "users/alice", None, limit=10, wait=wait), 3))
    assert [[event.id for event in page.events] for page in pages] == [["one"], ["two"], ["three"]]


def test_following_writes_a_page_a_line_until_it_is_interrupted(tmp_path: Path) -> None:
    url = f"file://{tmp_path}"
    store = MemoryStore.from_url(url)
    store.remember("users/alice", "one", id="one")
    command = [*PROGRAM, "events", "--follow", "--url", url, *ALICE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        page = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert ([event["id"] for event in page["events"]], process.returncode) == (["one"], 130)


def test_migrate_reads_a_file_once(run: Run) -> None:
    command = ("migrate", "mem0", str(FILES / "mem0.json"), *ALICE)
    planned = run(*command, "--dry-run").document
    first, again = run(*command), run(*command)
    assert (planned["imported"], planned["dry_run"]) == (3, True)
    assert (first.exit_code, first.document["imported"], again.document["skipped"]) == (2, 3, 3)


def test_migrate_of_an_unknown_format_is_a_usage_error(run: Run) -> None:
    assert run("migrate", "other", "x", *ALICE).exit_code == 2
