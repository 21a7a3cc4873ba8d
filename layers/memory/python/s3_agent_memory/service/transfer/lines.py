"""The lines of an import: what each is, and the memory it describes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from s3_agent_memory.domain.checksum_line import Checked, LineChecksum, parse_checksum_line
from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.codec import MEMORY_FIELDS, memory_from_json
from s3_agent_memory.domain.json_values import decode_json
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory, check_memory
from s3_agent_memory.domain.timestamps import format_timestamp
from s3_agent_memory.errors import AgentMemoryError, CorruptError, ValidationError
from s3_agent_memory.service.results import LineError
from s3_agent_memory.service.runtime import Runtime

_BATCH_LINES_MAX: Final = 512
_BATCH_BYTES_MAX: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class NumberedDocument:
    """A line that is a JSON object, and its number from 1."""

    number: int
    document: Mapping[str, object]

    @property
    def id(self) -> str | None:
        """The id the line names, if it names one that is text."""
        found = self.document.get("id")
        return found if isinstance(found, str) else None


@dataclass(frozen=True, slots=True)
class Batch:
    """Some lines that follow each other: how many there are, those that are objects, and what is wrong with others."""

    line_count: int
    documents: tuple[NumberedDocument, ...]
    errors: tuple[LineError, ...]


class LineReader:
    """Reads lines into batches, and compares the checksum lines among them.

    Args:
        verifies: False passes over checksum lines; what is read may be part of a file only.
    """

    def __init__(self, runtime: Runtime, *, verifies: bool = True) -> None:
        self._runtime = runtime
        self._verifies = verifies
        self._checksum = LineChecksum()
        self._found_any = False

    @property
    def checked(self) -> Checked:
        """What the checksum lines say about the lines read so far."""
        return self._checksum.conclusion(found_any=self._found_any) if self._verifies else Checked.ABSENT

    def batches(self, lines: Iterable[str | bytes]) -> Iterator[Batch]:
        """Yield the lines in batches of bounded size; an empty line is nothing."""
        documents: list[NumberedDocument] = []
        errors: list[LineError] = []
        size_bytes = line_count = 0
        for number, line in enumerate(lines, start=1):
            line_count += 1
            size_bytes += len(line)
            try:
                document = self._read(line)
                if document is not None:
                    documents.append(NumberedDocument(number, document))
            except AgentMemoryError as error:
                errors.append(LineError(number, error.code, str(error)))
            if line_count >= _BATCH_LINES_MAX or size_bytes >= _BATCH_BYTES_MAX:
                yield Batch(line_count, tuple(documents), tuple(errors))
                documents, errors, size_bytes, line_count = [], [], 0, 0
        if line_count:
            yield Batch(line_count, tuple(documents), tuple(errors))

    def _read(self, line: str | bytes) -> Mapping[str, object] | None:
        try:
            body = line.encode() if isinstance(line, str) else line
        except UnicodeEncodeError:
            raise ValidationError("the line is not valid Unicode") from None
        found = parse_checksum_line(body)
        if found is None:
            self._checksum.add(body.rstrip(b"\r\n"))
            return self._decode(body)
        self._found_any = True
        wrong = self._checksum.compare(found) if self._verifies else None
        if wrong is not None:
            raise CorruptError(wrong, key="")
        return None

    def _decode(self, body: bytes) -> Mapping[str, object] | None:
        if not body.strip():
            return None
        self._runtime.limits.check("line_bytes_max", len(body), f"the line is {len(body)} bytes or more")
        document = decode_json(body)
        if not isinstance(document, Mapping):
            raise ValidationError("a line must be a JSON object")
        return document


def memory_of(document: Mapping[str, object], namespace: Namespace, runtime: Runtime) -> Memory:
    """Return the memory that a line describes, in ``namespace`` whatever the line says; what it leaves out is new.

    Raises:
        ValidationError: a field is unknown or wrong.
    """
    unknown = [name for name in document if name not in MEMORY_FIELDS]
    if unknown:
        raise ValidationError(f"unknown field {unknown[0]!r}; allowed are: " + ", ".join(MEMORY_FIELDS))
    defaults = {} if document.keys() >= _NEEDED else _defaults(runtime)
    memory = memory_from_json({**defaults, **document, "namespace": list(namespace)})
    return check_memory(memory, runtime.limits)


_NEEDED: Final = frozenset({"id", "kind", "created_at"})


def _defaults(runtime: Runtime) -> dict[str, object]:
    return {
        "id": runtime.ids.new_id(),
        "kind": Kind.SEMANTIC.value,
        "created_at": format_timestamp(to_datetime(runtime.clock.now_us())),
    }
