"""Commands with everything that they start: a group of processes that ends as a whole."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

_STOP_SECONDS_MAX: Final = 10.0


@contextmanager
def running(command: Sequence[str | Path], **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """Run a command while the block runs; whatever it has started ends with the block."""
    with subprocess.Popen(
        list(map(str, command)), text=True, process_group=0, stdin=subprocess.DEVNULL, **options
    ) as process:
        try:
            yield process
        finally:
            stop(process)


def stop(process: "subprocess.Popen[str]") -> None:
    """End a process and all of its group: asked first, then without asking."""
    if process.poll() is None:
        _signal(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS_MAX)
    _signal(process.pid, signal.SIGKILL)


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def exit_when_told() -> None:
    """Let SIGTERM end this process as an exception does, so that what it has started ends too."""

    def leave(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, leave)
