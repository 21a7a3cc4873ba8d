"""The grammar of the commands that move memories and watch them. It imports nothing heavy."""

import argparse
from collections.abc import Mapping
from typing import Final

from s3_agent_memory.edge.cli.options import add_chosen, not_blank

FORMATS: Final = ("mem0", "mcp-memory")
IDENTITY_OPTIONS: Final[Mapping[str, str]] = {
    "--user-id": "only memories about this user",
    "--agent-id": "only what this agent learnt",
    "--session-id": "only what is from this conversation",
    "--author": "only what this one said",
}


def add_export(export: argparse.ArgumentParser) -> None:
    """Add the options of an export."""
    export.add_argument(
        "-o", "--output", metavar="FILE", help="replace this file at the end (default: standard output)"
    )
    export.add_argument("--include-expired", action="store_true", help="also those past their expiry")
    add_chosen(export)
    for option, what in IDENTITY_OPTIONS.items():
        export.add_argument(option, type=not_blank, help=what)
    export.add_argument(
        "--checksum",
        action=argparse.BooleanOptionalAction,
        help="end with a line by which `import` sees that nothing is missing (default: in a file given by -o)",
    )


def add_import(importing: argparse.ArgumentParser) -> None:
    """Add the options of an import."""
    importing.add_argument("file", metavar="FILE", help="the file to read; - is standard input")
    importing.add_argument("--overwrite", action="store_true", help="replace memories whose id exists (default: skip)")
    importing.add_argument("--resurrect", action="store_true", help="allow ids that were forgotten (default: refuse)")


def add_migrate(migrate: argparse.ArgumentParser) -> None:
    """Add the options of a migration."""
    migrate.add_argument("form", metavar="FORMAT", choices=FORMATS, help=" or ".join(FORMATS))
    migrate.add_argument("file", metavar="FILE", help="the file to read; - is standard input")
    migrate.add_argument("--dry-run", action="store_true", help="write nothing; report what would be done")


def add_events(events: argparse.ArgumentParser) -> None:
    """Add the options of the event feed."""
    events.add_argument("--cursor", help="where to go on; `now` passes over what is there (default: all there is)")
    events.add_argument("--limit", type=int, default=100, metavar="N", help="changed memories a page (%(default)s)")
    events.add_argument("--follow", action="store_true", help="go on until interrupted: one page a line")
    events.add_argument(
        "--interval",
        type=_seconds,
        default=2.0,
        metavar="SECONDS",
        help="how often to look when following (%(default)s)",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    # Comparing this way round refuses NaN as well.
    if not 0.1 <= seconds <= 3_600:
        raise argparse.ArgumentTypeError("must be from 0.1 to 3600 seconds")
    return seconds
