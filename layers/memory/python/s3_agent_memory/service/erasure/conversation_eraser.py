"""Erasing the conversations of a scope, session by session."""

from collections.abc import Iterator
from typing import Final

from s3_agent_memory.domain.erasure import Erasure, ErasureCounts
from s3_agent_memory.domain.scopes import Level
from s3_agent_memory.domain.session_keys import batches_prefix
from s3_agent_memory.errors import CorruptError
from s3_agent_memory.service.erasure.work import HasTime, Piece
from s3_agent_memory.service.listing import pages
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.sessions.eraser import SessionEraser
from s3_agent_memory.service.sessions.index import SessionIndex

_CORRUPT_COUNT_MAX: Final = 1_000


class ConversationEraser:
    """Erases windows, batches, digests, and the memories that came out of them."""

    def __init__(self, runtime: Runtime, index: SessionIndex, eraser: SessionEraser) -> None:
        self._runtime = runtime
        self._index = index
        self._eraser = eraser

    def run(self, erasure: Erasure, has_time: HasTime) -> Iterator[Piece]:
        """Erase session by session until all is done or the time is up; what is erased is not found again.

        Raises:
            CorruptError: a window cannot be read, so that nobody knows whose turns are in it.
            UnknownOutcomeError, ThrottledError: something may be left; do it again.
        """
        scope = erasure.scope.conversation
        if scope is None:
            yield Piece(cursor="")
            return
        if erasure.scope.is_whole:
            yield from self._delete_unreadable(erasure)
        for session in self._index.find(erasure.namespace, scope):
            if not has_time():
                return
            self._eraser.erase(session, scope)
            yield Piece(cursor=session.name, counts=ErasureCounts(sessions=1))
        if scope.level is not Level.SESSION and self._has_any(erasure):
            # The index of who wrote where is to forget them as well.
            self._index.refresh(erasure.namespace)
        yield Piece(cursor="")

    def _delete_unreadable(self, erasure: Erasure) -> Iterator[Piece]:
        """Delete the windows that cannot be read: of a whole namespace they are to go, whoever wrote them."""
        for _ in range(_CORRUPT_COUNT_MAX):
            try:
                self._index.entries(erasure.namespace)
            except CorruptError as error:
                self._runtime.store.delete_many([error.key])
                yield Piece(cursor=error.key, counts=ErasureCounts(sessions=1, objects=1))
            else:
                return

    def _has_any(self, erasure: Erasure) -> bool:
        return bool(self._index.entries(erasure.namespace)) or any(
            page for page in pages(self._runtime.store, batches_prefix(erasure.namespace))
        )
