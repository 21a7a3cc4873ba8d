"""What the command line shows: JSON documents, files written in one piece, and progress."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, BinaryIO, Final

from s3_agent_memory.domain.grants import Grant
from s3_agent_memory.domain.keys import format_namespace
from s3_agent_memory.domain.timestamps import format_timestamp
from s3_agent_memory.errors import BackendError, ValidationError
from s3_agent_memory.service.results import Progress, no_progress

STANDARD_STREAM: Final = "-"


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
    if not sys.stderr.isatty():
        yield no_progress
        return
    from tqdm import tqdm  # noqa: PLC0415  # Only a long command at a terminal needs it.

    with tqdm(desc=title, unit=" memories", file=sys.stderr) as bar:

        def show(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show


def write_lines(lines: Iterator[str], output: str | None) -> None:
    """Write lines to a file, which is replaced only when all are written, or to standard output.

    Raises:
        ValidationError: the file cannot be created there.
        BackendError: the file cannot be written.
    """
    with _opened_output(output) as file:
        for line in lines:
            file.write(f"{line}\n")


@contextmanager
def _opened_output(output: str | None) -> Iterator[IO[str]]:
    if output is None or output == STANDARD_STREAM:
        yield sys.stdout
        return
    path = Path(output)
    is_special = path.exists() and not path.is_file()
    # Through a symbolic link the file it points to is replaced, not the link.
    with _translated_errors(path), _special_file(path) if is_special else _replaced_file(path.resolve()) as file:
        yield file


@contextmanager
def _special_file(path: Path) -> Iterator[IO[str]]:
    """Write to a pipe or device as it is: replacing ``/dev/null`` by a file would harm the machine."""
    if path.is_dir():
        raise ValidationError(f"{path} is a directory; name a file")
    with path.open("w", encoding="utf-8", newline="\n") as file:
        yield file


@contextmanager
def _replaced_file(path: Path) -> Iterator[IO[str]]:
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise ValidationError(f"cannot create {path}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


@contextmanager
def _translated_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BackendError(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def opened_input(source: str) -> Iterator[BinaryIO]:
    """Yield a file opened for reading bytes, or standard input for ``-``.

    Raises:
        ValidationError: the file cannot be opened.
    """
    if source == STANDARD_STREAM:
        yield sys.stdin.buffer
        return
    with ExitStack() as stack:
        try:
            file = stack.enter_context(Path(source).open("rb"))
        except OSError as error:
            raise ValidationError(f"cannot read {source}: {error.strerror}") from error
        yield file


def bounded_lines(file: BinaryIO, *, line_bytes_max: int) -> Iterator[bytes]:
    """Yield the lines of a file without their ends, in bounded memory.

    Of a line longer than ``line_bytes_max`` only one byte more is yielded: enough to see that it is too long.
    """
    while piece := file.readline(line_bytes_max + 2):
        line = piece.rstrip(b"\r\n")
        if not piece.endswith(b"\n"):
            _skip_line(file)
        yield line[: line_bytes_max + 1]


def _skip_line(file: BinaryIO) -> None:
    while piece := file.readline(2**20):
        if piece.endswith(b"\n"):
            return
