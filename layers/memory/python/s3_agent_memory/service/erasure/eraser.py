"""Erasing a namespace, or what is within a scope of it, so that nothing of it is left and nothing of it comes back.

An erasure goes through its phases in a fixed order and notes in its record how far it is, so that any process can go
on. What was there when it began is gone when it ends; what is written meanwhile is not its business.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from s3_agent_memory.domain.erasure import Erasure, ErasureCounts, ErasureScope, Phase, Remainder
from s3_agent_memory.domain.keys import Namespace, format_namespace
from s3_agent_memory.errors import AccessDeniedError
from s3_agent_memory.service.erasure.conversation_eraser import ConversationEraser
from s3_agent_memory.service.erasure.index_purger import IndexPurger
from s3_agent_memory.service.erasure.leftover_eraser import LeftoverEraser
from s3_agent_memory.service.erasure.memory_eraser import MemoryEraser
from s3_agent_memory.service.erasure.records import ErasureRecords, PresentErasure, RivalError
from s3_agent_memory.service.erasure.version_eraser import VersionEraser
from s3_agent_memory.service.erasure.work import HasTime, Piece
from s3_agent_memory.service.results import Progress, no_progress
from s3_agent_memory.service.stored_index.head import IndexBrokenError
from s3_agent_memory.service.upkeep.reindexer import Reindexer

_STEP_COUNT_MAX: Final = 1_000_000
_REBUILD_COUNT_MAX: Final = 3

logger = logging.getLogger(__name__)

TOMBSTONES: Final = Remainder(
    "tombstones and claims: the ids, kinds and times of what was forgotten, and the reasons given, without content",
    "for ever, so that no import brings the ids back",
)
WINDOWS: Final = Remainder("the windows of erased sessions, empty", "for ever, so that nothing late begins anew")
UPLOADS: Final = Remainder(
    "what a process that stalled meanwhile writes late and nobody reads: index files without text that no index ever "
    "names, and the content that an update was about to replace",
    "the first sweep a day after that",
)
COPIES: Final = Remainder(
    "copies made outside of this store: exports, replicas, backups, logs of other systems", "you delete them"
)
VERSIONS: Final = Remainder(
    "noncurrent versions of erased objects, which the credentials or the store do not let this process delete",
    "the lifecycle rules of the bucket delete them",
)
UNREADABLE: Final = Remainder(
    "the objects under `unreadable_keys`: nobody knows whose they are, or this process may not delete them",
    "you look at them and delete them by hand",
)


class Eraser:
    """Begins erasures and moves them on.

    Args:
        versions: None for a store that keeps no earlier versions.
    """

    def __init__(
        self,
        records: ErasureRecords,
        reindexer: Reindexer,
        *,
        conversations: ConversationEraser,
        memories: MemoryEraser,
        leftovers: LeftoverEraser,
        index: IndexPurger,
        versions: VersionEraser | None,
    ) -> None:
        self._records = records
        self._reindexer = reindexer
        self._conversations = conversations
        self._memories = memories
        self._leftovers = leftovers
        self._index = index
        self._versions = versions

    def erase(
        self,
        namespace: Namespace,
        scope: ErasureScope,
        *,
        requested_by: str | None,
        has_time: HasTime,
        progress: Progress = no_progress,
    ) -> Erasure:
        """Begin an erasure, or go on with one of the same scope that is not finished, until the time is up.

        Raises:
            UnknownOutcomeError, ThrottledError, BackendError: it is not finished; do it again.
        """
        same = (item for item in self._records.unfinished(namespace) if item.erasure.scope == scope)
        present = next(same, None) or self._records.begin(namespace, scope, requested_by)
        return self._advance(present, has_time, progress)

    def resume(self, namespace: Namespace, has_time: HasTime) -> int:
        """Go on with the erasures of a namespace that are not finished; return how many were finished.

        Raises:
            UnknownOutcomeError, ThrottledError, BackendError: one is not finished; do it again.
        """
        count = 0
        for present in self._records.unfinished(namespace):
            if not has_time():
                break
            count += self._advance(present, has_time, no_progress).is_finished
        return count

    def find(self, namespace: Namespace, erasure_id: str) -> Erasure:
        """Return the report of an erasure.

        Raises:
            NotFoundError: there is none.
        """
        return self._records.load(namespace, erasure_id).erasure

    def _advance(self, present: PresentErasure, has_time: HasTime, progress: Progress) -> Erasure:
        try:
            for _ in range(_STEP_COUNT_MAX):
                if present.erasure.is_finished:
                    break
                before = present.erasure.phase
                present = self._run_phase(present, has_time, progress)
                if present.erasure.phase is before:
                    break
        except RivalError:
            logger.info("somebody else goes on with an erasure of %s", format_namespace(present.erasure.namespace))
            return self._records.load(present.erasure.namespace, present.erasure.id).erasure
        return present.erasure

    def _run_phase(self, present: PresentErasure, has_time: HasTime, progress: Progress) -> PresentErasure:
        """Do what there is time for of one phase, and note it; at its end begin the next one."""
        erasure = present.erasure
        for piece in self._pieces(erasure, has_time):
            changed = present.erasure.with_more(piece.counts, piece.unreadable_keys)
            progress(changed.counts.memories, None)
            if piece.cursor:
                present = self._records.save(present, changed.at(erasure.phase, piece.cursor))
            elif erasure.phase.following is Phase.FINISHED:
                return self._records.finish(present, replace(changed, remains=self._remains(changed)))
            else:
                return self._records.save(present, changed.at(erasure.phase.following))
        return present

    def _pieces(self, erasure: Erasure, has_time: HasTime) -> Iterator[Piece]:
        steps: dict[Phase, Callable[[Erasure, HasTime], Iterator[Piece]]] = {
            Phase.SESSIONS: self._conversations.run,
            Phase.MEMORIES: self._memories.run,
            Phase.LEFTOVERS: self._leftovers.run,
            Phase.INDEX: self._purge_index,
            Phase.VERSIONS: self._purge_versions,
        }
        return steps[erasure.phase](erasure, has_time)

    def _purge_index(self, erasure: Erasure, has_time: HasTime) -> Iterator[Piece]:
        for _ in range(_REBUILD_COUNT_MAX):
            try:
                purge = self._index.purge(erasure.namespace, has_time)
            except IndexBrokenError:
                self._reindexer.reindex(erasure.namespace)
                continue
            yield Piece(cursor="" if purge.is_complete else erasure.phase.value, counts=purge.counts)
            return

    def _purge_versions(self, erasure: Erasure, has_time: HasTime) -> Iterator[Piece]:
        if self._versions is None or not self._can_list_versions(erasure):
            yield Piece(cursor="")
            return
        try:
            yield from self._versions.run(erasure, has_time)
        except AccessDeniedError:
            # They can be listed but not read, so nobody knows whose they are; the report says that some stay.
            yield Piece(cursor="", counts=ErasureCounts(kept_versions=1))

    def _can_list_versions(self, erasure: Erasure) -> bool:
        try:
            return self._versions is None or self._versions.can_list(erasure)
        except AccessDeniedError:
            return False

    def _remains(self, erasure: Erasure) -> tuple[Remainder, ...]:
        has_versions = erasure.counts.kept_versions > 0 or not self._can_list_versions(erasure)
        return (
            TOMBSTONES,
            *([WINDOWS] if erasure.counts.sessions else []),
            UPLOADS,
            *([VERSIONS] if has_versions else []),
            *([UNREADABLE] if erasure.unreadable_keys else []),
            COPIES,
        )
