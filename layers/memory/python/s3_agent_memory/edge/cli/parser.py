"""The command line's grammar: commands, options, their types and their help. It imports nothing heavy."""

import argparse
from collections.abc import Mapping, Sequence
from typing import IO, Final, NoReturn, TypeAlias

from s3_agent_memory import names
from s3_agent_memory.domain.grants import Permission
from s3_agent_memory.edge.cli import transfer_options as cli_transfer_options
from s3_agent_memory.edge.cli.consolidate_options import add_consolidation, add_run_id
from s3_agent_memory.edge.cli.cost import add_workload
from s3_agent_memory.edge.cli.erasure import add_erasure_commands
from s3_agent_memory.edge.cli.errors import UsageError
from s3_agent_memory.edge.cli.options import (
    add_change_fields,
    add_id,
    add_new_fields,
    add_pin,
    add_selection,
    add_ttl_days,
    add_validity,
)
from s3_agent_memory.edge.cli.streams import flush_output, write_output
from s3_agent_memory.edge.cli.succession import add_succession_commands

PROGRAM: Final = "s3-agent-memory"
CLEARABLE_FIELDS: Final = ("source", "tags", "data", "metadata", "expiry", "valid-from", "valid-to")

_PROGRAM_EPILOG: Final = f"""\
examples:
  {PROGRAM} remember "Alice prefers metric units" --kind procedural -n users/alice
  {PROGRAM} recall "which units?" -n users/alice
  {PROGRAM} export -n users/alice -o alice.jsonl

Output is JSON on standard output; errors and progress go to standard error.
exit codes: 0 ok, 1 not found, 2 validation error, 3 conflict or backend error
environment: {names.ENV_URL} (default {names.DEFAULT_URL}), {names.ENV_NAMESPACE} (default {names.DEFAULT_NAMESPACE})
"""


class _Parser(argparse.ArgumentParser):
    """Raises what is wrong with a command line, and does not overlook that help cannot be written."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, program=self.prog)

    def print_help(self, file: IO[str] | None = None) -> None:  # type: ignore[override]  # noqa: ARG002
        write_output(self.format_help())
        flush_output()


Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"


class _PrintVersion(argparse.Action):
    """Prints the version; looks it up only when asked, because package metadata takes long to read."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002
        values: object,  # noqa: ARG002
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        from importlib.metadata import version  # noqa: PLC0415

        write_output(f"{PROGRAM} {version(PROGRAM)}\n")
        flush_output()
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line.

    A parsed command line names its command in ``command`` (``"recall"``, ``"token create"``). ``url``, ``namespace``,
    ``embeddings`` and ``embedding_model`` are there only if they were given, before or after the command. A wrong
    command line raises ``UsageError``.
    """
    parser = _Parser(
        prog=PROGRAM,
        description="Long-term memory for AI agents, as plain JSON objects in S3 or in a directory.",
        epilog=_PROGRAM_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_PrintVersion, nargs=0, help="print the version and exit")
    _add_store_options(parser)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    _add_writing_commands(commands)
    add_succession_commands(_add_command, commands)
    _add_reading_commands(commands)
    _add_upkeep_commands(commands)
    _add_consolidation_commands(commands)
    _add_transfer_commands(commands)
    add_erasure_commands(_add_command, commands)
    _add_serve_command(commands)
    _add_token_commands(commands)
    _add_cost_command(commands)
    return parser


def _add_store_options(parser: argparse.ArgumentParser) -> None:
    # SUPPRESS keeps the subcommand's copy of an option from overwriting what was given before the subcommand.
    parser.add_argument(
        "--url",
        default=argparse.SUPPRESS,
        help=f"where the store is: s3://bucket/prefix or file://DIR (default: ${names.ENV_URL} or {names.DEFAULT_URL})",
    )
    parser.add_argument(
        "-n",
        "--namespace",
        default=argparse.SUPPRESS,
        metavar="NAMESPACE",
        help=f"whose memories, such as users/alice (default: ${names.ENV_NAMESPACE} or {names.DEFAULT_NAMESPACE})",
    )
    parser.add_argument(
        "--embeddings",
        default=argparse.SUPPRESS,
        choices=names.EMBEDDINGS,
        help=f"what finds memories by meaning (default: ${names.ENV_EMBEDDINGS} or {names.DEFAULT_EMBEDDINGS})",
    )
    parser.add_argument(
        "--embedding-model",
        default=argparse.SUPPRESS,
        metavar="M",
        help=f"its model: a directory for onnx, else a name (default: ${names.ENV_EMBEDDING_MODEL} or the usual one)",
    )


def _add_command(commands: Commands, name: str, summary: str, *examples: str) -> _Parser:
    """Add a command; ``name`` is its full name, of which the last word is what the parser at this level reads."""
    parser = commands.add_parser(
        name.rsplit(maxsplit=1)[-1],
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog="\n".join(["examples:", *(f"  {PROGRAM} {name} {example}".rstrip() for example in examples)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=name)
    _add_store_options(parser)
    return parser


def _add_writing_commands(commands: Commands) -> None:
    remember = _add_command(
        commands,
        "remember",
        "store one memory",
        '"Alice is vegetarian" --tag food --importance 0.8 -n users/alice',
        '"Asked for a ramen recipe" --kind episodic --ttl-days 7 -n users/alice',
    )
    remember.add_argument("text", metavar="TEXT", help="what to remember")
    add_new_fields(remember)
    add_validity(remember, begin="since when it is true (default: now)")
    add_pin(remember)
    remember.add_argument("--id", help="an id of your own (default: a new time-ordered one)")
    remember.add_argument("--resurrect", action="store_true", help="allow an --id that was forgotten")
    for option, what in _ATTRIBUTION_OPTIONS.items():
        remember.add_argument(option, help=what)

    update = _add_command(
        commands,
        "update",
        "change fields of one memory; the others stay as they are",
        "alice-diet --content 'Alice is vegan' --expected-version 1 -n users/alice",
        "alice-diet --data '{\"since\": null}' --clear expiry -n users/alice",
    )
    add_id(update)
    update.add_argument("--content", help="the new text")
    add_change_fields(update)
    add_validity(update, begin="since when it is true")
    add_pin(update)
    update.add_argument(
        "--clear",
        action="append",
        choices=CLEARABLE_FIELDS,
        default=[],
        help="empty a field; may be repeated",
    )
    update.add_argument(
        "--expected-version", type=int, metavar="V", help="change it only if it still has this version (else exit 3)"
    )

    forget = _add_command(commands, "forget", "delete one memory for good", "alice-diet --reason outdated")
    add_id(forget)
    forget.add_argument("--reason", help="why; kept in the tombstone, never the content")


_ATTRIBUTION_OPTIONS: Final[Mapping[str, str]] = {
    "--user-id": "the user it is about",
    "--agent-id": "the agent that learnt it",
    "--session-id": "the conversation it is from",
    "--author": "who said it",
}


def _add_reading_commands(commands: Commands) -> None:
    recall = _add_command(
        commands,
        "recall",
        "search memories, best first",
        '"what can Alice eat?" -n users/alice',
        '"units" --kind procedural --limit 3 --explain -n users/alice',
        '"trips" --filter \'{"data.city": "Rome", "data.price": {"$lt": 10}}\'',
    )
    recall.add_argument("query", metavar="QUERY", help='what to look for; "" ranks by recency and importance')
    add_selection(recall, limit_default=10)
    recall.add_argument("--explain", action="store_true", help="show the parts of each score")

    get = _add_command(commands, "get", "show one memory", "alice-diet -n users/alice")
    add_id(get)

    listing = _add_command(
        commands, "list", "show memories, most recently updated first", "--tag food --limit 20 -n users/alice"
    )
    add_selection(listing, limit_default=50)
    listing.add_argument("--cursor", help="the next_cursor of the page before")


def _add_upkeep_commands(commands: Commands) -> None:
    _add_command(commands, "prune", "forget the memories that have expired", "-n users/alice")
    _add_command(commands, "reindex", "rebuild the index from the memory objects", "-n users/alice")
    _add_command(commands, "sweep", "compare the index with the memory objects and repair it", "-n users/alice")
    _add_command(commands, "stats", "show figures about a namespace", "-n users/alice")
    namespaces = _add_command(commands, "namespaces", "show the namespaces of the store", "", "users")
    namespaces.add_argument("prefix", nargs="?", metavar="PREFIX", help="only this namespace and those below it")


def _add_consolidation_commands(commands: Commands) -> None:
    consolidate = _add_command(
        commands,
        "consolidate",
        "merge memories that say the same",
        "--dry-run -n users/alice",
        "--kind semantic --threshold 0.6 -n users/alice",
        "undo 01a16b209bf83fe5ba69f185 -n users/alice",
    )
    add_consolidation(consolidate)
    actions = consolidate.add_subparsers(metavar="ACTION", title="actions")
    undo = _add_command(
        actions, "consolidate undo", "take back what a run merged", "01a16b209bf83fe5ba69f185 -n users/alice"
    )
    add_run_id(undo)
    _add_command(actions, "consolidate runs", "show what runs have merged", "-n users/alice")


def _add_transfer_commands(commands: Commands) -> None:
    export = _add_command(
        commands, "export", "write memories as JSON lines", "-n users/alice > alice.jsonl", "-o alice.jsonl"
    )
    cli_transfer_options.add_export(export)

    importing = _add_command(
        commands,
        "import",
        "read memories as JSON lines into the namespace given by -n",
        "alice.jsonl -n users/alice",
        "- --overwrite < alice.jsonl",
    )
    cli_transfer_options.add_import(importing)
    migrate = _add_command(
        commands,
        "migrate",
        "read another system's memories; reading them again changes nothing",
        "mem0 memories.json -n users/alice",
        "mcp-memory memory.jsonl --dry-run -n users/alice",
    )
    cli_transfer_options.add_migrate(migrate)
    events = _add_command(
        commands,
        "events",
        "show what changed: ids and versions, never content",
        "-n users/alice",
        "--follow --cursor now -n users/alice",
    )
    cli_transfer_options.add_events(events)


def _add_serve_command(commands: Commands) -> None:
    serve = _add_command(
        commands,
        "serve",
        "serve one namespace to an MCP client on standard input and output",
        "-n users/alice",
        "--read-only -n users/alice",
    )
    serve.add_argument("--read-only", action="store_true", help="offer only what changes nothing")


def _add_cost_command(commands: Commands) -> None:
    cost = _add_command(
        commands,
        "cost",
        "estimate what a month on AWS costs, and compare",
        "--recalls 100000 --writes 10000 --memories 50000",
        "--recalls 10000000 --writes 3000000 --memories 10000000 --namespaces 10000 --json",
    )
    add_workload(cost)


def _add_token_commands(commands: Commands) -> None:
    token = commands.add_parser(
        "token", help="manage access tokens of the HTTP API", description="Manage access tokens of the HTTP API."
    )
    _add_store_options(token)
    actions = token.add_subparsers(metavar="ACTION", required=True, title="actions")
    create = _add_command(
        actions,
        "token create",
        "create a token; it is shown once and only its SHA-256 is kept",
        "--principal alice-laptop -n users/alice",
        "--principal backend --namespace-prefix users --permission read --ttl-days 30",
    )
    create.add_argument("--principal", required=True, metavar="P", help="who will bear it")
    create.add_argument(
        "--namespace-prefix", metavar="NAMESPACE", help="cover this namespace and all below it (instead of -n)"
    )
    create.add_argument(
        "--permission",
        action="append",
        choices=[permission.value for permission in Permission],
        help="what it allows; may be repeated (default: read and write)",
    )
    add_ttl_days(create, "days until it expires (default: never)")
    _add_command(actions, "token list", "show the grants of all tokens", "")
    revoke = _add_command(actions, "token revoke", "make a token invalid", "3f2a9c01")
    revoke.add_argument("token_id", metavar="ID", help="its token_id, or the first 8 or more digits of it")


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Return the parsed command line.

    Raises:
        UsageError: it is wrong.
        OutputError: help or the version cannot be written.
        SystemExit: help or the version was asked for and is written (code 0).
    """
    parser = build_parser()
    for position, argument in enumerate(argv, start=1):
        if not _is_unicode(argument):
            parser.error(f"argument {position} is not valid UTF-8 text")
    return parser.parse_args(argv)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
