"""Earlier versions of memories: kept by every update, gone with the memory.

An update writes the version that it replaces before it replaces it, so none is lost. A version that is not below the
present one is the trace of an update that came to nothing; readers pass it over. Forgetting removes all versions before
it is acknowledged, and an update that loses against it removes what it has written. What a process that died left
behind, the sweep finds.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from s3_agent_memory.domain.codec import decode_memory
from s3_agent_memory.domain.keys import Namespace, TruthKey, history_prefix, version_key, versions_prefix
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.errors import (
    BackendError,
    CorruptError,
    NotFoundError,
    ThrottledError,
    UnknownOutcomeError,
)
from s3_agent_memory.service.file_writer import write_once
from s3_agent_memory.service.listing import deep_pages
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.truth import PresentMemory, Truth
from s3_agent_memory.storage.port import Get, StoredObject

VERSION_COUNT_MAX: Final = 20


class History:
    """Keeps and removes the earlier versions of memories of any namespace."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @contextmanager
    def keeping(self, namespace: Namespace, memory_id: str) -> Iterator["KeptVersions"]:
        """Give an update what keeps versions; should the memory turn out to be gone, they go as well."""
        kept = KeptVersions(self._runtime, namespace, memory_id)
        try:
            yield kept
        except NotFoundError:
            self._delete(kept.keys)
            raise

    def erase(self, namespace: Namespace, memory_id: str, version: int) -> None:
        """Remove the earlier versions of a memory whose last version was ``version``.

        Raises:
            ThrottledError, UnknownOutcomeError: some may still be there; do it again.
        """
        if version == 1:
            # Only an update that came to nothing can have left one: a look at one key is enough.
            key = version_key(namespace, memory_id, 1)
            if self._runtime.store.get(key, size_max=1) is not None:
                self._delete([key])
            return
        for keys in self._pages(versions_prefix(namespace, memory_id)):
            self._delete(keys)

    def versions(self, namespace: Namespace, present: Memory) -> tuple[Memory, ...]:
        """Return the kept versions below the present one, oldest first; one that cannot be read is left out."""
        first = max(1, present.version - VERSION_COUNT_MAX)
        keys = [version_key(namespace, present.id, version) for version in range(first, present.version)]
        size_max = self._runtime.limits.object_bytes_max
        results = self._runtime.store.read_many([Get(key, size_max) for key in keys])
        found: list[Memory] = []
        for key, result in zip(keys, results, strict=True):
            if isinstance(result, StoredObject) and not result.is_truncated:
                with suppress(CorruptError):
                    found.append(decode_memory(result.body, key, TruthKey(namespace, present.kind, present.id)))
        return tuple(found)

    def sweep(self, namespace: Namespace, truth: Truth, *, is_known: Callable[[str], bool]) -> int:
        """Remove the versions of memories that are gone, and return of how many.

        Args:
            is_known: says whether the index holds a memory; of those it does not, the objects are read.
        """
        prefix = history_prefix(namespace)
        gone: set[str] = set()
        alive: set[str] = set()
        for keys in self._pages(prefix):
            doomed: list[str] = []
            for key in keys:
                memory_id = key.removeprefix(prefix).partition("/")[0]
                if memory_id not in gone and memory_id not in alive:
                    is_alive = is_known(memory_id) or truth.live(namespace, memory_id) is not None
                    (alive if is_alive else gone).add(memory_id)
                if memory_id in gone:
                    doomed.append(key)
            self._delete(doomed)
        return len(gone)

    def _pages(self, prefix: str) -> Iterator[list[str]]:
        for page in deep_pages(self._runtime.store, prefix):
            yield [item.key for item in page]

    def _delete(self, keys: Sequence[str]) -> None:
        if not keys:
            return
        for _ in self._runtime.retrier.attempts("remove earlier versions"):
            with suppress(ThrottledError, UnknownOutcomeError):
                self._runtime.store.delete_many(keys)
                return


class KeptVersions:
    """The versions that one update keeps.

    Attributes:
        keys: where they lie.
    """

    def __init__(self, runtime: Runtime, namespace: Namespace, memory_id: str) -> None:
        self.keys: list[str] = []
        self._runtime = runtime
        self._namespace = namespace
        self._memory_id = memory_id

    def keep(self, present: PresentMemory) -> None:
        """Keep the bytes of a version that is about to be replaced.

        Raises:
            ThrottledError: the attempts are used up.
        """
        key = version_key(self._namespace, self._memory_id, present.memory.version)
        if key not in self.keys:
            # Noted first: a write without an answer may have happened.
            self.keys.append(key)
            write_once(self._runtime, key, present.body, what="keep an earlier version")

    def trim(self, version: int) -> None:
        """Remove the version that is one too many now that ``version`` is the present one."""
        surplus = version - 1 - VERSION_COUNT_MAX
        if surplus >= 1:
            # Readers pass it over in any case, and forgetting removes it.
            with suppress(BackendError, ThrottledError):
                self._runtime.store.delete_many([version_key(self._namespace, self._memory_id, surplus)])
