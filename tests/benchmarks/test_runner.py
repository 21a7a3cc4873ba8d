"""The runner keeps going, and says what failed."""

import fcntl
import json
import sys

import pytest

from benchmarks import runner, runner_simulation
from benchmarks.runner import Result, Status, read_results
from benchmarks.runner_parts import JSON_FILE, PARTS, Part


class ScriptPart(Part):
    """A part that is a script of the test."""

    def command(self, *, is_quick):  # noqa: ARG002
        return ["-c", self.module, JSON_FILE]

    def missing(self):
        return ""


def run(script, **more):
    return runner.run(ScriptPart(name="part", says="", module=script, **more), is_quick=True)


def test_figures_are_the_document_that_the_part_writes():
    found = run("import sys; open(sys.argv[1], 'w').write('{\"x\": 1}')")
    assert (found.status, found.figures) == (Status.OK, {"x": 1})


def test_a_part_without_a_document_keeps_what_it_prints():
    assert run("print('a'); print('b')").figures == {"text": ["a", "b"]}


def test_a_part_that_prints_json_keeps_that():
    assert run("print('{'); print('}')", prints_json=True).figures == {}


def test_a_failed_part_keeps_its_figures_and_says_why():
    found = run("import sys; open(sys.argv[1], 'w').write('[]'); print('too slow'); sys.exit(1)")
    assert (found.status, found.figures, found.message) == (Status.FAILED, [], "exit code 1: too slow")


def test_a_part_is_ended_when_its_time_is_up(monkeypatch):
    monkeypatch.setattr("benchmarks.runner_parts._QUICK_SECONDS_MAX", 0.5)
    found = run("import signal; signal.pause()")
    assert (found.status, "time was up" in found.message) == (Status.FAILED, True)


def test_a_part_without_its_program_is_missing():
    found = runner.run(Part(name="part", says="", module="benchmarks.nowhere"), is_quick=True)
    assert (found.status, found.message) == (Status.MISSING, "there is no benchmarks.nowhere")


def test_results_are_read_as_they_were_written(tmp_path):
    machine = {"cores": 2}
    written = Result(
        part="one",
        status=Status.OK,
        is_quick=False,
        command="make",
        seconds=1.5,
        machine=machine,
        figures={"a": [1.25]},
    )
    written.write(tmp_path)
    assert read_results(tmp_path) == {"one": written}


def test_figures_are_kept_with_digits_that_mean_something(tmp_path):
    found = Result(
        part="one", status=Status.OK, is_quick=False, command="", seconds=1, machine={}, figures=[123.456789, True, 7]
    )
    found.write(tmp_path)
    assert json.loads((tmp_path / "one.json").read_text("utf-8"))["figures"] == [123.46, True, 7]


def test_every_part_has_a_table():
    from benchmarks.report_tables import TABLES

    assert {part for part, _ in TABLES.values()} == set(PARTS)


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_a_part_accepts_its_arguments(part):
    if part.missing().startswith("there is no"):
        pytest.skip(part.missing())
    for is_quick in (True, False):
        arguments = part.command(is_quick=is_quick)
        assert arguments[:2] == ["-m", part.module]
        source = part._source().read_text("utf-8")
        for option in (one for one in arguments[2:] if one.startswith("--")):
            assert f'"{option}"' in source, f"{part.module} has no {option}"


def test_the_interpreter_is_this_one_without_other_systems(monkeypatch, tmp_path):
    monkeypatch.setattr("benchmarks.runner_parts.PEERS_PYTHON", tmp_path / "python")
    assert str(PARTS["peers"].python()) == sys.executable


def test_the_simulation_is_read_from_its_last_lines():
    assert runner_simulation.read_seeds("50 seeds in 3 s, 16.7 seeds a second, 2 failed") == {"seeds": 50, "failed": 2}


def test_a_simulation_that_says_nothing_is_an_error():
    with pytest.raises(ValueError, match="ended with"):
        runner_simulation.read_mutations("Traceback")


def test_what_a_part_has_started_ends_with_it(tmp_path):
    held = tmp_path / "held"
    held.touch()
    # The child holds a lock as long as it lives, and says when it has it.
    child = f"import fcntl, signal; f = open({str(held)!r}); fcntl.flock(f, 2); print(flush=True); signal.pause()"
    script = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {child!r}], stdout=subprocess.PIPE)
child.stdout.readline()
"""
    assert run(script).status is Status.OK
    with held.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def test_a_crash_is_named_by_its_error():
    assert run("raise RuntimeError('the disk is full')").message == "exit code 1: RuntimeError: the disk is full"
