"""Export and import as JSON lines: one memory a line, in the stored form."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.codec import MEMORY_FIELDS, memory_from_json, memory_to_json
from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.domain.keys import Namespace, TruthKey, memory_prefix, tombstone_prefix
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.memory import Memory, check_memory
from s3_agent_memory.domain.timestamps import format_timestamp
from s3_agent_memory.errors import (
    AgentMemoryError,
    ConflictError,
    CorruptError,
    ForgottenError,
    ValidationError,
)
from s3_agent_memory.service.housekeeper import Housekeeper
from s3_agent_memory.service.listing import truth_pages
from s3_agent_memory.service.results import ImportReport, LineError, Progress, no_progress
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.truth import Truth, decode_present
from s3_agent_memory.service.writer import MemoryWriter

_BATCH_SIZE: Final = 128
_ERROR_COUNT_MAX: Final = 100
_FOLD_LINE_COUNT: Final = 5_000


class _Outcome(Enum):
    IMPORTED = "imported"
    OVERWRITTEN = "overwritten"
    SKIPPED = "skipped"
    REFUSED = "refused"


class Exporter:
    """Reads all memories of a namespace from the objects themselves, oldest id first within each kind."""

    def __init__(self, runtime: Runtime, truth: Truth) -> None:
        self._runtime = runtime
        self._truth = truth

    def export(
        self,
        namespace: Namespace,
        *,
        include_expired: bool = False,
        progress: Progress = no_progress,
        on_corrupt: Callable[[str], None],
    ) -> Iterator[str]:
        """Yield one JSON text a memory.

        Args:
            on_corrupt: called with the key of each object that cannot be read; the others go on.
        """
        now_us = self._runtime.clock.now_us()
        done = 0
        for memory in self._memories(namespace, on_corrupt):
            if include_expired or not memory.is_expired(now_us):
                done += 1
                progress(done, None)
                yield encode_json(memory_to_json(memory)).decode()

    def _forgotten_ids(self, namespace: Namespace) -> set[str]:
        listed = truth_pages(self._runtime.store, tombstone_prefix(namespace))
        return {item.id for page in listed for item in page}

    def _memories(self, namespace: Namespace, on_corrupt: Callable[[str], None]) -> Iterator[Memory]:
        forgotten = self._forgotten_ids(namespace)
        for kind in Kind:
            for page in truth_pages(self._runtime.store, memory_prefix(namespace, kind)):
                ids = [item.id for item in page]
                for start in range(0, len(ids), _BATCH_SIZE):
                    for memory in self._read(namespace, kind, ids[start : start + _BATCH_SIZE], forgotten):
                        if isinstance(memory, CorruptError):
                            on_corrupt(memory.key)
                        else:
                            yield memory

    def _read(
        self, namespace: Namespace, kind: Kind, ids: list[str], forgotten: set[str]
    ) -> Iterator[Memory | CorruptError]:
        requests = [self._truth.get_request(namespace, kind, memory_id) for memory_id in ids]
        results = self._runtime.store.read_many(requests)
        for memory_id, result in zip(ids, results, strict=True):
            try:
                # An id with a tombstone may be dead or resurrected; that takes the careful read.
                if memory_id in forgotten:
                    memory = self._truth.live(namespace, memory_id, kind)
                else:
                    present = decode_present(result, TruthKey(namespace, kind, memory_id))
                    memory = present.memory if present else None
            except CorruptError as error:
                yield error
                continue
            if memory is not None:
                yield memory


@dataclass(frozen=True, slots=True)
class _Replacement:
    """An update that puts an imported memory in the place of the present one."""

    memory: Memory

    def apply(self, memory: Memory, limits: Limits) -> Memory:
        """Return the imported memory under the identity of the present one."""
        return check_memory(replace(self.memory, id=memory.id, kind=memory.kind), limits)


class Importer:
    """Writes memories from JSON lines into one namespace; the namespace in a line is ignored."""

    def __init__(self, runtime: Runtime, writer: MemoryWriter, housekeeper: Housekeeper, *, worker_count: int) -> None:
        self._runtime = runtime
        self._writer = writer
        self._housekeeper = housekeeper
        self._worker_count = worker_count

    def import_lines(
        self,
        namespace: Namespace,
        lines: Iterable[str | bytes],
        *,
        overwrite: bool,
        resurrect: bool,
        progress: Progress = no_progress,
    ) -> ImportReport:
        """Import every line that can be read; a wrong line is reported with its number and changes nothing."""
        counts = dict.fromkeys(_Outcome, 0)
        errors: list[LineError] = []
        done = unfolded = failed = 0

        def run(numbered: tuple[int, str | bytes]) -> _Outcome | LineError | None:
            return self._import_line(namespace, numbered, overwrite=overwrite, resurrect=resurrect)

        with ThreadPoolExecutor(self._worker_count) as pool:
            apply = map if self._worker_count == 1 else pool.map
            for batch in _batches(lines):
                for outcome in apply(run, batch):
                    done += 1
                    progress(done, None)
                    if isinstance(outcome, LineError):
                        failed += 1
                        if len(errors) < _ERROR_COUNT_MAX:
                            errors.append(outcome)
                    elif outcome is not None:
                        counts[outcome] += 1
                        unfolded += outcome in (_Outcome.IMPORTED, _Outcome.OVERWRITTEN)
                if unfolded >= _FOLD_LINE_COUNT and self._housekeeper.note_import(namespace):
                    unfolded = 0
        self._housekeeper.finish_import(
            namespace, unfolded, progress=lambda embedded, total: progress(done + embedded, done + (total or 0))
        )
        return ImportReport(
            imported=counts[_Outcome.IMPORTED],
            overwritten=counts[_Outcome.OVERWRITTEN],
            skipped=counts[_Outcome.SKIPPED],
            refused=counts[_Outcome.REFUSED],
            failed=failed,
            errors=tuple(errors),
        )

    def _import_line(
        self, namespace: Namespace, numbered: tuple[int, str | bytes], *, overwrite: bool, resurrect: bool
    ) -> _Outcome | LineError | None:
        number, line = numbered
        try:
            body = line.encode() if isinstance(line, str) else line
            if not body.strip():
                return None
            memory, has_id = self._parse(namespace, body)
            if not has_id:
                self._writer.create(memory)
                return _Outcome.IMPORTED
            return self._write(memory, overwrite=overwrite, resurrect=resurrect)
        except UnicodeEncodeError:
            return LineError(number, ValidationError.code, "the line is not valid Unicode")
        except AgentMemoryError as error:
            return LineError(number, error.code, str(error))

    def _parse(self, namespace: Namespace, body: bytes) -> tuple[Memory, bool]:
        self._runtime.limits.check("line_bytes_max", len(body), f"the line is {len(body)} bytes")
        document = decode_json(body)
        if not isinstance(document, Mapping):
            raise ValidationError("a line must be a JSON object")
        unknown = [name for name in document if name not in MEMORY_FIELDS]
        if unknown:
            raise ValidationError(f"unknown field {unknown[0]!r}; allowed are: " + ", ".join(MEMORY_FIELDS))
        defaults = {
            "id": self._runtime.ids.new_id(),
            "kind": Kind.SEMANTIC.value,
            "created_at": format_timestamp(to_datetime(self._runtime.clock.now_us())),
        }
        memory = memory_from_json({**defaults, **document, "namespace": list(namespace)})
        return check_memory(memory, self._runtime.limits), "id" in document

    def _write(self, memory: Memory, *, overwrite: bool, resurrect: bool) -> _Outcome:
        try:
            self._writer.remember_as(memory, resurrect=resurrect)
        except ForgottenError:
            return _Outcome.REFUSED
        except ConflictError:
            return self._write_over(memory, overwrite=overwrite)
        return _Outcome.IMPORTED

    def _write_over(self, memory: Memory, *, overwrite: bool) -> _Outcome:
        if not overwrite:
            return _Outcome.SKIPPED
        self._writer.update(memory.namespace, memory.id, _Replacement(memory), kind=memory.kind)
        return _Outcome.OVERWRITTEN


def _batches(lines: Iterable[str | bytes]) -> Iterator[list[tuple[int, str | bytes]]]:
    batch: list[tuple[int, str | bytes]] = []
    for numbered in enumerate(lines, start=1):
        batch.append(numbered)
        if len(batch) >= _BATCH_SIZE:
            yield batch
            batch = []
    if batch:
        yield batch
