"""A process that writes objects until it is killed: ``python -m tests.unit.storage.killed_writer ROOT MODE``.

MODE ``endless`` writes versions without end; ``FUNCTION:before`` and ``FUNCTION:after`` write one version and kill the
process around its first call of ``os.FUNCTION`` for a file.
"""

import hashlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from s3_agent_memory.domain.clock import SystemClock, SystemEntropy
from s3_agent_memory.storage.filesystem import FilesystemObjectStore

KEY = "memory/alice/semantic/units.json"
VERSION_COUNT_MAX = 1_000_000


def sealed_body(number: int) -> bytes:
    """Return a body that begins with the hash of the rest."""
    payload = f"version {number} ".encode() * (1 + number * 7 % 3_000)
    return hashlib.sha256(payload).hexdigest().encode() + payload


def is_whole(body: bytes) -> bool:
    """Tell whether a body is one that was written, to the last byte."""
    return hashlib.sha256(body[64:]).hexdigest().encode() == body[:64]


def killing(function: Callable[..., Any], moment: str) -> Callable[..., Any]:
    """Return the function with a death before or after it."""

    def kill_around(*args: Any, **kwargs: Any) -> Any:
        if moment == "after":
            function(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    return kill_around


def main() -> None:
    root, mode = sys.argv[1:]
    store = FilesystemObjectStore(Path(root), clock=SystemClock(), entropy=SystemEntropy())
    if mode != "endless":
        name, moment = mode.split(":")
        setattr(os, name, killing(getattr(os, name), moment))
    for number in range(VERSION_COUNT_MAX):
        store.put(KEY, sealed_body(number))


if __name__ == "__main__":
    main()
