"""The local stack as a process of its own, as a person starts it."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]
WAIT_SECONDS = 30
_HURRIED = {"PORT": "0", "INDEX_WINDOW_SECONDS": "0.05", "S3_AGENT_MEMORY_EMBEDDINGS": "none"}


class Stack:
    """A running local stack, and what it printed.

    Attributes:
        banner: up to the line that says how to stop it.
        rest: what came after, once it is stopped.
    """

    def __init__(self, folder, **environment):
        self.folder = folder
        self.log_path = folder / "stderr.txt"
        self.rest = ""
        with self.log_path.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-W", "error", str(ROOT / "functions" / "local_stack.py")],
                cwd=folder,
                env=usual_environment() | _HURRIED | environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        self.banner = self._read_banner()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", self.banner)
        assert found is not None, self.banner + self.log_path.read_text()
        self.url, self.port = found.group(0), found.group(1)

    def _read_banner(self):
        lines = []
        for line in self.output:
            lines.append(line)
            if line.startswith("Ctrl-C"):
                break
        return "".join(lines)

    @property
    def token_path(self):
        """The file that the printed commands read."""
        found = re.search(r"\$\(cat (.+?)\)\"", self.banner)
        assert found is not None, self.banner
        (name,) = shlex.split(found.group(1))
        return self.folder / name

    @property
    def token(self):
        return self.token_path.read_text().strip()

    def send(self, method, path, body=None, headers=None):
        data = None if body is None else json.dumps(body).encode()
        return self._send(method, path, data, {"Content-Type": "application/json", **(headers or {})})

    def send_lines(self, path, lines):
        """Post JSON lines."""
        return self._send("POST", path, lines.encode(), {"Content-Type": "application/x-ndjson"})

    def _send(self, method, path, data, headers):
        sent = {"Authorization": f"Bearer {self.token}", **headers}
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
            if not self.output.closed:
                self.rest += self.output.read()
            self.output.close()


def usual_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith(("S3_AGENT", "POWERTOOLS"))}


def wait_until(condition):
    """Poll until the condition holds; the number of polls is bounded."""
    for _ in range(WAIT_SECONDS * 20):
        if condition():
            return True
        time.sleep(0.05)
    return False


def run_to_its_end(folder, **environment):
    command = [sys.executable, str(ROOT / "functions" / "local_stack.py")]
    return subprocess.run(
        command,
        cwd=folder,
        env=usual_environment() | _HURRIED | environment,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
