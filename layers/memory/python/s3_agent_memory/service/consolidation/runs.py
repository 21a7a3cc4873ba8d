"""The records of consolidations: created once, changed by swaps, listed by whoever looks after them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from s3_agent_memory import names
from s3_agent_memory.domain.consolidation import ConsolidationRun, decode_run, encode_run
from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.keys import Namespace, consolidation_key, consolidation_prefix
from s3_agent_memory.errors import (
    CorruptError,
    NotFoundError,
    PreconditionFailedError,
    ThrottledError,
    UnknownOutcomeError,
)
from s3_agent_memory.service.file_writer import write_once
from s3_agent_memory.service.listing import pages
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.storage.port import Get, StoredObject

_RECORD_BYTES_MAX: Final = 16 * 1024 * 1024
_READ_COUNT: Final = 64


@dataclass(frozen=True, slots=True)
class Swap:
    """A record after an attempt to change it, and whether this call changed it."""

    run: ConsolidationRun
    is_changed: bool


class ConsolidationRuns:
    """Keeps the records of any namespace."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def create(self, namespace: Namespace, run: ConsolidationRun) -> None:
        """Write a new record."""
        write_once(self._runtime, consolidation_key(namespace, run.id), encode_run(run), what="record a consolidation")

    def load(self, namespace: Namespace, run_id: str) -> ConsolidationRun:
        """Return a record.

        Raises:
            NotFoundError: there is none of that id.
            CorruptError: it cannot be read.
        """
        return self._load(namespace, run_id)[0]

    def swap(
        self, namespace: Namespace, run_id: str, change: Callable[[ConsolidationRun], ConsolidationRun | None]
    ) -> Swap:
        """Apply a change to the present record, again after every lost race.

        A run never returns to a state it was in, so equal bytes are this call's own.

        Args:
            change: returns the changed run, or None to leave it.

        Raises:
            NotFoundError: there is no such run.
        """
        sent: set[bytes] = set()
        for _ in self._runtime.retrier.attempts("record a consolidation"):
            run, etag, body = self._load(namespace, run_id)
            if body in sent:
                return Swap(run, is_changed=True)
            changed = change(run)
            if changed is None or changed == run:
                return Swap(run, is_changed=False)
            sent.add(encoded := encode_run(changed))
            try:
                self._runtime.store.put(consolidation_key(namespace, run_id), encoded, if_match=etag)
            except (PreconditionFailedError, ThrottledError, UnknownOutcomeError):
                continue
            return Swap(changed, is_changed=True)
        raise AssertionError("unreachable: the attempts end with an error")

    def all(self, namespace: Namespace) -> Iterator[ConsolidationRun]:
        """Yield all records, the oldest first; those that cannot be read are left out."""
        for page in pages(self._runtime.store, consolidation_prefix(namespace)):
            keys = [item.key for item in page if item.key.endswith(names.OBJECT_SUFFIX)]
            for start in range(0, len(keys), _READ_COUNT):
                wanted = keys[start : start + _READ_COUNT]
                results = self._runtime.store.read_many([Get(key, _RECORD_BYTES_MAX) for key in wanted])
                for key, result in zip(wanted, results, strict=True):
                    if isinstance(result, StoredObject) and not result.is_truncated:
                        try:
                            yield decode_run(result.body, key)
                        except CorruptError:
                            continue

    def delete(self, namespace: Namespace, run_id: str) -> None:
        """Delete a record that nobody needs any more."""
        for _ in self._runtime.retrier.attempts("delete the record of a consolidation"):
            try:
                self._runtime.store.delete(consolidation_key(namespace, run_id))
            except (ThrottledError, UnknownOutcomeError):
                continue
            return

    def _load(self, namespace: Namespace, run_id: str) -> tuple[ConsolidationRun, str, bytes]:
        key = consolidation_key(namespace, check_id(run_id))
        found = self._runtime.store.get(key, size_max=_RECORD_BYTES_MAX)
        if found is None:
            raise NotFoundError(f"there is no consolidation {run_id}")
        return decode_run(found.body, key), found.etag, found.body
