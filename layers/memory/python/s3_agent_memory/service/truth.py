"""Reading the truth: memory objects and tombstones, and which of them wins.

An object is dead if a tombstone covers its version. The order of the two reads matters: object first, tombstone second,
because then an object found alive cannot have been dead when it was read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from s3_agent_memory.domain.codec import Tombstone, decode_memory, decode_tombstone
from s3_agent_memory.domain.keys import Namespace, TruthKey, memory_key, tombstone_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.errors import CorruptError, PreconditionFailedError, ThrottledError, UnknownOutcomeError
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.storage.port import Get, ReadResult, StoredObject

_TOMBSTONE_BYTES_MAX = 64 * 1024
_KINDS = tuple(Kind)


@dataclass(frozen=True, slots=True)
class PresentMemory:
    """A memory object as read, with what a conditional write needs."""

    memory: Memory
    etag: str
    body: bytes


@dataclass(frozen=True, slots=True)
class PresentTombstone:
    """A tombstone as read, with what a conditional write needs."""

    tombstone: Tombstone
    etag: str


def is_dead(present: PresentMemory, tombstone: PresentTombstone | None) -> bool:
    """Return True if the tombstone covers the version of the object."""
    return tombstone is not None and present.memory.version <= tombstone.tombstone.deletes_version


class Truth:
    """Reads (and clears away) memory objects and tombstones of any namespace."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def get_request(self, namespace: Namespace, kind: Kind, memory_id: str) -> Get:
        """Return the read of one memory object, to be sent together with others."""
        return Get(memory_key(namespace, kind, memory_id), self._runtime.limits.object_bytes_max)

    def tombstone_request(self, namespace: Namespace, memory_id: str) -> Get:
        """Return the read of one tombstone, to be sent together with others."""
        return Get(tombstone_key(namespace, memory_id), _TOMBSTONE_BYTES_MAX)

    def memory(self, namespace: Namespace, kind: Kind, memory_id: str) -> PresentMemory | None:
        """Return the object of an id under a kind, dead or alive.

        Raises:
            CorruptError: there is an object that cannot be read.
        """
        request = self.get_request(namespace, kind, memory_id)
        found = self._runtime.store.get(request.key, size_max=request.size_max)
        return decode_present(found, TruthKey(namespace, kind, memory_id))

    def tombstone(self, namespace: Namespace, memory_id: str) -> PresentTombstone | None:
        """Return the tombstone of an id.

        Raises:
            CorruptError: there is one that cannot be read.
        """
        request = self.tombstone_request(namespace, memory_id)
        found = self._runtime.store.get(request.key, size_max=request.size_max)
        return decode_present_tombstone(found, request.key)

    def locate(self, namespace: Namespace, memory_id: str, kinds: Sequence[Kind] = _KINDS) -> PresentMemory | None:
        """Return the object of an id under whichever kind it lies, dead or alive: one read for each kind, at once.

        Raises:
            CorruptError: there is an object that cannot be read.
        """
        requests = [self.get_request(namespace, kind, memory_id) for kind in kinds]
        results = self._runtime.store.read_many(requests)
        found = [
            decode_present(result, TruthKey(namespace, kind, memory_id))
            for kind, result in zip(kinds, results, strict=True)
        ]
        return next((present for present in found if present is not None), None)

    def live(self, namespace: Namespace, memory_id: str, kind: Kind | None = None) -> Memory | None:
        """Return the memory of an id if it is alive (it may be expired)."""
        present = self.live_object(namespace, memory_id, kind)
        return None if present is None else present.memory

    def live_object(self, namespace: Namespace, memory_id: str, kind: Kind | None = None) -> PresentMemory | None:
        """Return the object of an id if it is alive (it may be expired).

        If the tombstone covers what was read, the object is read once more: the tombstone may have risen past it only
        after an update had replaced it.
        """
        present = self._find(namespace, memory_id, kind)
        for _ in self._runtime.retrier.attempts("read a memory that keeps changing"):
            if present is None or not is_dead(present, self.tombstone(namespace, memory_id)):
                return present
            again = self.memory(namespace, present.memory.kind, memory_id)
            if again is None or again.etag == present.etag:
                return None
            present = again
        return None

    def live_many(self, namespace: Namespace, ids: Sequence[tuple[Kind, str]]) -> list[Memory | None]:
        """Return which of some memories are alive, in order; one that cannot be read counts as none.

        All objects are read at once, then all tombstones: what no later tombstone covers was alive when it was read.
        """
        objects = self._runtime.store.read_many([self.get_request(namespace, *item) for item in ids])
        tombstones = self._runtime.store.read_many([self.tombstone_request(namespace, item) for _, item in ids])
        return [
            _alive(found, tombstone, TruthKey(namespace, kind, memory_id))
            for (kind, memory_id), found, tombstone in zip(ids, objects, tombstones, strict=True)
        ]

    def _find(self, namespace: Namespace, memory_id: str, kind: Kind | None) -> PresentMemory | None:
        if kind is None:
            return self.locate(namespace, memory_id)
        return self.memory(namespace, kind, memory_id)

    def clear_dead(self, present: PresentMemory) -> None:
        """Delete exactly this object; if it is no longer there somebody else moved on, which is as good."""
        memory = present.memory
        for _ in self._runtime.retrier.attempts("delete a forgotten object"):
            try:
                self._runtime.store.delete(memory.key, if_match=present.etag)
            except (ThrottledError, UnknownOutcomeError):
                continue
            except PreconditionFailedError:
                again = self.memory(memory.namespace, memory.kind, memory.id)
                if again is not None and again.etag == present.etag:
                    continue
            return


def _alive(found: ReadResult, tombstone: ReadResult, key: TruthKey) -> Memory | None:
    try:
        present = decode_present(found, key)
        is_covered = present is None or is_dead(
            present, decode_present_tombstone(tombstone, tombstone_key(key.namespace, key.memory_id))
        )
    except CorruptError:
        return None
    return None if present is None or is_covered else present.memory


def decode_present(found: ReadResult, expected: TruthKey) -> PresentMemory | None:
    """Return a memory object from the result of its read.

    Raises:
        CorruptError: the bytes are too many, no memory, or a memory of another key.
    """
    if not isinstance(found, StoredObject) or expected.kind is None:
        return None
    key = memory_key(expected.namespace, expected.kind, expected.memory_id)
    if found.is_truncated:
        raise CorruptError(f"{key} is larger than a memory may be", key=key)
    return PresentMemory(decode_memory(found.body, key, expected), found.etag, found.body)


def decode_present_tombstone(found: ReadResult, key: str) -> PresentTombstone | None:
    """Return a tombstone from the result of its read.

    Raises:
        CorruptError: the bytes are no tombstone.
    """
    if not isinstance(found, StoredObject):
        return None
    return PresentTombstone(decode_tombstone(found.body, key), found.etag)
