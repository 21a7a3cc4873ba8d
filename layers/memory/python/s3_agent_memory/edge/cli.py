"""The command ``s3-agent-memory``.

Exit codes: 0 ok, 1 not found, 2 validation error, 3 conflict or backend error.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from s3_agent_memory.edge.cli_errors import (
    EXIT_BROKEN_PIPE,
    EXIT_CONFLICT_OR_BACKEND,
    EXIT_INTERRUPTED,
    describe_error,
    exit_code_of,
)
from s3_agent_memory.edge.cli_parser import build_parser, parse_arguments
from s3_agent_memory.errors import AgentMemoryError

__all__ = ["build_parser", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Args:
        argv: the arguments without the program's name; those of the process if None.

    Raises:
        SystemExit: the command line is wrong (code 2), or help was asked for (code 0).
    """
    arguments = parse_arguments(sys.argv[1:] if argv is None else argv)
    try:
        exit_code = _run(arguments)
        sys.stdout.flush()
    except AgentMemoryError as error:
        print(describe_error(error), file=sys.stderr)
        return exit_code_of(error.code)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        # The library translates the errors of its storage; what is left is standard output, such as a full disk.
        _drop_output()
        print(f"error: cannot write standard output: {error.strerror} [output]", file=sys.stderr)
        return EXIT_CONFLICT_OR_BACKEND
    return exit_code


def _run(arguments: argparse.Namespace) -> int:
    # Imported only now, so that help and usage errors do not wait for numpy and the storage adapters.
    from s3_agent_memory.edge import cli_commands, cli_output  # noqa: PLC0415

    _speak_utf8()
    answer = cli_commands.run(arguments)
    if answer.document is not None:
        sys.stdout.write(cli_output.format_document(answer.document) + "\n")
    return answer.exit_code


def _speak_utf8() -> None:
    """Write JSON as UTF-8, as its standard says, whatever the locale is."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


def _drop_output() -> None:
    """Let the interpreter's last flush go nowhere: nobody reads it any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
