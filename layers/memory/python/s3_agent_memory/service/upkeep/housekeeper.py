"""Lazy folding for a store without functions: now and then a writer does the indexer's work.

Reading never writes. A reader only notes how long the log has grown; the next writer of this process acts on it. A
process that never reads counts its own writes. Where there is an embedder, what came without a vector is embedded too.
"""

import logging
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final

from s3_agent_memory.domain.ids import written_ms
from s3_agent_memory.domain.keys import Namespace, format_namespace
from s3_agent_memory.errors import AgentMemoryError
from s3_agent_memory.service.results import Progress
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.upkeep.collector import Collector
from s3_agent_memory.service.upkeep.compactor import Compactor
from s3_agent_memory.service.upkeep.folder import Folder
from s3_agent_memory.service.upkeep.vector_keeper import VectorKeeper

FOLD_ENTRY_COUNT: Final = 64
FOLD_AGE_MS: Final = 5 * 60 * 1_000
FOLD_INLINE_ENTRY_COUNT: Final = 1_000
_NAMESPACE_COUNT_MAX: Final = 10_000

logger = logging.getLogger(__name__)


class Folding(StrEnum):
    """Who folds: ``lazy``, writers do now and then; ``inline``, an indexer does and writers only in an emergency."""

    LAZY = "lazy"
    INLINE = "inline"


class Housekeeper:
    """Decides after a write whether to fold, and never lets a failure of it reach the writer.

    Attributes:
        phase: how many writes are counted as done already; a process that lives for one write passes a random number
            below 64, so that one of 64 such processes looks after the log.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        folder: Folder,
        compactor: Compactor,
        collector: Collector,
        vectors: VectorKeeper,
        folding: Folding,
        phase: int = 0,
    ) -> None:
        self._runtime = runtime
        self._folder = folder
        self._compactor = compactor
        self._collector = collector
        self._vectors = vectors
        self._folding = folding
        self._phase = phase
        self._lock = threading.Lock()
        self._write_counts: dict[Namespace, int] = {}
        self._due: set[Namespace] = set()

    def note_log(self, namespace: Namespace, tail_keys: Collection[str]) -> None:
        """Note the unfolded log entries that a reader saw."""
        if self._is_due(tail_keys):
            with self._lock:
                self._due.add(namespace)

    def _is_due(self, tail_keys: Collection[str]) -> bool:
        if self._folding is Folding.INLINE:
            return len(tail_keys) >= FOLD_INLINE_ENTRY_COUNT
        if len(tail_keys) >= FOLD_ENTRY_COUNT:
            return True
        oldest = min(tail_keys, default=None)
        return oldest is not None and written_ms(oldest) < self._runtime.now_ms() - FOLD_AGE_MS

    def note_write(self, namespace: Namespace) -> None:
        """Count an acknowledged write, and fold if the log has grown long."""
        if self._counts_as_due(namespace):
            self.tidy(namespace)

    def _counts_as_due(self, namespace: Namespace) -> bool:
        with self._lock:
            if len(self._write_counts) >= _NAMESPACE_COUNT_MAX:
                self._write_counts.clear()
            count = self._write_counts.get(namespace, self._phase) + 1
            is_due = namespace in self._due or (self._folding is Folding.LAZY and count >= FOLD_ENTRY_COUNT)
            self._write_counts[namespace] = 0 if is_due else count
            self._due.discard(namespace)
            return is_due

    def note_import(self, namespace: Namespace) -> bool:
        """Fold behind an import that has written many memories; return False if that is an indexer's work."""
        if self._folding is not Folding.LAZY:
            return False
        self._fold(namespace)
        return True

    def finish_import(self, namespace: Namespace, write_count: int, *, progress: Progress) -> None:
        """Fold what an import has written since ``note_import``, and embed all that it brought if there is an embedder.

        Beside an indexer and an embedder function as much is embedded as there is time for, so that what a client
        imports is found by its meaning at once; merging is left to them.

        Args:
            progress: called with the memories embedded, and those that there are to embed.
        """
        if write_count:
            self.note_import(namespace)
        if not self._vectors.has_embedder:
            return
        with self._logged_failure("embedding", namespace):
            if self._folding is Folding.LAZY:
                self._vectors.embed(namespace, progress=progress)
                self._vectors.merge(namespace)
            elif write_count:
                self._folder.fold(namespace)
                self._vectors.embed(namespace, progress=progress)

    def tidy(self, namespace: Namespace) -> None:
        """Fold, merge, embed and empty the trash; a failure is logged and left to the next writer or the sweep."""
        self._fold(namespace)
        if self._folding is Folding.LAZY:
            with self._logged_failure("embedding", namespace):
                self._vectors.tidy(namespace)

    def _fold(self, namespace: Namespace) -> None:
        with self._logged_failure("folding", namespace):
            self._folder.fold(namespace)
            self._compactor.compact(namespace)
            self._collector.empty_trash(namespace)

    @contextmanager
    def _logged_failure(self, what: str, namespace: Namespace) -> Iterator[None]:
        try:
            yield
        except AgentMemoryError as error:
            logger.warning("%s %s failed: %s", what, format_namespace(namespace), error.code)
