"""Whether the memories that are to be merged are still what they were when that was planned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from s3_agent_memory.domain.consolidation import Merge
from s3_agent_memory.domain.keys import Namespace, TruthKey
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.errors import CorruptError
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.truth import Truth, decode_present, decode_present_tombstone, is_dead
from s3_agent_memory.storage.port import ReadResult


@dataclass(frozen=True, slots=True)
class Originals:
    """Merges that may be done, with their memories, and how their texts are analysed.

    Attributes:
        of: the memories of each merge whose originals are all alive at the version it names, and named by nobody else.
        analyzer: the text analysis of the index.
    """

    of: Mapping[str, tuple[Memory, ...]]
    analyzer: Analyzer


class OriginalCheck:
    """Reads originals of any namespace."""

    def __init__(self, runtime: Runtime, truth: Truth, index: IndexReader) -> None:
        self._runtime = runtime
        self._truth = truth
        self._index = index

    def check(self, namespace: Namespace, merges: Sequence[Merge]) -> Originals:
        """Return those of some merges whose originals are as they were.

        Raises:
            IndexBrokenError: the index must be rebuilt.
        """
        pairs = [(merge, item.id) for merge in merges for item in merge.originals]
        # An object that is alive by a tombstone read later was alive when it was read. Who names it is looked at last.
        objects = self._runtime.store.read_many(
            [self._truth.get_request(namespace, merge.kind, memory_id) for merge, memory_id in pairs]
        )
        tombstones = self._runtime.store.read_many(
            [self._truth.tombstone_request(namespace, memory_id) for _, memory_id in pairs]
        )
        view = self._index.view(namespace)
        found = iter(zip(objects, tombstones, strict=True))
        unchanged: dict[str, tuple[Memory, ...]] = {}
        for merge in merges:
            memories = [_alive(next(found), TruthKey(namespace, merge.kind, item.id)) for item in merge.originals]
            present = tuple(memory for memory in memories if memory is not None)
            is_same = tuple(memory.named_version for memory in present) == merge.originals
            if is_same and not _is_named_elsewhere(view.snapshot, merge):
                unchanged[merge.id] = present
        return Originals(unchanged, view.analyzer)


def _alive(found: tuple[ReadResult, ReadResult], key: TruthKey) -> Memory | None:
    try:
        present = decode_present(found[0], key)
        tombstone = decode_present_tombstone(found[1], key.memory_id)
    except CorruptError:
        return None
    return None if present is None or is_dead(present, tombstone) else present.memory


def _is_named_elsewhere(snapshot: Snapshot, merge: Merge) -> bool:
    """Return True if another memory supersedes an original, or was consolidated from it."""
    return any(
        namer.named_version == item.version and namer.id != merge.id
        for item in merge.originals
        for namer in snapshot.namers_of(item.id)
    )
