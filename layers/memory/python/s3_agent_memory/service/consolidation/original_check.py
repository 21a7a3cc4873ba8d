"""Whether the memories that are to be merged are still what they were when that was planned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from s3_agent_memory.domain.consolidation import Merge
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.truth import Truth


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
        named = [(merge.kind, item.id) for merge in merges for item in merge.originals]
        found = iter(self._truth.live_many(namespace, named))
        # Who names them is looked at last.
        view = self._index.view(namespace)
        unchanged: dict[str, tuple[Memory, ...]] = {}
        for merge in merges:
            memories = [next(found) for _ in merge.originals]
            present = tuple(memory for memory in memories if memory is not None)
            is_same = tuple(memory.named_version for memory in present) == merge.originals
            if is_same and not _is_named_elsewhere(view.snapshot, merge):
                unchanged[merge.id] = present
        return Originals(unchanged, view.analyzer)


def _is_named_elsewhere(snapshot: Snapshot, merge: Merge) -> bool:
    """Return True if another memory supersedes an original, or was consolidated from it."""
    return any(
        namer.named_version == item.version and namer.id != merge.id
        for item in merge.originals
        for namer in snapshot.namers_of(item.id)
    )
