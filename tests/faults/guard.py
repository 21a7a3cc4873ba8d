"""Runs a command that must not hang: when its time is up, it says what everybody is waiting for, and ends them all.

    python -m tests.faults.guard SECONDS COMMAND [ARGUMENT ...]

The command and all it starts are one process group of their own. In time, its exit code is the command's; otherwise
every Python process of the group writes where each of its threads stands, all are killed, and the exit code is 124.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

EXIT_USAGE = 2
EXIT_TIMED_OUT = 124
EXIT_TERMINATED = 128 + signal.SIGTERM
LAST_WORDS_SECONDS = 10


def guard(command: Sequence[str], *, seconds: float) -> int:
    """Run a command for at most so long, and return its exit code, or ``EXIT_TIMED_OUT``.

    Only for the main thread, because a request to terminate must reach the others too.
    """
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_TERMINATED))
    with subprocess.Popen(command, env=environment, start_new_session=True) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            sys.stderr.write(f"{' '.join(command)} did not end within {seconds:g} s\n")
            _tell_all(process, signal.SIGABRT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(LAST_WORDS_SECONDS)
            return EXIT_TIMED_OUT
        finally:
            # The command may have ended and left others behind, and an interrupt does not reach another session.
            _tell_all(process, signal.SIGKILL)
            signal.signal(signal.SIGTERM, before)


def _tell_all(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def main() -> int:
    """Do what the arguments say; return the exit code."""
    try:
        seconds, command = float(sys.argv[1]), sys.argv[2:]
    except (IndexError, ValueError):
        seconds, command = 0.0, []
    if not command:
        sys.stderr.write(__doc__ or "")
        return EXIT_USAGE
    return guard(command, seconds=seconds)


if __name__ == "__main__":
    sys.exit(main())
