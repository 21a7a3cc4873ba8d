"""One run of the command line: from arguments to an exit code, with every error told in its own words."""

from collections.abc import Callable, Sequence

from s3_agent_memory.edge.cli.errors import (
    EXIT_BROKEN_PIPE,
    EXIT_CONFLICT_OR_BACKEND,
    describe_error,
    describe_system_error,
    exit_code_of,
)
from s3_agent_memory.edge.cli.parser import parse_arguments
from s3_agent_memory.edge.cli.streams import drop_output, flush_output, open_output, print_error, write_output
from s3_agent_memory.errors import AgentMemoryError


def run(argv: Sequence[str], *, begin: Callable[[], object]) -> int:
    """Run one command and return its exit code.

    Args:
        begin: called when everything is loaded, before the command does anything.

    Raises:
        SystemExit: help or the version was asked for (code 0).
    """
    command = ""
    try:
        open_output()
        arguments = parse_arguments(argv)
        command = arguments.command
        # Imported only now, so that help and usage errors do not wait for numpy and the storage adapters.
        from s3_agent_memory.edge.cli import commands as cli_commands  # noqa: PLC0415
        from s3_agent_memory.edge.cli import output as cli_output  # noqa: PLC0415

        begin()
        answer = cli_commands.run(arguments)
        if answer.document is not None:
            write_output(cli_output.format_document(answer.document) + "\n")
        flush_output()
    except AgentMemoryError as error:
        print_error(describe_error(error, command=command))
        return exit_code_of(error.code)
    except BrokenPipeError:
        drop_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        print_error(describe_system_error(error))
        return EXIT_CONFLICT_OR_BACKEND
    return answer.exit_code
