"""The local stack as a process over any store, which ends by itself only when its store cannot be reached."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer

from tests.faults.memories import HttpMemories

PROJECT = Path(__file__).resolve().parents[2]
START_COUNT_MAX = 8
START_SECONDS = 0.2
BANNER_SECONDS_MAX = 60
STOP_SECONDS_MAX = 60
LAST_WORDS_SECONDS = 10
EXIT_STORE_FAILED = 1
_BANNER = (r"runs at (?P<url>http://\S+)", r"^ +token +(?P<token>.+?) \(")
# Indexer, pruner and sweeper are to work while the load is on.
INTERVALS = {
    "INDEX_WINDOW_SECONDS": "0.2",
    "PRUNE_INTERVAL_SECONDS": "2",
    "SWEEP_INTERVAL_SECONDS": "2",
    "S3_AGENT_MEMORY_EMBEDDINGS": "none",
}


class Stack:
    """A running stack.

    Attributes:
        pid: of the process.
    """

    def __init__(self, process: "subprocess.Popen[str]", url: str, token: str) -> None:
        self._process = process
        self._url = url
        self._token = token
        self.pid = process.pid

    def connect(self) -> HttpMemories:
        """Return a client with a connection of its own."""
        return HttpMemories(self._url, self._token)

    def kill(self) -> None:
        """End it at once, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        assert self._process.returncode == -signal.SIGKILL, f"the stack ended by itself: {self._process.returncode}"

    def stop(self) -> None:
        """Let it finish what it is doing, and end.

        Raises:
            TimeoutError: it does not; what its threads are doing is in its log.
        """
        self._process.terminate()
        try:
            assert self._process.wait(STOP_SECONDS_MAX) == 0
        except subprocess.TimeoutExpired as error:
            self._process.send_signal(signal.SIGABRT)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LAST_WORDS_SECONDS)
            self._process.kill()
            raise TimeoutError(f"the stack did not stop within {STOP_SECONDS_MAX} s") from error


@contextmanager
def running_stack(directory: Path, url: str, environment: Mapping[str, str]) -> Iterator[Stack]:
    """Run the stack over the store at ``url`` while the block runs, or until it is killed.

    Args:
        directory: where it works, logs and, unless its store is a directory, keeps its token.
        environment: what it is told beside the URL and a free port.
    """
    own = {"PORT": "0", "S3_AGENT_MEMORY_URL": url, "PYTHONFAULTHANDLER": "1"}
    variables = {**os.environ, **INTERVALS, **environment, **own}
    process, banner = _start(directory, variables)
    with process:
        try:
            yield Stack(process, banner["url"], (directory / banner["token"]).read_text().strip())
        finally:
            process.kill()


def errors_of(directory: Path) -> str:
    """Return what the stacks that ran in a directory have logged."""
    return (directory / "errors").read_text("utf-8", errors="replace")


def _start(directory: Path, variables: Mapping[str, str]) -> tuple["subprocess.Popen[str]", dict[str, str]]:
    """Start it, and return what its banner says of its URL and the file with its token.

    One that cannot reach its store says so and ends, and is started again.
    """
    for number in range(START_COUNT_MAX):
        time.sleep(START_SECONDS * number)
        with (directory / "errors").open("ab") as errors:
            process = subprocess.Popen(
                [sys.executable, PROJECT / "functions" / "local_stack.py"],
                cwd=directory,
                env=variables,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        banner = _read_banner(process)
        if len(banner) == len(_BANNER):
            return process, banner
        assert process.wait() == EXIT_STORE_FAILED, errors_of(directory)
    raise RuntimeError(f"the stack did not start in {START_COUNT_MAX} attempts:\n{errors_of(directory)}")


def _read_banner(process: "subprocess.Popen[str]") -> dict[str, str]:
    """Return what the banner says; less than all if the process ends first, as it must if it says nothing for long."""
    assert process.stdout is not None
    banner: dict[str, str] = {}
    alarm = Timer(BANNER_SECONDS_MAX, process.kill)
    alarm.start()
    try:
        for line in process.stdout:
            banner |= next((found.groupdict() for pattern in _BANNER if (found := re.search(pattern, line))), {})
            if len(banner) == len(_BANNER):
                return banner
        process.stdout.close()
        return banner
    finally:
        alarm.cancel()
