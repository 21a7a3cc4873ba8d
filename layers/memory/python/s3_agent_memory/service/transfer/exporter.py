"""Export as JSON lines: the memories of a namespace as they are stored, one a line, in bounded memory."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from s3_agent_memory import names
from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.domain.keys import (
    Namespace,
    TruthKey,
    memory_key,
    memory_prefix,
    tombstone_key,
    tombstone_prefix,
)
from s3_agent_memory.domain.kinds import Kind, check_kind
from s3_agent_memory.errors import CorruptError, ValidationError
from s3_agent_memory.index.id_table import hash_ids
from s3_agent_memory.service.listing import truth_pages
from s3_agent_memory.service.memories.selection import Selection
from s3_agent_memory.service.results import ExportPage, Progress, no_progress
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.truth import PresentMemory, Truth, decode_present

_BATCH_SIZE: Final = 128
# Batches that are read while the one before is written.
_READ_AHEAD: Final = 3
_LINE_ENDS: Final = (b"\n", b"\r")
_PAGE_BYTES: Final = 2 * 1024 * 1024
# So many objects are read for one page, whatever a filter lets pass: they take seconds.
_PAGE_COUNT_MAX: Final = 4_096
# In no kind and no id, and the same in a URL.
_CURSOR_MARK: Final = "~"


@dataclass(frozen=True, slots=True)
class _Batch:
    kind: Kind
    ids: list[str]


# A memory; why its object cannot be read; None if it is dead or gone.
_Found = PresentMemory | CorruptError | None


class Exporter:
    """Reads all memories of a namespace from the objects themselves, oldest id first within each kind.

    Args:
        is_remote: reads ahead, because requests wait for a network.
    """

    def __init__(self, runtime: Runtime, truth: Truth, *, is_remote: bool = False) -> None:
        self._runtime = runtime
        self._truth = truth
        self._is_remote = is_remote

    def export(
        self,
        namespace: Namespace,
        selection: Selection,
        *,
        include_expired: bool = False,
        progress: Progress = no_progress,
        on_corrupt: Callable[[str], None],
    ) -> Iterator[str]:
        """Yield one JSON text a memory: the very bytes that are stored, fields of later versions included.

        Args:
            selection: only these.
            on_corrupt: called with the key of each object that cannot be read; the others go on.
        """
        now_us = self._runtime.clock.now_us()
        done = 0
        for found in self._memories(namespace, selection):
            if isinstance(found, CorruptError):
                on_corrupt(found.key)
            elif found and selection.includes(found.memory) and _may_leave(found, include_expired, now_us):
                done += 1
                progress(done, None)
                yield _line_of(found.body)

    def page(
        self,
        namespace: Namespace,
        selection: Selection,
        cursor: str | None,
        *,
        include_expired: bool = False,
        size_bytes_enough: int = _PAGE_BYTES,
    ) -> ExportPage:
        """Return the lines that ``export`` gives, from a cursor on, until they are large enough or many were read.

        A page is no larger than ``size_bytes_enough`` and one memory.

        Raises:
            ValidationError: the cursor is none.
        """
        now_us = self._runtime.clock.now_us()
        behind = None if cursor is None else _decode_cursor(cursor, _kinds_of(selection))
        lines: list[str] = []
        corrupt_keys: list[str] = []
        size_bytes = looked_at = 0
        for batch in self._batches(namespace, _kinds_of(selection), behind):
            forgotten = self._forgotten_among(namespace, batch.ids)
            for memory_id, found in self._read(namespace, batch, forgotten):
                looked_at += 1
                if isinstance(found, CorruptError):
                    corrupt_keys.append(found.key)
                elif found and selection.includes(found.memory) and _may_leave(found, include_expired, now_us):
                    lines.append(_line_of(found.body))
                    size_bytes += len(found.body)
                if size_bytes >= size_bytes_enough or looked_at >= _PAGE_COUNT_MAX:
                    next_cursor = f"{batch.kind}{_CURSOR_MARK}{memory_id}"
                    return ExportPage(lines=tuple(lines), next_cursor=next_cursor, corrupt_keys=tuple(corrupt_keys))
        return ExportPage(lines=tuple(lines), next_cursor=None, corrupt_keys=tuple(corrupt_keys))

    def _memories(self, namespace: Namespace, selection: Selection) -> Iterator[_Found]:
        forgotten = self._forgotten(namespace)
        batches = self._batches(namespace, _kinds_of(selection))

        def read(batch: _Batch) -> list[_Found]:
            return [found for _, found in self._read(namespace, batch, forgotten)]

        for found in _read_ahead(read, batches, _READ_AHEAD) if self._is_remote else map(read, batches):
            yield from found

    def _forgotten(self, namespace: Namespace) -> npt.NDArray[np.uint64]:
        """Return the hashes of all ids that have a tombstone, ascending: 8 bytes each, however many there are."""
        listed = truth_pages(self._runtime.store, tombstone_prefix(namespace))
        hashes = [hash_ids((item.id for item in page), len(page)) for page in listed]
        return np.sort(np.concatenate([np.zeros(0, np.uint64), *hashes]))

    def _forgotten_among(self, namespace: Namespace, ids: Sequence[str]) -> npt.NDArray[np.uint64]:
        """Return the hashes of those ids that have a tombstone, ascending; ``ids`` ascend as their keys do."""
        first, last = tombstone_key(namespace, ids[0]), tombstone_key(namespace, ids[-1])
        found: list[str] = []
        # A key sorts before all that it begins, so what comes after the first key's id alone includes that key.
        start_after = first.removesuffix(names.OBJECT_SUFFIX)
        for page in truth_pages(self._runtime.store, tombstone_prefix(namespace), start_after=start_after):
            found += [item.id for item in page]
            if page and tombstone_key(namespace, page[-1].id) >= last:
                break
        return np.sort(hash_ids(found, len(found)))

    def _batches(
        self, namespace: Namespace, kinds: Sequence[Kind], behind: tuple[Kind, str] | None = None
    ) -> Iterator[_Batch]:
        for kind in kinds if behind is None else kinds[kinds.index(behind[0]) :]:
            after = memory_key(namespace, *behind) if behind is not None and kind is behind[0] else ""
            for page in truth_pages(self._runtime.store, memory_prefix(namespace, kind), start_after=after):
                ids = [item.id for item in page]
                for start in range(0, len(ids), _BATCH_SIZE):
                    yield _Batch(kind, ids[start : start + _BATCH_SIZE])

    def _read(
        self, namespace: Namespace, batch: _Batch, forgotten: npt.NDArray[np.uint64]
    ) -> Iterator[tuple[str, _Found]]:
        requests = [self._truth.get_request(namespace, batch.kind, memory_id) for memory_id in batch.ids]
        results = self._runtime.store.read_many(requests)
        for memory_id, result, careful in zip(batch.ids, results, _are_among(batch.ids, forgotten), strict=True):
            try:
                # An id with a tombstone may be dead or resurrected; that takes the careful read.
                if careful:
                    present = self._truth.live_object(namespace, memory_id, batch.kind)
                else:
                    present = decode_present(result, TruthKey(namespace, batch.kind, memory_id))
            except CorruptError as error:
                yield memory_id, error
                continue
            yield memory_id, present


def _are_among(ids: list[str], hashes: npt.NDArray[np.uint64]) -> list[bool]:
    """Return which ids have one of the hashes, which ascend."""
    if not len(hashes):
        return [False] * len(ids)
    wanted = hash_ids(ids, len(ids))
    return [*map(bool, hashes.take(hashes.searchsorted(wanted), mode="clip") == wanted)]


def _kinds_of(selection: Selection) -> tuple[Kind, ...]:
    return tuple(Kind) if selection.kind is None else (selection.kind,)


def _may_leave(found: PresentMemory, include_expired: bool, now_us: int) -> bool:
    return include_expired or not found.memory.is_expired(now_us)


def _decode_cursor(cursor: str, kinds: tuple[Kind, ...]) -> tuple[Kind, str]:
    kind, _, memory_id = cursor.partition(_CURSOR_MARK)
    try:
        behind = check_kind(kind), check_id(memory_id)
    except ValidationError:
        raise ValidationError("the cursor is none of an export") from None
    if behind[0] not in kinds:
        raise ValidationError("the cursor belongs to an export of another kind")
    return behind


def _line_of(body: bytes) -> str:
    """Return a stored memory as one line; what a person laid out on several lines is put on one."""
    is_line = not any(end in body for end in _LINE_ENDS)
    return (body if is_line else encode_json(decode_json(body))).decode()


def _read_ahead(
    read: Callable[[_Batch], list[_Found]], batches: Iterator[_Batch], count: int
) -> Iterator[list[_Found]]:
    """Yield what ``read`` makes of each batch, in order, while the next ``count`` are under way."""
    with ThreadPoolExecutor(count) as pool:
        under_way: deque[Future[list[_Found]]] = deque()
        for batch in batches:
            under_way.append(pool.submit(read, batch))
            if len(under_way) > count:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
