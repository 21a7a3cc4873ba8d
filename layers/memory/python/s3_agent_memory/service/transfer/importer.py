"""Import of JSON lines: many memories at once, in bounded memory, and again after it was killed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.memory import Memory, check_memory
from s3_agent_memory.errors import AgentMemoryError, ConflictError, ForgottenError, OtherKindError
from s3_agent_memory.service.memories.writer import MemoryWriter
from s3_agent_memory.service.results import ImportReport, LineError, Progress, no_progress
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.transfer.indexing import Indexing
from s3_agent_memory.service.transfer.lines import Batch, LineReader, NumberedDocument, memory_of
from s3_agent_memory.service.upkeep.housekeeper import Housekeeper

ERROR_COUNT_MAX: Final = 100


class _Outcome(Enum):
    IMPORTED = "imported"
    OVERWRITTEN = "overwritten"
    SKIPPED = "skipped"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class _Replacement:
    """An update that puts an imported memory in the place of the present one."""

    memory: Memory

    def apply(self, memory: Memory, limits: Limits) -> Memory:
        """Return the imported memory under the identity of the present one."""
        return check_memory(replace(self.memory, id=memory.id, kind=memory.kind), limits)


@dataclass(frozen=True, slots=True)
class _Line:
    """A memory to write, the number of its line, and whether the line itself names its id."""

    number: int
    memory: Memory
    has_id: bool


# Runs a function over lines, one after the other or several at a time, and gives the results in order.
_Apply = Callable[
    [Callable[[_Line], "_Outcome | LineError"], Sequence[_Line]],
    Iterable["_Outcome | LineError"],
]


class Importer:
    """Writes memories from JSON lines into one namespace; the namespace in a line is ignored.

    Args:
        open_indexing: gives what makes written memories visible, afresh for each import.
        worker_count: lines that are written at once.
    """

    def __init__(
        self,
        runtime: Runtime,
        housekeeper: Housekeeper,
        *,
        open_indexing: Callable[[Namespace], Indexing],
        worker_count: int,
    ) -> None:
        self._runtime = runtime
        self._housekeeper = housekeeper
        self._open_indexing = open_indexing
        self._worker_count = worker_count

    def import_lines(
        self,
        namespace: Namespace,
        lines: Iterable[str | bytes],
        *,
        overwrite: bool,
        resurrect: bool,
        verifies: bool = True,
        progress: Progress = no_progress,
    ) -> ImportReport:
        """Import every line that can be read; a wrong line is reported with its number and changes nothing.

        Lines of one id are written in their order, all others in any.

        Args:
            verifies: whether checksum lines are compared; False if ``lines`` may be a part of what was exported.
        """
        reader = LineReader(self._runtime, verifies=verifies)
        indexing = self._open_indexing(namespace)
        run = _Run(self._runtime, namespace, indexing, overwrite=overwrite, resurrect=resurrect)
        with ThreadPoolExecutor(self._worker_count) as pool:
            apply: _Apply = map if self._worker_count == 1 else pool.map
            try:
                for batch in reader.batches(lines):
                    run.take(batch, apply)
                    progress(run.done, None)
            finally:
                # Also when the lines break off: what was written before is visible then.
                indexing.finish()
        self._housekeeper.finish_import(
            namespace,
            indexing.loose_count,
            progress=lambda embedded, total: progress(run.done + embedded, run.done + (total or 0)),
        )
        return run.report(reader)


class _Run:
    """One import under way."""

    def __init__(
        self, runtime: Runtime, namespace: Namespace, indexing: Indexing, *, overwrite: bool, resurrect: bool
    ) -> None:
        self._runtime = runtime
        self._namespace = namespace
        self._indexing = indexing
        self._writer: MemoryWriter = indexing.writer
        self._overwrite = overwrite
        self._resurrect = resurrect
        self._counts = dict.fromkeys(_Outcome, 0)
        self._errors: list[LineError] = []
        self._failed = 0
        self.done = 0

    def take(self, batch: Batch, apply: _Apply) -> None:
        """Write the memories of a batch."""
        self._note_errors(batch.errors)
        for wave in _waves(self._lines(batch.documents)):
            skipped: dict[str, Kind | None] = {}
            written = 0
            for line, outcome in zip(wave, apply(self._write_line, wave), strict=True):
                if isinstance(outcome, LineError):
                    self._note_errors([outcome])
                    continue
                self._counts[outcome] += 1
                written += outcome in (_Outcome.IMPORTED, _Outcome.OVERWRITTEN)
                if outcome is _Outcome.SKIPPED:
                    skipped[line.memory.id] = line.memory.kind
            self._indexing.note(written, skipped, may_list=not self._overwrite)
        self.done += batch.line_count

    def report(self, reader: LineReader) -> ImportReport:
        """Return what came of all lines."""
        return ImportReport(
            imported=self._counts[_Outcome.IMPORTED],
            overwritten=self._counts[_Outcome.OVERWRITTEN],
            skipped=self._counts[_Outcome.SKIPPED],
            refused=self._counts[_Outcome.REFUSED],
            failed=self._failed,
            errors=tuple(sorted(self._errors, key=lambda error: error.line)),
            checksum=reader.checked.value,
        )

    def _note_errors(self, errors: Sequence[LineError]) -> None:
        self._failed += len(errors)
        self._errors += errors[: ERROR_COUNT_MAX - len(self._errors)]

    def _lines(self, documents: Sequence[NumberedDocument]) -> Iterator[_Line]:
        """Yield the lines that are to be written, and count those that need not even be looked at."""
        known = self._indexing.known([item.id or "" for item in documents])
        for item, is_known in zip(documents, known, strict=True):
            if is_known:
                self._counts[_Outcome.SKIPPED] += 1
                continue
            try:
                memory = memory_of(item.document, self._namespace, self._runtime)
            except AgentMemoryError as error:
                self._note_errors([LineError(item.number, error.code, str(error))])
                continue
            yield _Line(item.number, memory, "id" in item.document)

    def _write_line(self, line: _Line) -> _Outcome | LineError:
        try:
            if not line.has_id:
                self._writer.create(line.memory)
                return _Outcome.IMPORTED
            return self._write(line.memory)
        except AgentMemoryError as error:
            return LineError(line.number, error.code, str(error))

    def _write(self, memory: Memory) -> _Outcome:
        try:
            self._writer.remember_as(memory, resurrect=self._resurrect)
        except ForgottenError:
            return _Outcome.REFUSED
        except OtherKindError:
            # The id is taken, and what the line says is nowhere: that is no memory that "exists already".
            raise
        except ConflictError:
            if not self._overwrite:
                return _Outcome.SKIPPED
            self._writer.update(memory.namespace, memory.id, _Replacement(memory), kind=memory.kind)
            return _Outcome.OVERWRITTEN
        return _Outcome.IMPORTED


def _waves(lines: Iterable[_Line]) -> Iterator[list[_Line]]:
    """Yield the lines in groups without a repeated id, so that a group may be written in any order."""
    wave: dict[str, _Line] = {}
    for line in lines:
        if line.memory.id in wave:
            yield list(wave.values())
            wave = {}
        wave[line.memory.id] = line
    if wave:
        yield list(wave.values())
