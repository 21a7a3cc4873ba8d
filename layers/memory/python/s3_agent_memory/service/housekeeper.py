"""Lazy folding for a store without functions: now and then a writer does the indexer's work.

Reading never writes. A reader only notes how long the log has grown; the next writer of this process acts on it. A
process that never reads counts its own writes.
"""

import logging
import threading
from collections.abc import Collection
from enum import StrEnum
from typing import Final

from s3_agent_memory.domain.keys import Namespace, format_namespace
from s3_agent_memory.errors import AgentMemoryError
from s3_agent_memory.service.collector import Collector
from s3_agent_memory.service.compactor import Compactor
from s3_agent_memory.service.folder import Folder
from s3_agent_memory.service.runtime import Runtime

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
        folding: Folding,
        phase: int = 0,
    ) -> None:
        self._runtime = runtime
        self._folder = folder
        self._compactor = compactor
        self._collector = collector
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
        return oldest is not None and _entry_ms(oldest) < self._runtime.now_ms() - FOLD_AGE_MS

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

    def note_import(self, namespace: Namespace, write_count: int) -> None:
        """Fold behind an import that has written so many memories since it last called this."""
        if write_count and self._folding is Folding.LAZY:
            self.tidy(namespace)

    def tidy(self, namespace: Namespace) -> None:
        """Fold, merge and empty the trash; a failure is logged and left to the next writer or the sweep."""
        try:
            self._folder.fold(namespace)
            self._compactor.compact(namespace)
            self._collector.empty_trash(namespace)
        except AgentMemoryError as error:
            logger.warning("folding %s failed: %s", format_namespace(namespace), error.code)


def _entry_ms(key: str) -> int:
    milliseconds = key.rpartition("/")[2].partition("-")[0]
    return int(milliseconds) if milliseconds.isdigit() else 0
