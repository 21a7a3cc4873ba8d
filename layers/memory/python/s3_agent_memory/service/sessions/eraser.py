"""Erasing what is within a scope from one session: at once for every reader, then to the last trace.

One swap begins a new epoch, which holds only what others wrote and what is not digested yet. Keys and ids of the old
epoch mean nothing any more, so whoever is late can bring nothing back. Then the traces in older epochs are removed; the
window remembers which, until that is done, and the sweep finishes what a crash left.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress

from s3_agent_memory import names
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.scopes import Contributor, Scope
from s3_agent_memory.domain.session_codec import decode_facts
from s3_agent_memory.domain.session_keys import (
    Session,
    SessionKey,
    derived_id,
    parse_derived_id,
    parse_session_key,
    session_batches_prefix,
)
from s3_agent_memory.domain.tiers import Marks
from s3_agent_memory.domain.window import Erasure, Window, erased, without_erasure
from s3_agent_memory.errors import CorruptError
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.sessions.derived_memories import DerivedMemories
from s3_agent_memory.service.sessions.store import SessionStore, SwapLostError
from s3_agent_memory.storage.retry import Doubt


class SessionEraser:
    """Erases from sessions.

    Args:
        marks: of the windows; what is left of a session may be too much for one.
    """

    def __init__(self, runtime: Runtime, sessions: SessionStore, memories: DerivedMemories, *, marks: Marks) -> None:
        self._runtime = runtime
        self._sessions = sessions
        self._memories = memories
        self._marks = marks

    def erase(self, session: Session, scope: Scope, *, deadline_s: float = math.inf) -> None:
        """Erase what is within the scope from a session; nothing happens if nothing is.

        Args:
            deadline_s: on the monotonic clock.

        Raises:
            UnknownOutcomeError, ThrottledError: something may be left; do it again.
        """
        with Doubt() as doubt:
            for _ in self._runtime.retrier.attempts("erase a session"):
                present = self._sessions.window(session)
                changed = self._erased(session, present.window, scope)
                if changed is None:
                    continue
                if changed is not present.window:
                    try:
                        present = self._sessions.swap(session, present, changed)
                    except SwapLostError as lost:
                        doubt.may_have_effect |= lost.may_have_effect
                        continue
                    doubt.may_have_effect = True
                return self.finish(session, present.window, deadline_s=deadline_s)
        raise AssertionError("unreachable: the attempts end with an error")

    def _erased(self, session: Session, window: Window, scope: Scope) -> Window | None:
        """Return the window after the erasure, itself if nothing in it is concerned, None if it is out of date."""
        if not any(scope.covers(contributor) for contributor in window.contributors):
            return window
        batches = self._sessions.batches(session, window)
        if batches is None:
            return None
        return erased(
            window,
            scope,
            undigested=[turn for batch in batches for turn in batch.turns],
            now_ms=self._runtime.now_ms(),
            # Turns outside of any session never stay in a window.
            marks=None if window.session_id is None else self._marks,
        )

    def finish(self, session: Session, window: Window, *, deadline_s: float = math.inf) -> None:
        """Remove the traces of erasures from older epochs; doing it again does no harm.

        Raises:
            UnknownOutcomeError, ThrottledError: something may be left; do it again.
        """
        keys = [key for key in self._keys(session) if key.epoch < window.epoch]
        facts_keys = [key.path for key in keys if key.suffix == names.FACTS_SUFFIX]
        for erasure in window.erasures:
            doomed = dict([*self._possible(keys, erasure), *self._present(session, erasure)])
            self._memories.ban_all(session, doomed, deadline_s=deadline_s)
        # Extractions last: they say which memories somebody who is late may still be about to make.
        self._runtime.store.delete_many([key.path for key in keys if key.suffix != names.FACTS_SUFFIX])
        self._runtime.store.delete_many(facts_keys)
        self._note_finished(session, window.erasures)

    def _keys(self, session: Session) -> Iterator[SessionKey]:
        for item in self._sessions.listed(session_batches_prefix(session)):
            key = parse_session_key(item.key)
            if key is not None:
                yield key

    def _possible(self, keys: Sequence[SessionKey], erasure: Erasure) -> Iterator[tuple[str, Kind]]:
        """Yield the memories that extractions may still become."""
        chosen = [key for key in keys if key.suffix == names.FACTS_SUFFIX and key.epoch <= erasure.epoch]
        bodies = self._sessions.bodies([key.path for key in chosen])
        for key, body in zip(chosen, bodies, strict=True):
            # One that is gone was finished: its memories are all there. One that cannot be read becomes none.
            with suppress(CorruptError):
                facts = () if body is None else decode_facts(body, key.path)
                for position, fact in enumerate(facts):
                    if _is_doomed(erasure, key.epoch, key.number) or erasure.scope.covers(fact.contributor):
                        yield derived_id(key.session, key.epoch, key.number, position), fact.memory.kind

    def _present(self, session: Session, erasure: Erasure) -> Iterator[tuple[str, Kind]]:
        """Yield the memories that are there and have to go."""
        for memory_id, kind in self._memories.listed(session):
            place = parse_derived_id(memory_id)
            if place is None or place[0] > erasure.epoch:
                continue
            epoch, number, _ = place
            if _is_doomed(erasure, epoch, number) or self._covers(session, memory_id, kind, erasure.scope):
                yield memory_id, kind

    def _covers(self, session: Session, memory_id: str, kind: Kind, scope: Scope) -> bool:
        # A scope that covers somebody without a name covers everybody.
        if scope.covers(Contributor()):
            return True
        contributor = self._memories.contributor_of(session, memory_id, kind)
        return contributor is not None and scope.covers(contributor)

    def _note_finished(self, session: Session, finished: Sequence[Erasure]) -> None:
        """Let the window forget about erasures; what fails is done again by the sweep."""
        if not finished:
            return
        for _ in self._runtime.retrier.attempts("note that an erasure is finished"):
            present = self._sessions.window(session)
            window = present.window
            for erasure in finished:
                window = without_erasure(window, erasure)
            if window == present.window:
                return
            with suppress(SwapLostError):
                self._sessions.swap(session, present, window)
                return


def _is_doomed(erasure: Erasure, epoch: int, number: int) -> bool:
    """Return True if a batch was taken back into the window, so that what came out of it will come out again."""
    return epoch == erasure.epoch and number > erasure.done
