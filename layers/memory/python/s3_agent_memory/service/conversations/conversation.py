"""Conversation memory: the three tiers behind one service.

Short term is the window of a session, medium term its digest, long term the memories of all conversations. A tier that
fails is left out and the answer says so, unless the caller wants failures.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.scopes import Contributor, Level, Scope
from s3_agent_memory.domain.session_keys import session_of, unnamed_session_of
from s3_agent_memory.domain.tiers import FailureMode, TierSettings
from s3_agent_memory.domain.turns import TURN_COUNT_MAX, LongTerm, Turn, make_turn, newest_within
from s3_agent_memory.domain.window import Window
from s3_agent_memory.errors import (
    BackendError,
    CorruptError,
    EmbeddingError,
    ThrottledError,
    ValidationError,
)
from s3_agent_memory.service.conversations.digest_worker import TurnDigester
from s3_agent_memory.service.conversations.recollection import RecalledFact, Recollection, Tier, WriteReceipt
from s3_agent_memory.service.erasure.scope_eraser import ScopeEraser
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.sessions.eraser import SessionEraser
from s3_agent_memory.service.sessions.index import SessionIndex
from s3_agent_memory.service.sessions.reader import SessionReader, SessionView
from s3_agent_memory.service.sessions.writer import SessionWrite, SessionWriter
from s3_agent_memory.service.store.memory_service import MemoryService

# Less than what API Gateway waits for an answer, with time left to give one.
REQUEST_SECONDS_MAX: Final = 20.0
# How far the clock of a client may be ahead.
WRITE_ID_AHEAD_MAX_MS: Final = 600_000
_PAGE_SIZE: Final = 100
_PAGE_COUNT_MAX: Final = 10_000
_FAILURES: Final = (BackendError, ThrottledError, CorruptError, EmbeddingError)
_T = TypeVar("_T")

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Attempt:
    """Runs the parts of one request, and knows whether one of them failed."""

    mode: FailureMode
    degraded: bool = field(default=False)

    def run(self, part: Callable[[], _T]) -> _T | None:
        """Return the result of a part; None if it failed and failures are not wanted."""
        try:
            return part()
        except _FAILURES as error:
            if self.mode is FailureMode.STRICT:
                if isinstance(error, ThrottledError):
                    # To a client this is a failure of the service, not its own haste.
                    raise BackendError(str(error)) from error
                raise
            logger.warning("a part of a conversation request failed: %s", error.code)
            self.degraded = True
            return None


class ConversationService:
    """Remembers conversations.

    Args:
        folder: shows the turns that no digest has taken in yet as what they will add to it; without a model.
    """

    def __init__(
        self,
        runtime: Runtime,
        memories: MemoryService,
        *,
        writer: SessionWriter,
        reader: SessionReader,
        eraser: SessionEraser,
        index: SessionIndex,
        scope_eraser: ScopeEraser,
        folder: TurnDigester,
        settings: TierSettings,
    ) -> None:
        self._runtime = runtime
        self._memories = memories
        self._writer = writer
        self._reader = reader
        self._eraser = eraser
        self._index = index
        self._scope_eraser = scope_eraser
        self._folder = folder
        self.settings = settings

    def recall(
        self,
        namespace: Namespace,
        scope: Scope,
        query: str,
        *,
        tiers: Iterable[Tier] = Tier,
        top_k: int | None = None,
        token_budget: int | None = None,
        failure_mode: FailureMode | None = None,
    ) -> Recollection:
        """Return what the memories of a scope say about a query, and the state of its session if it names one.

        Args:
            query: of a long one only the beginning is searched for.
            top_k: most facts, 1 to 100; None means the usual number.
            token_budget: most tokens of the window; None returns the whole window.

        Raises:
            ValidationError: an argument is wrong.
            BackendError, ThrottledError, CorruptError: a tier failed in strict mode.
        """
        limit = self.settings.default_top_k if top_k is None else top_k
        text = query[: self._runtime.limits.query_length_max]

        def search(attempt: _Attempt) -> tuple[RecalledFact, ...]:
            result = self._memories.recall(namespace, text, filter=scope.conditions() or None, limit=limit)
            attempt.degraded |= bool(result.degraded or result.corrupt_keys)
            return tuple(
                RecalledFact(memory=hit.memory, score=hit.score)
                for hit in result
                if hit.score >= self.settings.score_threshold
            )

        return self._recollect(namespace, scope, search, tiers, token_budget=token_budget, failure_mode=failure_mode)

    def list(
        self,
        namespace: Namespace,
        scope: Scope,
        *,
        tiers: Iterable[Tier] = Tier,
        token_budget: int | None = None,
        failure_mode: FailureMode | None = None,
    ) -> Recollection:
        """Return every memory of a scope, the latest first, and the state of its session; see ``recall``."""

        def search(attempt: _Attempt) -> tuple[RecalledFact, ...]:
            return tuple(RecalledFact(memory=memory) for memory in self._all(namespace, scope, attempt))

        return self._recollect(namespace, scope, search, tiers, token_budget=token_budget, failure_mode=failure_mode)

    def write(
        self,
        namespace: Namespace,
        session_id: str | None,
        said: Sequence[tuple[str, str]],
        *,
        contributor: Contributor,
        infer: bool = True,
        joins_as: str | None = None,
        write_id: str | None = None,
        failure_mode: FailureMode | None = None,
    ) -> WriteReceipt:
        """Append turns to a session, or send them to long-term memory if there is none.

        Args:
            said: turns as pairs of role and content, oldest first.
            infer: whether memories are extracted from the turns when they leave the window. Turns outside of any
                session are kept as they are if not.
            joins_as: refuse a session of others than this user; None allows any.
            write_id: the caller's; see ``SessionWrite``.

        Raises:
            ValidationError: there are no turns, or too many; or the id of the write is of the future.
            AccessDeniedError: the session belongs to others.
            UnknownOutcomeError: in strict mode: the turns may or may not be stored.
        """
        self._check_write_id(write_id)
        unnamed = unnamed_session_of(namespace, contributor)
        turns = self._turns(said, contributor, self._long_term(session_id, infer=infer))
        request = SessionWrite(
            session=unnamed if session_id is None else session_of(namespace, session_id),
            session_id=session_id,
            turns=turns,
            marks=None if session_id is None else self.settings.marks,
            deadline_s=self._deadline_s(),
            write_id=write_id,
            joins_as=joins_as,
        )
        attempt = self._attempt(failure_mode)
        scheduled = attempt.run(lambda: self._writer.write(request))
        return WriteReceipt(accepted=scheduled is not None, scheduled=bool(scheduled), degraded=attempt.degraded)

    def _check_write_id(self, write_id: str | None) -> None:
        """Refuse an id of the future: a session forgets old ids, so one of the year 2286 would shut out all others."""
        milliseconds = (write_id or "").partition("-")[0]
        latest_ms = self._runtime.now_ms() + WRITE_ID_AHEAD_MAX_MS
        if milliseconds.isascii() and milliseconds.isdigit() and int(milliseconds) > latest_ms:
            raise ValidationError("write_id must begin with the present time in milliseconds since the epoch")

    def _turns(
        self, said: Sequence[tuple[str, str]], contributor: Contributor, long_term: LongTerm
    ) -> tuple[Turn, ...]:
        if not 0 < len(said) <= TURN_COUNT_MAX:
            raise ValidationError(f"a write has 1 to {TURN_COUNT_MAX} turns")
        now = to_datetime(self._runtime.clock.now_us())
        return tuple(
            make_turn(role, content, at=now, contributor=contributor, long_term=long_term) for role, content in said
        )

    def _long_term(self, session_id: str | None, *, infer: bool) -> LongTerm:
        if not self.settings.long_term_enabled:
            if session_id is None:
                raise ValidationError(
                    "long-term memory is off, so that turns without a session_id would be kept nowhere"
                )
            return LongTerm.NONE
        if infer:
            return LongTerm.EXTRACT
        return LongTerm.VERBATIM if session_id is None else LongTerm.NONE

    def probe(self, namespace: Namespace) -> None:
        """Read from where sessions lie.

        Raises:
            BackendError, ThrottledError: it cannot be read.
        """
        self._reader.read(session_of(namespace, "probe"), with_digest=lambda _: False)

    def forget(self, namespace: Namespace, scope: Scope, *, failure_mode: FailureMode | None = None) -> bool:
        """Erase everything of a scope from all tiers; return False if something failed and may be left.

        Raises:
            BackendError, ThrottledError, CorruptError: in strict mode: do it again.
        """
        attempt = self._attempt(failure_mode)
        deadline_s = self._deadline_s()
        attempt.run(lambda: self._forget_sessions(namespace, scope, deadline_s))
        attempt.run(lambda: self._scope_eraser.erase(namespace, scope.conditions(), deadline_s=deadline_s))
        return not attempt.degraded

    def _forget_sessions(self, namespace: Namespace, scope: Scope, deadline_s: float) -> None:
        for session in self._index.find(namespace, scope):
            if self._runtime.clock.monotonic_s() > deadline_s:
                raise ThrottledError("the time for this erasure is up; send it again to go on")
            self._eraser.erase(session, scope, deadline_s=deadline_s)
        if scope.level is not Level.SESSION:
            # The index of who wrote where is to forget them as well.
            self._index.refresh(namespace)

    def _recollect(
        self,
        namespace: Namespace,
        scope: Scope,
        search: Callable[[_Attempt], tuple[RecalledFact, ...]],
        tiers: Iterable[Tier],
        *,
        token_budget: int | None,
        failure_mode: FailureMode | None,
    ) -> Recollection:
        wanted = frozenset(tiers)
        attempt = self._attempt(failure_mode)
        facts = summary = window = None
        if Tier.LONG_TERM in wanted:
            facts = (attempt.run(lambda: search(attempt)) if self.settings.long_term_enabled else None) or ()
        if wanted & {Tier.SHORT_TERM, Tier.MEDIUM_TERM}:
            view = self._view(namespace, scope, attempt, with_digest=Tier.MEDIUM_TERM in wanted)
            summary = self._summary(view) if Tier.MEDIUM_TERM in wanted else None
            window = _window(view, token_budget) if Tier.SHORT_TERM in wanted else None
        return Recollection(facts=facts, summary=summary, window=window, degraded=attempt.degraded)

    def _view(self, namespace: Namespace, scope: Scope, attempt: _Attempt, *, with_digest: bool) -> SessionView | None:
        """Return the session that a scope names if it may be read; should the digest fail, the window alone."""
        part = _Attempt(attempt.mode)
        view = part.run(lambda: self._session_view(namespace, scope, with_digest=with_digest))
        if part.degraded and with_digest:
            view = part.run(lambda: self._session_view(namespace, scope, with_digest=False))
        attempt.degraded |= part.degraded
        return view

    def _session_view(self, namespace: Namespace, scope: Scope, *, with_digest: bool) -> SessionView | None:
        """Return the session that a scope names, if it may be read."""
        if scope.session_id is None:
            return None

        def is_wanted(window: Window) -> bool:
            return with_digest and self.settings.rolling_summary and scope.may_read(window.principals)

        view = self._reader.read(session_of(namespace, scope.session_id), with_digest=is_wanted)
        return view if scope.may_read(view.window.principals) else None

    def _summary(self, view: SessionView | None) -> str:
        if view is None:
            return ""
        return self._folder.digest(view.digest, view.undigested) if view.undigested else view.digest

    def _all(self, namespace: Namespace, scope: Scope, attempt: _Attempt) -> Iterable[Memory]:
        cursor: str | None = None
        for _ in range(_PAGE_COUNT_MAX):
            page = self._memories.list(namespace, filter=scope.conditions() or None, limit=_PAGE_SIZE, cursor=cursor)
            attempt.degraded |= bool(page.degraded or page.corrupt_keys)
            yield from page.memories
            cursor = page.next_cursor
            if cursor is None:
                return

    def _attempt(self, failure_mode: FailureMode | None) -> _Attempt:
        return _Attempt(failure_mode or self.settings.default_failure_mode)

    def _deadline_s(self) -> float:
        return self._runtime.clock.monotonic_s() + REQUEST_SECONDS_MAX


def _window(view: SessionView | None, token_budget: int | None) -> tuple[Turn, ...]:
    if view is None:
        return ()
    return view.window.turns if token_budget is None else newest_within(view.window.turns, token_budget)
