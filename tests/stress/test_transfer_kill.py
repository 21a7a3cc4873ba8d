"""An import of a real directory by a process that is killed with signal 9, and the same import again."""

from pathlib import Path

from benchmarks.transfer import measure


def test_an_import_that_is_killed_and_run_again_loses_doubles_and_changes_nothing(tmp_path: Path) -> None:
    steps, wrong = measure(tmp_path, 4_000)
    assert wrong == []
    assert steps[0].said is None
