"""Where the command line reads and writes: standard streams, which may be closed or full, and files."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import IO, BinaryIO, Final

from s3_agent_memory.edge.cli.errors import InputError, OutputError
from s3_agent_memory.errors import ValidationError

STANDARD_STREAM: Final = "-"

# Standard output and standard error ----------------------------------------------------------------------------------


def open_output() -> None:
    """Make standard output ready: JSON is UTF-8, as its standard says, whatever the locale is.

    Raises:
        OutputError: standard output is closed.
    """
    if sys.stdout is None:
        raise OutputError("standard output is closed; send it to /dev/null if nobody reads it")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


def write_output(text: str) -> None:
    """Write to standard output.

    Raises:
        OutputError: it cannot be written, such as on a full disk.
        BrokenPipeError: nobody reads it any more.
    """
    _use_output(lambda: sys.stdout.write(text))


def flush_output() -> None:
    """Hand over what was written to standard output, and raise like ``write_output``."""
    _use_output(sys.stdout.flush)


def _use_output(use: Callable[[], object]) -> None:
    try:
        use()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()
        raise OutputError(f"cannot write standard output: {error.strerror}") from error


def drop_output() -> None:
    """Let the interpreter's last flush of standard output go nowhere."""
    _redirect_to_nowhere(sys.stdout)


def print_error(text: str) -> None:
    """Write a line to standard error, if somebody can read it there."""
    if sys.stderr is None:
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _redirect_to_nowhere(sys.stderr)


def _redirect_to_nowhere(stream: IO[str]) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


# Files ---------------------------------------------------------------------------------------------------------------


def write_lines(lines: Iterable[str], output: str | None) -> None:
    """Write lines to a file, which is replaced only when all are written, or to standard output.

    Raises:
        ValidationError: the file cannot be created there.
        OutputError: the file, or standard output, cannot be written.
    """
    with _opened_output(output) as write:
        for line in lines:
            write(line + "\n")


@contextmanager
def _opened_output(output: str | None) -> Iterator[Callable[[str], object]]:
    if output is None or output == STANDARD_STREAM:
        yield write_output
        return
    path = Path(output)
    with _special_file(path) if _is_special(path) else _replaced_file(path) as write:
        yield write


def _is_special(path: Path) -> bool:
    """Return True for a pipe or device: to replace ``/dev/null`` by a file would harm the machine.

    Raises:
        ValidationError: it is a directory, or its name cannot be looked up.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ValidationError(f"cannot write {path}: {error.strerror}") from error
    if S_ISDIR(mode):
        raise ValidationError(f"{path} is a directory; name a file")
    return not S_ISREG(mode)


@contextmanager
def _special_file(path: Path) -> Iterator[Callable[[str], object]]:
    try:
        file = path.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise ValidationError(f"cannot write {path}: {error.strerror}") from error
    with _written(file, path) as write:
        yield write


@contextmanager
def _replaced_file(path: Path) -> Iterator[Callable[[str], object]]:
    try:
        # Through a symbolic link the file it points to is replaced, not the link.
        target = Path(os.path.realpath(path))
        temporary, file = _temporary_file(target.parent)
    except OSError as error:
        raise ValidationError(f"cannot create {path}: {error.strerror}") from error
    try:
        with _written(file, path) as write:
            yield write
        with _output_errors_translated(path):
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _temporary_file(folder: Path) -> tuple[Path, IO[str]]:
    import tempfile  # noqa: PLC0415  # It takes long to load, and only an export into a file needs it.

    handle, name = tempfile.mkstemp(prefix=".s3-agent-memory-", dir=folder)
    return Path(name), os.fdopen(handle, "w", encoding="utf-8", newline="\n")


@contextmanager
def _written(file: IO[str], path: Path) -> Iterator[Callable[[str], object]]:
    """Yield what writes to an open file; errors of the caller in between are not those of the file."""

    def write(text: str) -> None:
        with _output_errors_translated(path):
            file.write(text)

    try:
        yield write
        with _output_errors_translated(path):
            file.close()
    finally:
        # A closed file does nothing here; one that could not be written may fail once more for the same reason.
        with suppress(OSError):
            file.close()


@contextmanager
def _output_errors_translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def opened_input(source: str) -> Iterator[BinaryIO]:
    """Yield a file opened for reading bytes, or standard input for ``-``.

    Raises:
        ValidationError: the file cannot be opened, or standard input is closed.
    """
    if source == STANDARD_STREAM:
        if sys.stdin is None:
            raise ValidationError("standard input is closed; name a file, or send one to standard input")
        yield sys.stdin.buffer
        return
    try:
        file = Path(source).open("rb")  # noqa: SIM115  # It is closed below; only opening may fail as a wrong request.
    except OSError as error:
        raise ValidationError(f"cannot read {source}: {error.strerror}") from error
    with file:
        yield file


def bounded_lines(file: BinaryIO, *, line_bytes_max: int) -> Iterator[bytes]:
    """Yield the lines of a file without their ends, in bounded memory.

    Of a line longer than ``line_bytes_max`` only one byte more is yielded: enough to see that it is too long.

    Raises:
        InputError: the file cannot be read any further.
    """
    while piece := _read_piece(file, line_bytes_max + 2):
        line = piece.rstrip(b"\r\n")
        if not piece.endswith(b"\n"):
            _skip_line(file)
        yield line[: line_bytes_max + 1]


def _skip_line(file: BinaryIO) -> None:
    while piece := _read_piece(file, 2**20):
        if piece.endswith(b"\n"):
            return


def _read_piece(file: BinaryIO, size_max: int) -> bytes:
    try:
        return file.readline(size_max)
    except OSError as error:
        raise InputError(f"cannot read the input any further: {error.strerror}") from error
