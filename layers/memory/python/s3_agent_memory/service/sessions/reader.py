"""Reading a session: its window, and what is known of the turns that left it, as one consistent cut."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from s3_agent_memory.domain.session_codec import Digest, decode_digest
from s3_agent_memory.domain.session_keys import Session, digest_key
from s3_agent_memory.domain.turns import Turn
from s3_agent_memory.domain.window import Window
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.sessions.store import SessionStore


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """A session at one moment: digest, then undigested turns, then the window hold every turn once, in order.

    Attributes:
        digest: the text of the latest digest, empty if there is none.
        undigested: turns that left the window and are not digested yet.
    """

    window: Window
    digest: str = ""
    undigested: tuple[Turn, ...] = ()


class SessionReader:
    """Reads sessions."""

    def __init__(self, runtime: Runtime, sessions: SessionStore) -> None:
        self._runtime = runtime
        self._sessions = sessions

    def read(self, session: Session, *, with_digest: Callable[[Window], bool]) -> SessionView:
        """Return a session: one request, with the digest one more for it and for each undigested batch, all at once.

        Args:
            with_digest: decides by the window whether the rest is wanted.

        Raises:
            ThrottledError: the session changed too often meanwhile.
            CorruptError: a part of it cannot be read.
        """
        for _ in self._runtime.retrier.attempts("read a session that keeps changing"):
            window = self._sessions.window(session).window
            if not with_digest(window):
                return SessionView(window=window)
            view = self._complete(session, window)
            if view is not None:
                return view
        raise AssertionError("unreachable: the attempts end with an error")

    def _complete(self, session: Session, window: Window) -> SessionView | None:
        """Return the whole view; None if what the window names is gone, because it is out of date."""
        batches = self._sessions.batches(session, window)
        digest = self._digest(session, window)
        if batches is None or (window.done and digest is None):
            return None
        undigested: Sequence[Turn] = [turn for batch in batches for turn in batch.turns]
        return SessionView(window=window, digest=digest.text if digest else "", undigested=tuple(undigested))

    def _digest(self, session: Session, window: Window) -> Digest | None:
        if not window.done:
            return None
        key = digest_key(session, window.epoch, window.done)
        (body,) = self._sessions.bodies([key])
        digest = None if body is None else decode_digest(body, key)
        # One that was made again after its time is another one.
        return digest if digest is not None and digest.nonce == window.head else None
