"""Writing turns to a session: one read and one swap, whatever the length of the conversation.

Turns that no longer fit leave the window in the same swap, as a pending batch; then the batch gets an object of its
own, whose event wakes the digester. A write is known by an id that the window remembers, so that an attempt whose reply
was lost is recognised and never made twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from s3_agent_memory.domain.ids import new_nonce
from s3_agent_memory.domain.session_keys import Session
from s3_agent_memory.domain.tiers import Marks
from s3_agent_memory.domain.turns import Turn
from s3_agent_memory.domain.window import Window, append, mint_write_id, without_pending
from s3_agent_memory.errors import AccessDeniedError, ThrottledError, UnknownOutcomeError
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.sessions.store import PresentWindow, SessionStore, SwapLostError
from s3_agent_memory.storage.retry import Doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionWrite:
    """What is to be written.

    Attributes:
        session_id: None for turns outside of any session.
        marks: when turns leave the window; None sends all of them on their way at once.
        write_id: the caller's, by which the same write is recognised when it comes again; None makes one.
        joins_as: the user who writes, if it may join no session of others; None lets the write pass.
        deadline_s: on the monotonic clock; past it nothing more is written.
    """

    session: Session
    session_id: str | None
    turns: Sequence[Turn]
    marks: Marks | None
    deadline_s: float
    write_id: str | None = None
    joins_as: str | None = None


@dataclass(slots=True)
class _Attempts:
    """What the attempts of one write have in common."""

    write_id: str | None
    is_own_id: bool
    epoch: int | None = None
    is_sent: bool = False


class SessionWriter:
    """Appends turns."""

    def __init__(self, runtime: Runtime, sessions: SessionStore) -> None:
        self._runtime = runtime
        self._sessions = sessions

    def write(self, request: SessionWrite) -> bool:
        """Append turns, and return True if that sent a batch on its way to the digester.

        Raises:
            AccessDeniedError: the session belongs to other users.
            UnknownOutcomeError: the turns may or may not be in the session; not more than once, and not later.
            ThrottledError: too many lost races, or no time left; nothing was written.
        """
        state = _Attempts(request.write_id, is_own_id=request.write_id is None)
        with Doubt() as doubt:
            for _ in self._runtime.retrier.attempts("write to a session"):
                present = self._sessions.window(request.session)
                if state.write_id is not None and state.write_id in present.window.applied:
                    return self._finish(request.session, present)
                self._check_time(request, present.window, state)
                _check_membership(present.window, request.joins_as)
                self._identify(present.window, state)
                changed = self._append(request, present.window, state)
                state.is_sent = True
                try:
                    written = self._sessions.swap(request.session, present, changed)
                except SwapLostError as lost:
                    doubt.may_have_effect |= lost.may_have_effect
                    continue
                return self._finish(request.session, written)
        raise AssertionError("unreachable: the attempts end with an error")

    def _check_time(self, request: SessionWrite, window: Window, state: _Attempts) -> None:
        """Give up past the deadline or an erasure; looked at after the read, so that the swap's condition fences it."""
        if self._runtime.clock.monotonic_s() > request.deadline_s:
            raise ThrottledError("the time for this write is up; send it again")
        if state.epoch is None:
            state.epoch = window.epoch
        if state.epoch != window.epoch:
            raise ThrottledError("the session was erased while this was being written; send it again")

    def _identify(self, window: Window, state: _Attempts) -> None:
        """Give the write an id above the floor; below it nobody remembers which writes there were."""
        if state.write_id is not None and state.write_id > window.floor:
            return
        if not state.is_own_id or state.is_sent:
            raise UnknownOutcomeError("nobody remembers any more whether this was written; read before writing again")
        state.write_id = mint_write_id(window, now_ms=self._runtime.now_ms(), nonce=new_nonce(self._runtime.entropy))

    def _append(self, request: SessionWrite, window: Window, state: _Attempts) -> Window:
        self._sessions.create_batch(request.session, window)
        open_window = replace(without_pending(window), session_id=request.session_id)
        return append(open_window, request.turns, write_id=state.write_id, marks=request.marks)

    def _finish(self, session: Session, present: PresentWindow) -> bool:
        return present.window.pending is not None and self._sessions.flush(session, present)


def _check_membership(window: Window, joins_as: str | None) -> None:
    """Refuse a user in a session of others: who writes to a session may read it.

    Raises:
        AccessDeniedError: the session has contributors, and this user is none of them.
    """
    if joins_as is not None and window.contributors and joins_as not in window.principals:
        raise AccessDeniedError("the session belongs to another principal")
