"""Options that several commands share, and the types of their values."""

import argparse
from collections.abc import Mapping
from typing import Final

from s3_agent_memory.domain.json_values import decode_json
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import IMPORTANCE_DEFAULT
from s3_agent_memory.errors import ValidationError

_KINDS: Final[Mapping[Kind, str]] = {
    Kind.SEMANTIC: "a fact",
    Kind.EPISODIC: "an event",
    Kind.PROCEDURAL: "an instruction or a preference",
}


def add_id(parser: argparse.ArgumentParser) -> None:
    """Add the id of one memory."""
    parser.add_argument("id", metavar="ID", help="the id of the memory")


def add_new_fields(parser: argparse.ArgumentParser) -> None:
    """Add the fields of a new memory."""
    kinds = "; ".join(f"{kind}: {meaning}" for kind, meaning in _KINDS.items())
    _add_kind(parser, f"{kinds} (default: {Kind.SEMANTIC})")
    _add_tags(parser, "a label; may be repeated (default: none)")
    parser.add_argument(
        "--importance",
        type=float,
        metavar="F",
        help=f"0 to 1; the higher, the better the rank (default: {IMPORTANCE_DEFAULT})",
    )
    add_ttl_days(parser, "days until it expires (default: never)")
    parser.add_argument("--source", help="where it comes from, such as chat:42 (default: none)")
    _add_json(parser, "--data", "a JSON object of your own, up to 32 KiB (default: none)")
    _add_json(parser, "--metadata", "a small JSON object of your own, up to 4 KiB (default: none)")


def add_change_fields(parser: argparse.ArgumentParser, *, has_kind: bool = False) -> None:
    """Add the fields that a change may set."""
    if has_kind:
        _add_kind(parser, "its kind, if it is another one")
    _add_tags(parser, "a label; may be repeated; all of them replace the tags that are there")
    parser.add_argument("--importance", type=float, metavar="F", help="0 to 1; the higher, the better the rank")
    add_ttl_days(parser, "days from now until it expires")
    parser.add_argument("--source", help="where it comes from, such as chat:42")
    _add_json(parser, "--data", "merged into the JSON object that is there; null removes a key")
    _add_json(parser, "--metadata", "merged in the same way")


def add_validity(parser: argparse.ArgumentParser, *, begin: str) -> None:
    """Add when a memory is true."""
    parser.add_argument("--valid-from", metavar="TIME", help=begin)
    parser.add_argument("--valid-to", metavar="TIME", help="no longer true from then on (default: for ever)")


def add_pin(parser: argparse.ArgumentParser) -> None:
    """Add whether a memory is pinned."""
    parser.add_argument(
        "--pin", action=argparse.BooleanOptionalAction, dest="pinned", help="keep it out of every consolidation"
    )


def add_selection(parser: argparse.ArgumentParser, *, limit_default: int) -> None:
    """Add what selects memories."""
    add_chosen(parser)
    parser.add_argument("--as-of", metavar="TIME", help="what was true then, such as 2026-05-01 (default: now)")
    parser.add_argument("--limit", type=int, default=limit_default, metavar="N", help="at most so many (%(default)s)")
    parser.add_argument(
        "--consistency",
        choices=("strong", "eventual"),
        default="strong",
        help="eventual saves one request and may miss the newest (%(default)s)",
    )


def not_blank(text: str) -> str:
    """Return a text; a blank one is an unset variable of a shell, and would choose nothing at all.

    Raises:
        argparse.ArgumentTypeError: it is blank.
    """
    if not text.strip():
        raise argparse.ArgumentTypeError("must not be blank; leave it out to choose all")
    return text


def add_chosen(parser: argparse.ArgumentParser) -> None:
    """Add what chooses memories by what they are."""
    _add_kind(parser, "only memories of this kind (default: all)")
    _add_tags(parser, "only memories with this label; may be repeated, then all are needed")
    _add_json(parser, "--filter", "conditions on fields")


def add_ttl_days(parser: argparse.ArgumentParser, what: str) -> None:
    """Add a time to live in days."""
    parser.add_argument("--ttl-days", type=_days, metavar="N", help=what)


def _add_kind(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--kind", choices=[kind.value for kind in Kind], help=what)


def _add_tags(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--tag", action="append", dest="tags", metavar="T", help=what)


def _add_json(parser: argparse.ArgumentParser, option: str, what: str) -> None:
    parser.add_argument(option, type=_json_value, metavar="JSON", help=what)


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = 0.0
    # Comparing this way round refuses NaN as well.
    if not days > 0:
        raise argparse.ArgumentTypeError("must be a positive number of days")
    return days


def _json_value(text: str) -> object:
    try:
        return decode_json(text.encode())
    except ValidationError:
        raise argparse.ArgumentTypeError("not valid JSON") from None
