"""Erasing memories by looking at the objects themselves: an erasure trusts no index."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.codec import Tombstone, encode_tombstone
from s3_agent_memory.domain.erasure import Erasure, ErasureCounts
from s3_agent_memory.domain.ids import new_nonce
from s3_agent_memory.domain.keys import (
    TruthKey,
    memory_key,
    memory_prefix,
    parse_truth_key,
    tombstone_key,
    versions_prefix,
)
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.timestamps import format_timestamp
from s3_agent_memory.errors import (
    CorruptError,
    NotFoundError,
    PreconditionFailedError,
    ThrottledError,
    UnknownOutcomeError,
)
from s3_agent_memory.service.erasure.merged_copies import find_copies
from s3_agent_memory.service.erasure.work import HasTime, Piece, document_of, is_later, small_pages
from s3_agent_memory.service.memories.forgetter import Forgetter
from s3_agent_memory.service.memories.writer import MemoryWriter
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.sessions.derived_memories import ERASED
from s3_agent_memory.service.stored_index.head import IndexBrokenError
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.truth import Truth, decode_present_tombstone
from s3_agent_memory.service.workers import Workers
from s3_agent_memory.storage.port import Get, ListedObject, StoredObject

_CHUNK_SIZE: Final = 64
_VERSION_MAX: Final = 2**53
_TOMBSTONE_BYTES_MAX: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class _Doomed:
    """A memory that is to go, how large its object is, and whether it only repeats what others said."""

    key: TruthKey
    size_bytes: int
    is_copy: bool = False


class MemoryEraser:
    """Erases the memories of a scope: tombstone, deletion and log entry for each, as a forget does."""

    def __init__(
        self, runtime: Runtime, truth: Truth, index: IndexReader, *, writer: MemoryWriter, workers: Workers
    ) -> None:
        self._forgetter = Forgetter(runtime, truth, index, writer)
        self._runtime = runtime
        self._truth = truth
        self._index = index
        self._writer = writer
        self._workers = workers

    def run(self, erasure: Erasure, has_time: HasTime) -> Iterator[Piece]:
        """Erase piece by piece, from the erasure's cursor on, until all is done or the time is up.

        The last piece has an empty cursor if nothing is left.

        Raises:
            UnknownOutcomeError, ThrottledError: something may be left; do it again.
        """
        for cursor, chunk in self._chunks(erasure):
            if not has_time():
                return
            yield self._erase(erasure, cursor, chunk)
        if erasure.scope.ids is None:
            yield Piece(cursor="")
        else:
            yield from self._erase_copies(erasure, erasure.scope.ids, has_time)

    def _chunks(self, erasure: Erasure) -> Iterator[tuple[str, Sequence[ListedObject]]]:
        """Yield what is to be looked at from the cursor on, each part with the cursor behind it."""
        if erasure.scope.ids is not None:
            yield from self._named(erasure, sorted(erasure.scope.ids))
            return
        # In the order of their keys, so that a cursor says which kinds are done.
        for kind in sorted(Kind):
            prefix = memory_prefix(erasure.namespace, kind)
            for page in small_pages(self._runtime.store, prefix, erasure.cursor):
                for start in range(0, len(page), _CHUNK_SIZE):
                    chunk = page[start : start + _CHUNK_SIZE]
                    yield chunk[-1].key, chunk

    def _named(self, erasure: Erasure, ids: Sequence[str]) -> Iterator[tuple[str, Sequence[ListedObject]]]:
        """Yield what lies under some ids; each is looked for under every kind."""
        for memory_id in ids:
            if memory_id > erasure.cursor:
                keys = [memory_key(erasure.namespace, kind, memory_id) for kind in Kind]
                found = [item for key in keys for item in self._runtime.store.list_page(key, limit=1).objects]
                yield memory_id, [item for item in found if item.key in keys]

    def _erase(self, erasure: Erasure, cursor: str, chunk: Sequence[ListedObject]) -> Piece:
        parsed = {item.key: parse_truth_key(item.key) for item in chunk}
        foreign = [item for item in chunk if parsed[item.key] is None]
        doomed, unreadable = self._select(erasure, [item for item in chunk if parsed[item.key] is not None])
        done = self._workers.each(lambda item: self._remove(erasure, item), doomed)
        counts = sum((item for item in done if item is not None), ErasureCounts())
        if erasure.scope.is_whole:
            counts += self._remove_foreign(foreign)
            foreign = []
        return Piece(
            cursor=cursor,
            counts=counts,
            unreadable_keys=(*unreadable, *(item.key for item in foreign)),
        )

    def _erase_copies(self, erasure: Erasure, ids: Collection[str], has_time: HasTime) -> Iterator[Piece]:
        """Erase what was merged of some ids; what else it was made of is visible again.

        The ids are gone by now, so that no consolidation makes another copy.
        """
        copies = find_copies(self._runtime, erasure.namespace, ids)
        for key, item in copies.doomed:
            for page in small_pages(self._runtime.store, versions_prefix(erasure.namespace, key.memory_id), ""):
                self._runtime.store.delete_many([earlier.key for earlier in page])
            counts = self._remove(erasure, _Doomed(key, item.size_bytes, is_copy=True))
            yield Piece(cursor=max(ids), counts=counts or ErasureCounts())
            if not has_time():
                return
        yield Piece(cursor="", unreadable_keys=copies.unreadable_keys)

    def _select(self, erasure: Erasure, chunk: Sequence[ListedObject]) -> tuple[list[_Doomed], list[str]]:
        """Return the memories of a chunk that are within the scope, and the keys of those that nobody can read."""
        is_certain = erasure.scope.is_whole or erasure.scope.ids is not None
        looked_at = [item for item in chunk if not is_certain or is_later(item, erasure.since_ms)]
        reads = [Get(item.key, self._runtime.limits.object_bytes_max) for item in looked_at]
        bodies = dict(zip((item.key for item in looked_at), self._runtime.store.read_many(reads), strict=True))
        doomed: list[_Doomed] = []
        unreadable: list[str] = []
        for item in chunk:
            key = parse_truth_key(item.key)
            found = bodies.get(item.key)
            document = document_of(found.body) if isinstance(found, StoredObject) else None
            if key is None or (item.key in bodies and found is None):
                continue
            if document is None and not is_certain:
                unreadable.append(item.key)
                continue
            is_new = is_later(item, erasure.since_ms) and self._is_new(key, document)
            if (is_certain or erasure.scope.covers(document)) and not is_new:
                doomed.append(_Doomed(key, item.size_bytes))
        return doomed, unreadable

    def _is_new(self, key: TruthKey, document: object) -> bool:
        """Return True if a memory that was written after the erasure began was made, not changed, by that write."""
        version = document.get("version", 1) if isinstance(document, dict) else 0
        present = self._truth.tombstone(key.namespace, key.memory_id)
        first = 1 if present is None else present.tombstone.deletes_version + 1
        return bool(version == first)

    def _remove(self, erasure: Erasure, doomed: _Doomed) -> ErasureCounts | None:
        key, kind = doomed.key, doomed.key.kind or Kind.SEMANTIC
        try:
            is_gone = self._forget(erasure, doomed, kind)
        except NotFoundError:
            return None
        except CorruptError:
            is_gone = self._remove_unreadable(key, kind)
        return ErasureCounts(**{kind.value: 1, "objects": 1, "bytes": doomed.size_bytes}) if is_gone else None

    def _forget(self, erasure: Erasure, doomed: _Doomed, kind: Kind) -> bool:
        key = doomed.key
        if not erasure.scope.is_whole and not doomed.is_copy:
            # Of what stays nothing may come back that this memory had put an end to.
            with suppress(IndexBrokenError):
                return self._forgetter.forget(key.namespace, key.memory_id, kind=kind, reason=ERASED)
        return self._writer.forget(key.namespace, key.memory_id, kind=kind, reason=ERASED)

    def _remove_unreadable(self, key: TruthKey, kind: Kind) -> bool:
        """Remove an object, or put right a tombstone, that cannot be read; the id stays forgotten."""
        path = memory_key(key.namespace, kind, key.memory_id)
        for _ in self._runtime.retrier.attempts("erase an unreadable object"):
            found = self._runtime.store.get(path, size_max=self._runtime.limits.object_bytes_max)
            if found is None:
                return False
            try:
                self._ban(key, kind, self._version_of(key, document_of(found.body)))
                self._runtime.store.delete(path, if_match=found.etag)
            except (PreconditionFailedError, ThrottledError, UnknownOutcomeError):
                continue
            # The object is gone, so this only writes the log entry of the tombstone.
            return self._writer.forget(key.namespace, key.memory_id, kind=kind, reason=ERASED)
        raise AssertionError("unreachable: the attempts end with an error")

    def _ban(self, key: TruthKey, kind: Kind, version: int) -> None:
        """Write a tombstone unless there is a readable one that covers the version.

        Raises:
            PreconditionFailedError, ThrottledError, UnknownOutcomeError: look again.
        """
        path = tombstone_key(key.namespace, key.memory_id)
        found = self._runtime.store.get(path, size_max=_TOMBSTONE_BYTES_MAX)
        with suppress(CorruptError):
            present = decode_present_tombstone(found, path)
            if present is not None and present.tombstone.deletes_version >= version:
                return
        tombstone = Tombstone(
            id=key.memory_id,
            kind=kind,
            deletes_version=version,
            forgotten_at=format_timestamp(to_datetime(self._runtime.clock.now_us())),
            reason=ERASED,
            nonce=new_nonce(self._runtime.entropy),
        )
        etag = None if found is None else found.etag
        self._runtime.store.put(path, encode_tombstone(tombstone), if_match=etag, if_absent=etag is None)

    def _version_of(self, key: TruthKey, document: object) -> int:
        """Return the highest version that the object or the index knows of."""
        version = document.get("version") if isinstance(document, dict) else None
        known = version if isinstance(version, int) and 0 < version <= _VERSION_MAX else 1
        with suppress(IndexBrokenError):
            row = self._index.view(key.namespace).snapshot.find(key.memory_id)
            known = max(known, 1 if row is None else row.version)
        return known

    def _remove_foreign(self, items: Sequence[ListedObject]) -> ErasureCounts:
        """Delete what lies among the memories of a namespace and is none."""
        self._runtime.store.delete_many([item.key for item in items])
        return ErasureCounts(leftovers=len(items), objects=len(items), bytes=sum(item.size_bytes for item in items))
