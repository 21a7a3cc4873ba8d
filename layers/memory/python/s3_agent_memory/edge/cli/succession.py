"""The options of the commands for facts that change."""

import argparse
from collections.abc import Callable
from typing import Any, Final

from s3_agent_memory.edge.cli.options import add_change_fields, add_id, add_pin, add_validity

_SECONDS_PER_DAY: Final = 86_400
_TAKEN_AS_THEY_ARE: Final = (
    *("kind", "source", "importance", "tags", "data", "metadata", "valid_from", "valid_to", "new_id"),
    *("expected_version", "pinned"),
)


def add_succession_commands(add: Callable[..., argparse.ArgumentParser], commands: Any) -> None:
    """Add ``supersede`` and ``history``.

    Args:
        add: adds a command by its name, its summary and its examples.
    """
    supersede = add(
        commands,
        "supersede",
        "store what is true instead of a memory; the old one stays for --as-of",
        "alice-home 'Alice lives in Rome' -n users/alice",
        "alice-home 'Alice lives in Rome' --valid-from 2026-05-01 --source chat:42 -n users/alice",
    )
    add_id(supersede)
    supersede.add_argument("content", metavar="TEXT", help="what is true instead")
    add_change_fields(supersede, has_kind=True)
    add_validity(supersede, begin="since when it is true (default: now)")
    add_pin(supersede)
    supersede.add_argument("--new-id", metavar="ID", help="an id of your own for the new memory")
    supersede.add_argument(
        "--expected-version", type=int, metavar="V", help="only if the old memory still has this version (else exit 3)"
    )
    add_id(add(commands, "history", "show the versions of a memory and what it follows", "alice-home -n users/alice"))


def successor_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the options of ``supersede`` set, and nothing else."""
    given = {name: value for name in _TAKEN_AS_THEY_ARE if (value := getattr(arguments, name)) is not None}
    return given if arguments.ttl_days is None else given | {"ttl": arguments.ttl_days * _SECONDS_PER_DAY}
