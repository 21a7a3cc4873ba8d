"""The command ``s3-agent-memory``: the way in, which loads everything else.

Exit codes: 0 ok, 1 not found, 2 validation error, 3 conflict or backend error.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from types import FrameType

__all__ = ["build_parser", "main"]

# Shells report a process that a signal ended as 128 + the signal's number.
EXIT_INTERRUPTED: Final = 130
_INTERRUPTED: Final = "interrupted"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Args:
        argv: the arguments without the program's name. If None, those of the process, which from then on belongs to
            this command: an interrupt ends it at once while it loads and again when it is done.

    Raises:
        SystemExit: help or the version was asked for (code 0).
    """
    on_interrupt = _own_interrupts() if argv is None else _leave_interrupts_alone
    # Nothing is begun yet that would have to be cleaned up, and a module that loads may swallow the exception of an
    # interrupt or turn it into another one. For the same reason nothing is imported before this line.
    on_interrupt(_leave)
    from s3_agent_memory.edge.cli import program as cli_program  # noqa: PLC0415
    from s3_agent_memory.edge.cli import streams as cli_streams  # noqa: PLC0415

    try:
        exit_code = cli_program.run(
            sys.argv[1:] if argv is None else argv, begin=lambda: on_interrupt(signal.default_int_handler)
        )
        on_interrupt(_leave)
    except KeyboardInterrupt:
        on_interrupt(_leave)
        cli_streams.print_error(_INTERRUPTED)
        return EXIT_INTERRUPTED
    return exit_code


def build_parser() -> "ArgumentParser":
    """Return the parser of the whole command line."""
    from s3_agent_memory.edge.cli import parser as cli_parser  # noqa: PLC0415

    return cli_parser.build_parser()


_Handler = Callable[[int, "FrameType | None"], object]


def _own_interrupts() -> Callable[[_Handler], object]:
    # A process that was started to ignore interrupts, as by nohup, goes on to ignore them.
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return _leave_interrupts_alone
    return lambda handler: signal.signal(signal.SIGINT, handler)


def _leave_interrupts_alone(_handler: _Handler) -> None:
    """Do nothing: the process belongs to somebody else."""


def _leave(_signal_number: int, _frame: object) -> None:
    # Where standard error is closed, its descriptor may be some other file by now.
    if sys.stderr is not None:
        with suppress(OSError):
            os.write(sys.stderr.fileno(), f"{_INTERRUPTED}\n".encode())
    os._exit(EXIT_INTERRUPTED)
