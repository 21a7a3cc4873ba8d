"""The local stack as a process of its own, as a person starts it."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECRET = "MARKER-TEXT-OF-A-MEMORY"
WAIT_SECONDS = 30


class Stack:
    """A running local stack."""

    def __init__(self, folder, **environment):
        self.folder = folder
        self.log_path = folder / "stderr.txt"
        usual = {name: value for name, value in os.environ.items() if not name.startswith(("S3_AGENT", "POWERTOOLS"))}
        with self.log_path.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-W", "error", str(ROOT / "functions" / "local_stack.py")],
                cwd=folder,
                env=usual | {"PORT": "0", "INDEX_WINDOW_SECONDS": "0.05"} | environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        self.banner = self._read_banner()
        found = re.search(r"http://127\.0\.0\.1:\d+", self.banner)
        assert found is not None, self.banner + self.log_path.read_text()
        self.url = found.group()

    def _read_banner(self):
        lines = []
        for line in self.output:
            lines.append(line)
            if line.startswith("Ctrl-C"):
                break
        return "".join(lines)

    @property
    def token(self):
        return (self.folder / ".agent-memory" / "token").read_text().strip()

    def send(self, method, path, body=None, headers=None):
        data = None if body is None else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **(headers or {})}
        request = urllib.request.Request(self.url + path, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def stop(self, number=signal.SIGINT):
        """Interrupt the process and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(WAIT_SECONDS)
        finally:
            self.process.kill()
            self.output.close()


@pytest.fixture
def start(tmp_path):
    started = []

    def start_stack(**environment):
        started.append(Stack(tmp_path, **environment))
        return started[-1]

    yield start_stack
    for stack in started:
        stack.stop()


def wait_until(condition):
    """Poll until the condition holds; the number of polls is bounded."""
    for _ in range(WAIT_SECONDS * 20):
        if condition():
            return True
        time.sleep(0.05)
    return False


def run_to_its_end(folder, **environment):
    usual = {name: value for name, value in os.environ.items() if not name.startswith("S3_AGENT")}
    command = [sys.executable, str(ROOT / "functions" / "local_stack.py")]
    return subprocess.run(
        command, cwd=folder, env=usual | environment, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False
    )


def test_a_memory_is_found_at_once_and_indexed_in_the_background(start):
    stack = start()
    status, answer = stack.send("POST", "/v1/memories", {"content": "Alice prefers metric units"})
    _, found = stack.send("POST", "/v1/memories/search", {"query": "which units?"})
    assert (status, [hit["memory"] for hit in found["hits"]]) == (201, [answer["memory"]])
    assert wait_until(lambda: stack.send("GET", "/v1/stats")[1]["segments"] == 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_cleanly_and_what_was_pending_is_indexed(start, number):
    stack = start(INDEX_WINDOW_SECONDS="600")
    stack.send("POST", "/v1/memories", {"content": "green tea"})
    assert stack.stop(number) == 0
    again = start()
    assert again.send("GET", "/v1/stats")[1]["segments"] == 1
    assert len(again.send("POST", "/v1/memories/search", {"query": "tea"})[1]["hits"]) == 1


def test_the_token_is_the_owners_alone_and_is_used_again(start):
    first = start()
    path = first.folder / ".agent-memory" / "token"
    token, mode = first.token, stat.S_IMODE(path.stat().st_mode)
    first.stop()
    second = start()
    assert (second.token, mode) == (token, 0o600)
    assert ("new;" in first.banner, "as before;" in second.banner) == (True, True)


def test_a_token_that_is_not_valid_any_more_is_replaced(start):
    first = start()
    first.stop()
    (first.folder / ".agent-memory" / "token").write_text("sam_" + "0" * 64)
    assert start().send("GET", "/v1/stats")[0] == 200


def test_a_foreign_host_is_refused(start):
    stack = start()
    status, problem = stack.send("GET", "/v1/stats", headers={"Host": "evil.example"})
    assert (status, problem["code"]) == (421, "misdirected_request")


def test_expired_memories_are_pruned_on_schedule(start):
    stack = start(PRUNE_INTERVAL_SECONDS="0.2")
    _, answer = stack.send("POST", "/v1/memories", {"content": "short-lived", "ttl": 0.000001})
    path = stack.folder / ".agent-memory" / answer["key"]
    assert wait_until(lambda: not path.exists())


def test_concurrent_writers_lose_nothing(start):
    stack = start()
    with ThreadPoolExecutor(20) as pool:
        bodies = [{"content": f"tea number {number}"} for number in range(20)]
        statuses = list(pool.map(lambda body: stack.send("POST", "/v1/memories", body)[0], bodies))
    _, found = stack.send("POST", "/v1/memories/search", {"query": "tea", "limit": 100})
    assert (set(statuses), len(found["hits"])) == ({201}, 20)


def test_neither_texts_nor_tokens_are_logged(start):
    stack = start(POWERTOOLS_LOG_LEVEL="DEBUG", PRUNE_INTERVAL_SECONDS="0.2", SWEEP_INTERVAL_SECONDS="0.2")
    _, answer = stack.send("POST", "/v1/memories", {"content": SECRET, "tags": [SECRET], "data": {"x": SECRET}})
    stack.send("POST", "/v1/memories/search", {"query": SECRET})
    stack.send("POST", "/v1/memories", {"content": [SECRET]})
    stack.send("DELETE", f"/v1/memories/{answer['memory']['id']}?reason={SECRET}")
    assert wait_until(lambda: "namespaces swept" in stack.log_path.read_text())
    token = stack.token
    assert stack.stop() == 0
    log = stack.log_path.read_text()
    assert "request answered" in log
    assert (SECRET in log, token in log, token in stack.banner) == (False, False, False)


def test_a_store_in_memory_is_shared_by_all_functions(start):
    stack = start(S3_AGENT_MEMORY_URL="memory://")
    assert stack.send("POST", "/v1/memories", {"content": "green tea"})[0] == 201
    assert wait_until(lambda: stack.send("GET", "/v1/stats")[1]["segments"] == 1)


def test_a_port_in_use_is_a_clear_message_and_exit_code_2(start, tmp_path):
    port = start().url.rpartition(":")[2]
    result = run_to_its_end(tmp_path, PORT=port)
    assert (result.returncode, "Traceback" in result.stderr) == (2, False)
    assert "choose another one with PORT=" in result.stderr


@pytest.mark.parametrize(
    ("name", "value"), [("PORT", "http"), ("PORT", "70000"), ("PORT", "-1"), ("PRUNE_INTERVAL_SECONDS", "nan")]
)
def test_a_setting_that_is_nonsense_is_named_and_exit_code_2(tmp_path, name, value):
    result = run_to_its_end(tmp_path, **{name: value})
    assert (result.returncode, name in result.stderr, "Traceback" in result.stderr) == (2, True, False)


def test_a_store_that_cannot_be_used_is_a_clear_message(tmp_path):
    result = run_to_its_end(tmp_path, PORT="0", S3_AGENT_MEMORY_URL="ftp://nowhere")
    assert (result.returncode, "store URL" in result.stderr, "Traceback" in result.stderr) == (1, True, False)
