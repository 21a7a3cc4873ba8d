"""The walk through the HTTP API in examples, against the local stack."""

import shutil
import subprocess

import pytest

from tests.functions.stack_process import ROOT, WAIT_SECONDS, usual_environment

SCRIPT = ROOT / "examples" / "http.sh"

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="the example needs curl")


def run(stack, script=SCRIPT, **environment):
    return subprocess.run(
        ["bash", script],
        cwd=stack.folder,
        env=usual_environment() | {"PORT": stack.port} | environment,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )


def test_it_runs_again_and_again_also_after_a_run_that_was_interrupted(start_stack, tmp_path):
    stack = start_stack()
    interrupted = tmp_path / "interrupted.sh"
    interrupted.write_text(SCRIPT.read_text().partition("call DELETE")[0])
    results = [run(stack, script) for script in (SCRIPT, interrupted, SCRIPT)]
    assert [result.returncode for result in results] == [0, 0, 0], [result.stderr for result in results]


def test_it_stops_at_a_request_that_is_refused(start_stack):
    result = run(start_stack(), TOKEN="wrong")
    assert (result.returncode != 0, result.stdout.count("/v1/")) == (True, 1)
    assert "unauthenticated" in result.stdout
