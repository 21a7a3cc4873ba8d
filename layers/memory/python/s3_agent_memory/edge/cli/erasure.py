"""The commands that erase for good and that check what is stored."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from s3_agent_memory.domain.erasure import erasure_to_json
from s3_agent_memory.domain.verification import verification_to_json
from s3_agent_memory.edge.cli.errors import EXIT_CONFLICT_OR_BACKEND, EXIT_OK
from s3_agent_memory.edge.cli.output import Answer, progress_bar
from s3_agent_memory.edge.cli.streams import print_error

if TYPE_CHECKING:
    from s3_agent_memory.bootstrap import MemoryStore
    from s3_agent_memory.domain.erasure import Erasure

_REQUESTED_BY: Final = "command line"


def add_erasure_commands(add: Callable[..., argparse.ArgumentParser], commands: Any) -> None:
    """Add ``erase`` and ``verify``.

    Args:
        add: adds a command by its name, its summary and its examples.
    """
    erase = add(
        commands,
        "erase",
        "erase a namespace, or a part of it, for good, earlier versions included",
        "-n users/alice --confirm users/alice",
        "-n shared --confirm shared --user alice",
        "-n users/alice --confirm users/alice --id alice-diet --id alice-city",
    )
    erase.add_argument("--confirm", required=True, metavar="NAMESPACE", help="the namespace once more")
    scope = erase.add_mutually_exclusive_group()
    scope.add_argument("--user", metavar="ID", help="only what is attributed to this user")
    scope.add_argument("--agent", metavar="ID", help="only what is attributed to this agent")
    scope.add_argument("--session", metavar="ID", help="only what is attributed to this session")
    scope.add_argument("--id", action="append", dest="ids", metavar="ID", help="only this memory; may be repeated")
    add(commands, "verify", "check every object, index file and vector; change nothing", "-n users/alice")


def erase(arguments: argparse.Namespace, store: "MemoryStore", namespace: str) -> Answer:
    """Erase until nothing is left to do, and show the report."""
    with progress_bar("erase") as progress:
        report = store.erase(
            namespace,
            confirm=arguments.confirm,
            user_id=arguments.user,
            agent_id=arguments.agent,
            session_id=arguments.session,
            ids=arguments.ids,
            requested_by=_REQUESTED_BY,
            progress=progress,
        )
    if report.is_finished:
        _note_what_was_not_there(report)
    # Another process may be at work on the same erasure.
    return Answer(erasure_to_json(report), EXIT_OK if report.is_finished else EXIT_CONFLICT_OR_BACKEND)


def _note_what_was_not_there(report: "Erasure") -> None:
    """Say so where less was erased than was asked for: a mistyped name must not pass for a proof."""
    counts, asked = report.counts, len(report.scope.ids or ())
    if not (counts.memories or counts.leftovers or counts.sessions or counts.versions):
        print_error("note: nothing of that was there; check the namespace and what you named")
    elif counts.memories < asked:
        print_error(f"note: {asked - counts.memories} of the {asked} ids had no memory")


def verify(store: "MemoryStore", namespace: str) -> Answer:
    """Show what is wrong; nothing is put right."""
    with progress_bar("verify") as progress:
        found = store.verify(namespace, progress=progress)
    return Answer(verification_to_json(found), EXIT_OK if found.is_sound else EXIT_CONFLICT_OR_BACKEND)
