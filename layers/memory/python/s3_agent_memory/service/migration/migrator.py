"""Migration: other systems' files as lines of an import, with ids that are the same whenever a file is read.

``mem0``: what its ``get_all`` returns, as JSON: an object with ``results``, or a list. ``mcp-memory``: the file of the
reference MCP memory server, JSON lines with entities and relations.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import BinaryIO, Final, TypeVar

from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.errors import AgentMemoryError, ValidationError
from s3_agent_memory.service.migration.mcp_memory import mcp_memory_lines
from s3_agent_memory.service.migration.mem0 import mem0_line
from s3_agent_memory.service.results import ImportReport, LineError, Progress
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.transfer.importer import ERROR_COUNT_MAX, Importer
from s3_agent_memory.service.transfer.lines import memory_of
from s3_agent_memory.service.truth import Truth

FILE_BYTES_MAX: Final = 512 * 1024 * 1024
_LINE_BYTES_MAX: Final = 16 * 1024 * 1024

Document = Mapping[str, object]
_Entry = TypeVar("_Entry")


class MigrationFormat(StrEnum):
    """The formats that can be read."""

    MEM0 = "mem0"
    MCP_MEMORY = "mcp-memory"


def check_migration_format(value: object) -> MigrationFormat:
    """Return a format.

    Raises:
        ValidationError: there is no such one.
    """
    try:
        return MigrationFormat(str(value))
    except ValueError:
        raise ValidationError("a migration is from one of: " + ", ".join(MigrationFormat)) from None


@dataclass(frozen=True, slots=True)
class _Found:
    """What one entry of a file gives: memories as lines of an import, or what is wrong with it."""

    number: int
    documents: tuple[Document, ...] = ()
    error: AgentMemoryError | None = None


class Migrator:
    """Stores what another system's file holds."""

    def __init__(self, runtime: Runtime, truth: Truth, importer: Importer) -> None:
        self._runtime = runtime
        self._truth = truth
        self._importer = importer

    def migrate(
        self, namespace: Namespace, form: MigrationFormat, file: BinaryIO, *, dry_run: bool, progress: Progress
    ) -> ImportReport:
        """Import a file; memories that are there already are skipped, and with ``dry_run`` nothing is written.

        Errors name the number of the entry (``mem0``) or line (``mcp-memory``) in the file.

        Raises:
            ValidationError: the file as a whole is not of the format.
        """
        source = _Source(_READERS[form](file))
        report = self._try(namespace, source) if dry_run else self._import(namespace, source, progress)
        errors = [replace(error, line=source.numbers[error.line - 1]) for error in report.errors] + source.errors
        return replace(
            report,
            failed=report.failed + len(source.errors),
            errors=tuple(sorted(errors, key=lambda error: error.line)[:ERROR_COUNT_MAX]),
        )

    def _import(self, namespace: Namespace, source: "_Source", progress: Progress) -> ImportReport:
        lines = (line for _, line in source.documents())
        return self._importer.import_lines(
            namespace, lines, overwrite=False, resurrect=False, verifies=False, progress=progress
        )

    def _try(self, namespace: Namespace, source: "_Source") -> ImportReport:
        """Return the report of an import that has not happened."""
        counts = {"imported": 0, "skipped": 0, "refused": 0}
        errors: list[LineError] = []
        ids: set[str] = set()
        for number, (document, _) in enumerate(source.documents(), start=1):
            try:
                memory = memory_of(document, namespace, self._runtime)
                outcome = "skipped" if memory.id in ids else self._outcome_for(namespace, memory.id)
                ids.add(memory.id)
                counts[outcome] += 1
            except AgentMemoryError as error:
                errors.append(LineError(number, error.code, str(error)))
        return ImportReport(
            imported=counts["imported"],
            skipped=counts["skipped"],
            refused=counts["refused"],
            failed=len(errors),
            errors=tuple(errors),
        )

    def _outcome_for(self, namespace: Namespace, memory_id: str) -> str:
        present = self._truth.live_object(namespace, memory_id)
        if present is None:
            return "imported" if self._truth.tombstone(namespace, memory_id) is None else "refused"
        return "refused" if present.memory.is_expired(self._runtime.clock.now_us()) else "skipped"


class _Source:
    """The memories of a file one by one, and from which entry each is.

    Attributes:
        numbers: of each memory, the number of its entry.
        errors: of entries that give no memory.
    """

    def __init__(self, found: Iterable[_Found]) -> None:
        self._found = found
        self.numbers = array("Q")
        self.errors: list[LineError] = []

    def documents(self) -> Iterator[tuple[Document, bytes]]:
        """Yield each memory, also as the line of an import, and take note of where it is from."""
        for item in self._found:
            if item.error is not None:
                self.errors.append(LineError(item.number, item.error.code, str(item.error)))
            for document in item.documents:
                try:
                    line = encode_json(document)
                except ValidationError as error:
                    self.errors.append(LineError(item.number, error.code, str(error)))
                    continue
                self.numbers.append(item.number)
                yield document, line


def _read_mem0(file: BinaryIO) -> Iterator[_Found]:
    body = file.read(FILE_BYTES_MAX + 1)
    if len(body) > FILE_BYTES_MAX:
        raise ValidationError(f"the file is larger than {FILE_BYTES_MAX} bytes; export it in parts")
    try:
        document = decode_json(body)
    except ValidationError as error:
        raise ValidationError(
            f"a mem0 export is one JSON document, and this is not: {error}; is it mcp-memory?"
        ) from error
    entries = document.get("results") if isinstance(document, Mapping) else document
    if not isinstance(entries, list):
        raise ValidationError('a mem0 export is a JSON list of memories, or an object with such a list as "results"')
    for number, entry in enumerate(entries, start=1):
        yield _convert(number, entry, _one_mem0_line)


def _read_mcp_memory(file: BinaryIO) -> Iterator[_Found]:
    for number, line in enumerate(iter(lambda: file.readline(_LINE_BYTES_MAX + 1), b""), start=1):
        if len(line) > _LINE_BYTES_MAX:
            raise ValidationError(f"line {number} is larger than {_LINE_BYTES_MAX} bytes")
        if line.strip():
            yield _convert(number, line, _mcp_memory_lines)


def _one_mem0_line(entry: object) -> Sequence[Document]:
    return [mem0_line(entry)]


def _mcp_memory_lines(line: bytes) -> Sequence[Document]:
    return mcp_memory_lines(decode_json(line))


def _convert(number: int, entry: _Entry, convert: Callable[[_Entry], Sequence[Document]]) -> _Found:
    try:
        return _Found(number, tuple(convert(entry)))
    except ValidationError as error:
        return _Found(number, error=error)


_READERS: Final[Mapping[MigrationFormat, Callable[[BinaryIO], Iterator[_Found]]]] = {
    MigrationFormat.MEM0: _read_mem0,
    MigrationFormat.MCP_MEMORY: _read_mcp_memory,
}
