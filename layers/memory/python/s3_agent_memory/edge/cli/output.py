"""What the command line shows: JSON documents and progress."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from s3_agent_memory.domain.grants import Grant
from s3_agent_memory.domain.keys import format_namespace
from s3_agent_memory.domain.timestamps import format_timestamp
from s3_agent_memory.service.results import Progress, no_progress


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has to say: a JSON document (None if it wrote its output itself) and the exit code."""

    document: object
    exit_code: int = 0


def format_document(document: object) -> str:
    """Return a document as JSON for people and programs: indented, text as it is."""
    return json.dumps(document, ensure_ascii=False, indent=2)


def report_document(report: object) -> Mapping[str, object]:
    """Return a report, a dataclass of plain values, as it is."""
    return asdict(report)  # type: ignore[call-overload, no-any-return]  # every report is a dataclass


def grant_document(grant: Grant) -> dict[str, object]:
    """Return what a token allows; it holds no secret."""
    return {
        "token_id": grant.token_id,
        "principal": grant.principal,
        "namespace": format_namespace(grant.namespace),
        "covers_children": grant.covers_children,
        "permissions": sorted(grant.permissions),
        "created_at": format_timestamp(grant.created_at),
        "expires_at": None if grant.expires_at is None else format_timestamp(grant.expires_at),
    }


@contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """Yield a callback that draws a bar on standard error while a person is watching, else one that does nothing."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield no_progress
        return
    from tqdm import tqdm  # noqa: PLC0415  # Only a long command at a terminal needs it.

    with tqdm(desc=title, unit=" memories", file=sys.stderr) as bar:

        def show(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show
