"""Export and import by the command line."""

import io
import json
import sys
from pathlib import Path

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.edge.cli.output import progress_bar
from s3_agent_memory.edge.cli.streams import bounded_lines
from s3_agent_memory.errors import BackendError, ValidationError
from s3_agent_memory.service.results import ImportReport, LineError
from tests.edge.cli.conftest import Run

ALICE = ("-n", "users/alice")
BOB = ("-n", "users/bob")


def feed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Put text on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))


def without_place(line: str) -> dict[str, object]:
    """Return a memory without what an import into another namespace changes."""
    document: dict[str, object] = json.loads(line)
    return {name: value for name, value in document.items() if name not in ("namespace", "updated_at")}


def fill(run: Run) -> None:
    """Give Alice two memories."""
    run("remember", "Alice is vegetarian 🥦", "--id", "diet", "--tag", "food", "--data", '{"since": 2020}', *ALICE)
    run("remember", "met Bob", "--kind", "episodic", "--session-id", "s1", *ALICE)


def test_export_writes_one_memory_a_line(run: Run) -> None:
    fill(run)
    assert sorted(json.loads(line)["kind"] for line in run("export", *ALICE).out.splitlines()) == [
        "episodic",
        "semantic",
    ]


def test_export_of_an_empty_namespace_is_empty(run: Run) -> None:
    assert run("export", *ALICE).out == ""


def test_export_into_a_pipe_is_read_by_import(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(run)
    feed(monkeypatch, run("export", *ALICE).out)
    assert run("import", "-", *BOB).document["imported"] == 2


def test_what_was_imported_is_exported_again_alike(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(run)
    exported = run("export", *ALICE).out
    feed(monkeypatch, exported)
    run("import", "-", *BOB)
    again = run("export", *BOB).out
    assert sorted(map(without_place, exported.splitlines()), key=str) == sorted(
        map(without_place, again.splitlines()), key=str
    )


def test_what_was_imported_is_recalled(run: Run, tmp_path: Path) -> None:
    fill(run)
    run("export", "-o", str(tmp_path / "alice.jsonl"), *ALICE)
    run("import", str(tmp_path / "alice.jsonl"), *BOB)
    assert len(run("recall", "vegetarian", *BOB).document["hits"]) == 1


def test_export_leaves_expired_memories_out(run: Run) -> None:
    run("remember", "short-lived", "--ttl-days", "1e-9", *ALICE)
    assert run("export", *ALICE).out == ""


def test_export_includes_expired_memories_when_asked(run: Run) -> None:
    run("remember", "short-lived", "--ttl-days", "1e-9", *ALICE)
    assert len(run("export", "--include-expired", *ALICE).out.splitlines()) == 1


def test_export_replaces_the_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "alice.jsonl"
    path.write_text("old", "utf-8")
    fill(run)
    run("export", "-o", str(path), "--no-checksum", *ALICE)
    assert len(path.read_text("utf-8").splitlines()) == 2


def test_an_export_into_a_file_ends_with_a_checksum_that_the_import_verifies(run: Run, tmp_path: Path) -> None:
    fill(run)
    path = tmp_path / "alice.jsonl"
    run("export", "-o", str(path), *ALICE)
    outcome = run("import", str(path), *BOB)
    assert (outcome.exit_code, outcome.document["imported"], outcome.document["checksum"]) == (0, 2, "verified")


def test_a_file_with_a_line_missing_is_imported_and_reported(run: Run, tmp_path: Path) -> None:
    fill(run)
    path = tmp_path / "alice.jsonl"
    run("export", "-o", str(path), *ALICE)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[1:]), "utf-8")
    outcome = run("import", str(path), *BOB)
    document = outcome.document
    assert (outcome.exit_code, document["imported"], document["checksum"]) == (3, 1, "mismatch")
    assert document["errors"] == [
        {"line": 2, "code": "corrupt", "message": "lines were lost or added: here are 1, and the checksum is of 2"}
    ]


def test_a_file_without_its_end_is_imported_and_named(run: Run, tmp_path: Path) -> None:
    fill(run)
    path = tmp_path / "alice.jsonl"
    run("export", "-o", str(path), *ALICE)
    path.write_text("".join(path.read_text("utf-8").splitlines(keepends=True)[:-1]), "utf-8")
    outcome = run("import", str(path), *BOB)
    assert (outcome.exit_code, outcome.document["checksum"], "its end is missing" in outcome.err) == (0, "absent", True)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--kind", "episodic"], 1),
        (["--tag", "food"], 1),
        (["--filter", '{"data.since": 2020}'], 1),
        (["--session-id", "s1"], 1),
        (["--session-id", "s1", "--filter", '{"kind": "semantic"}'], 0),
        ([], 2),
    ],
)
def test_an_export_is_of_what_was_chosen(run: Run, options: list[str], count: int) -> None:
    fill(run)
    assert len(run("export", *options, *ALICE).out.splitlines()) == count


def test_an_identity_is_given_once(run: Run) -> None:
    outcome = run("export", "--session-id", "s1", "--filter", '{"session_id": "s2"}', *ALICE)
    assert (outcome.exit_code, "choose one" in outcome.err) == (2, True)


def test_export_that_fails_leaves_the_old_file_alone(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "alice.jsonl").write_text("old", "utf-8")
    run("export", "-o", str(folder / "alice.jsonl"), "-n", "not/a/*/namespace")
    assert [(path.name, path.read_text("utf-8")) for path in folder.iterdir()] == [("alice.jsonl", "old")]


def test_export_names_what_it_cannot_read_and_exits_with_3(run: Run, tmp_path: Path) -> None:
    key = run("remember", "one", "--id", "broken", *ALICE).document["key"]
    run("remember", "two", *ALICE)
    (tmp_path / "store" / key).write_text("{", "utf-8")
    outcome = run("export", *ALICE)
    assert (outcome.exit_code, len(outcome.out.splitlines()), key in outcome.err) == (3, 1, True)


def test_export_to_a_device_does_not_replace_it(run: Run) -> None:
    fill(run)
    run("export", "-o", "/dev/null", *ALICE)
    assert not Path("/dev/null").is_file()


def test_export_through_a_link_replaces_what_it_points_to(run: Run, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old", "utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    fill(run)
    run("export", "-o", str(tmp_path / "link"), *ALICE)
    assert (tmp_path / "link").is_symlink()


def test_export_to_a_link_that_points_to_itself_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    outcome = run("export", "-o", str(tmp_path / "loop"), *ALICE)
    assert (outcome.exit_code, (tmp_path / "loop").is_symlink()) == (2, True)


def test_export_to_the_longest_name_a_directory_allows(run: Run, tmp_path: Path) -> None:
    fill(run)
    assert run("export", "-o", str(tmp_path / ("n" * 255)), *ALICE).exit_code == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_export_to_a_full_device_names_the_device(run: Run) -> None:
    fill(run)
    outcome = run("export", "-o", "/dev/full", *ALICE)
    assert (outcome.exit_code, outcome.err.startswith("error: cannot write /dev/full: ")) == (3, True)


def test_import_skips_ids_that_exist(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(run)
    feed(monkeypatch, run("export", *ALICE).out)
    assert run("import", "-", *ALICE).document["skipped"] == 2


def test_import_overwrites_when_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(run)
    feed(monkeypatch, run("export", *ALICE).out)
    assert run("import", "-", "--overwrite", *ALICE).document["overwritten"] == 2


def test_import_refuses_forgotten_ids(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(run)
    feed(monkeypatch, run("export", *ALICE).out)
    run("forget", "diet", *ALICE)
    assert run("import", "-", *ALICE).document["refused"] == 1


def test_import_resurrects_when_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(run)
    feed(monkeypatch, run("export", *ALICE).out)
    run("forget", "diet", *ALICE)
    assert run("import", "-", "--resurrect", *ALICE).document["imported"] == 1


def test_import_reports_broken_lines_and_exits_with_2(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(run)
    good = run("export", *ALICE).out.splitlines()[0]
    feed(monkeypatch, f"{{\n{good}\n{'x' * 200_000}\n")
    outcome = run("import", "-", *BOB)
    lines = [error["line"] for error in outcome.document["errors"]]
    assert (outcome.exit_code, outcome.document["imported"], lines) == (2, 1, [1, 3])


def test_import_counts_every_refused_line_and_shows_the_first_hundred(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(monkeypatch, "{\n" * 150)
    outcome = run("import", "-", *BOB)
    assert (outcome.exit_code, outcome.document["failed"], len(outcome.document["errors"])) == (2, 150, 100)


def test_import_exits_with_3_if_the_storage_refused_a_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> ImportReport:
        lines = (LineError(1, ValidationError.code, "wrong"), LineError(2, BackendError.code, "the storage failed"))
        return ImportReport(failed=2, errors=lines)

    monkeypatch.setattr(MemoryStore, "import_", fail)
    feed(monkeypatch, "")
    assert run("import", "-", *BOB).exit_code == 3


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="this system has no /proc/self/mem")
def test_import_of_a_file_that_cannot_be_read_names_the_reason(run: Run) -> None:
    outcome = run("import", "/proc/self/mem", *BOB)
    expected = "error: cannot read the input any further: Input/output error [input]"
    assert (outcome.exit_code, outcome.err.splitlines()[0]) == (3, expected)


def test_import_without_standard_input_exits_with_2(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert run("import", "-", *BOB).exit_code == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", []),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\nb", [b"a", b"b"]),
        (b"\n\n", [b"", b""]),
        (b"12345678\nnext\n", [b"12345678", b"next"]),
        (b"123456789\nnext\n", [b"123456789", b"next"]),
        (b"1234567890\nnext\n", [b"123456789", b"next"]),
        (b"1" * 3_000_000 + b"\nnext\n", [b"111111111", b"next"]),
        (b"1" * 100, [b"111111111"]),
    ],
)
def test_lines_are_read_in_bounded_memory(text: bytes, expected: list[bytes]) -> None:
    assert list(bounded_lines(io.BytesIO(text), line_bytes_max=8)) == expected


def test_progress_is_silent_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("import") as progress:
        progress(1, 2)
    assert capsys.readouterr().err == ""


def test_progress_is_silent_without_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with progress_bar("import") as progress:
        progress(1, 2)


def test_progress_is_drawn_at_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bar("import") as progress:
        progress(1, 2)
    assert "1/2" in capsys.readouterr().err
