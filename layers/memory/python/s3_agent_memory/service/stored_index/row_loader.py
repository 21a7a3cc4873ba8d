"""Turns the present objects of given ids into index rows: how every event, log entry and sweep is answered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from s3_agent_memory.domain.keys import Namespace, TruthKey, tombstone_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import CorruptError
from s3_agent_memory.index.row import Row, row_of_memory, row_of_tombstone
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.truth import PresentMemory, Truth, decode_present, decode_present_tombstone, is_dead
from s3_agent_memory.storage.port import ReadResult

_BATCH_SIZE: Final = 128


@dataclass(frozen=True, slots=True)
class LoadedRows:
    """What was found of some ids.

    Attributes:
        rows: of ids that have an object or a tombstone.
        corrupt_keys, corrupt_ids: objects that could not be read, and the ids they belong to.
        absent_ids: ids that have neither object nor tombstone.
    """

    rows: tuple[Row, ...]
    corrupt_keys: tuple[str, ...]
    corrupt_ids: tuple[str, ...]
    absent_ids: tuple[str, ...]


class RowLoader:
    """Reads object and tombstone of each id and gives the row of whichever wins; deletes dead objects it meets."""

    def __init__(self, runtime: Runtime, truth: Truth) -> None:
        self._runtime = runtime
        self._truth = truth

    def load(self, namespace: Namespace, ids: Mapping[str, Kind | None], analyzer: Analyzer) -> LoadedRows:
        """Return the rows of ids.

        Args:
            ids: memory ids and the kind each lies under, None if it is not known.
            analyzer: how text becomes terms.
        """
        rows: list[Row] = []
        corrupt: dict[str, str] = {}
        absent: list[str] = []
        for batch in _batched(ids):
            for memory_id, results in self._read(namespace, batch):
                try:
                    row = self._row(namespace, memory_id, results, analyzer)
                except CorruptError as error:
                    corrupt[memory_id] = error.key
                    continue
                if row is None:
                    absent.append(memory_id)
                else:
                    rows.append(row)
        return LoadedRows(tuple(rows), tuple(corrupt.values()), tuple(corrupt), tuple(absent))

    def _read(
        self, namespace: Namespace, batch: Mapping[str, Kind | None]
    ) -> list[tuple[str, list[tuple[Kind | None, ReadResult]]]]:
        kinds = {memory_id: (kind,) if kind else tuple(Kind) for memory_id, kind in batch.items()}
        requests = [
            (memory_id, kind, self._truth.get_request(namespace, kind, memory_id))
            for memory_id, options in kinds.items()
            for kind in options
        ] + [(memory_id, None, self._truth.tombstone_request(namespace, memory_id)) for memory_id in batch]
        results = self._runtime.store.read_many([request for _, _, request in requests])
        grouped: dict[str, list[tuple[Kind | None, ReadResult]]] = {memory_id: [] for memory_id in batch}
        for (memory_id, kind, _), result in zip(requests, results, strict=True):
            grouped[memory_id].append((kind, result))
        return list(grouped.items())

    def _row(
        self,
        namespace: Namespace,
        memory_id: str,
        results: list[tuple[Kind | None, ReadResult]],
        analyzer: Analyzer,
    ) -> Row | None:
        present: PresentMemory | None = None
        tombstone = None
        for kind, result in results:
            if kind is None:
                tombstone = decode_present_tombstone(result, tombstone_key(namespace, memory_id))
            else:
                present = decode_present(result, TruthKey(namespace, kind, memory_id)) or present
        if present is not None and is_dead(present, tombstone):
            self._truth.clear_dead(present)
            present = None
        if present is not None:
            return row_of_memory(present.memory, etag=present.etag, analyzer=analyzer)
        return None if tombstone is None else row_of_tombstone(tombstone.tombstone, etag=tombstone.etag)


def _batched(ids: Mapping[str, Kind | None]) -> list[dict[str, Kind | None]]:
    items = list(ids.items())
    return [dict(items[start : start + _BATCH_SIZE]) for start in range(0, len(items), _BATCH_SIZE)]
