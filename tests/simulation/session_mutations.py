"""Deliberate mistakes in conversations, each of which removes one rule: the simulation must catch every one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from s3_agent_memory.domain import window as windows
from s3_agent_memory.domain.session_codec import encode_facts
from s3_agent_memory.domain.session_keys import digest_key, facts_key
from s3_agent_memory.errors import NotFoundError
from s3_agent_memory.service.conversations import digest_worker
from s3_agent_memory.service.conversations.digest_worker import DigestWorker
from s3_agent_memory.service.sessions import eraser as session_eraser
from s3_agent_memory.service.sessions import writer as session_writer
from s3_agent_memory.service.sessions.derived_memories import BatchOrigin, DerivedMemories
from s3_agent_memory.service.sessions.eraser import SessionEraser
from s3_agent_memory.service.sessions.store import SessionStore, SwapLostError
from s3_agent_memory.service.sessions.writer import SessionWriter


def _writes_are_forgotten() -> list[Any]:
    """The window does not remember which writes it holds, so that a lost reply doubles the turns."""

    def append(window: Any, turns: Any, *, write_id: Any, marks: Any) -> Any:
        return windows.append(window, turns, write_id=None, marks=marks)

    return [patch.object(session_writer, "append", append)]


def _no_answer_means_done() -> list[Any]:
    original = SessionStore.swap

    def swap(self: Any, session: Any, present: Any, changed: Any) -> Any:
        try:
            return original(self, session, present, changed)
        except SwapLostError as lost:
            if lost.may_have_effect:
                return replace(present, window=changed)
            raise

    return [patch.object(SessionStore, "swap", swap)]


def _ids_below_the_floor_are_written() -> list[Any]:
    def identify(self: Any, window: Any, state: Any) -> None:
        if state.write_id is None:
            state.write_id = windows.mint_write_id(window, now_ms=self._runtime.now_ms(), nonce="0" * 16)

    return [patch.object(SessionWriter, "_identify", identify), patch.object(windows, "APPLIED_COUNT_MAX", 3)]


def _pending_is_cleared_first() -> list[Any]:
    """The batch gets its object after the window forgot about it."""
    original = SessionStore.flush

    def flush(self: Any, session: Any, present: Any) -> bool:
        cleared = self.swap(session, present, windows.without_pending(present.window))
        return original(self, session, replace(cleared, window=replace(cleared.window, pending=present.window.pending)))

    return [patch.object(SessionStore, "flush", flush)]


def _digests_are_overwritten() -> list[Any]:
    def create(self: Any, key: str, body: bytes) -> bytes:
        self._runtime.store.put(key, body)
        return body

    return [patch.object(SessionStore, "create", create)]


def _whoever_comes_last_extracts() -> list[Any]:
    """A digester makes the memories of its own extraction, not of the one that counts."""

    def create_facts(self: Any, session: Any, step: Any, tools: Any) -> Any:
        key = facts_key(session, step.window.epoch, step.batch.number)
        facts = digest_worker._extract(step.batch.turns, tools)
        self._sessions.create(key, encode_facts(facts))
        return tuple(facts)

    return [patch.object(DigestWorker, "_create_facts", create_facts)]


def _no_second_look() -> list[Any]:
    """A digester does not make sure that what it read still counts before it makes memories."""

    def take(self: Any, session: Any, step: Any, run: Any) -> None:
        epoch, number = step.window.epoch, step.batch.number
        digest = step.digest or self._create_digest(session, step, run.tools)
        facts = step.facts if step.facts is not None else self._create_facts(session, step, run.tools)
        origin = BatchOrigin(session=session, session_id=step.window.session_id, epoch=epoch, number=number)
        run.memories += self._memories.make(origin, facts)
        self._advance(session, self._sessions.window(session), origin, digest.nonce)

    return [patch.object(DigestWorker, "_take", take)]


def _late_digesters_tidy_up() -> list[Any]:
    """A digester that comes too late removes the extraction, which an erasure has not read yet."""
    original = DigestWorker._take

    def take(self: Any, session: Any, step: Any, run: Any) -> None:
        original(self, session, step, run)
        epoch, number = step.window.epoch, step.batch.number
        if self._sessions.window(session).window.epoch != epoch:
            self._sessions.delete([facts_key(session, epoch, number)])

    return [patch.object(DigestWorker, "_take", take)]


def _events_are_commands() -> list[Any]:
    """The batch is removed before the mark has moved."""
    original = DigestWorker._advance

    def advance(self: Any, session: Any, present: Any, *rest: Any) -> bool:
        self._sessions.delete(self._needless_keys(rest[0]))
        return original(self, session, present, *rest)

    return [patch.object(DigestWorker, "_advance", advance)]


def _digests_leave_early() -> list[Any]:
    original = DigestWorker._needless_keys

    def needless(self: Any, origin: Any) -> list[str]:
        return [*original(self, origin), digest_key(origin.session, origin.epoch, origin.number - 1)]

    return [patch.object(DigestWorker, "_needless_keys", needless)]


def _erasures_keep_the_epoch() -> list[Any]:
    def erased(window: Any, scope: Any, **options: Any) -> Any:
        return replace(windows.erased(window, scope, **options), epoch=window.epoch)

    return [patch.object(session_eraser, "erased", erased)]


def _erasures_keep_the_floor() -> list[Any]:
    def erased(window: Any, scope: Any, **options: Any) -> Any:
        return replace(windows.erased(window, scope, **options), floor="")

    return [patch.object(session_eraser, "erased", erased)]


def _no_tombstones() -> list[Any]:
    """An erasure deletes the memories that are there, and a digester that is late makes the others."""

    def ban(self: Any, session: Any, memory_id: str, kind: Any) -> None:
        try:
            self._writer.forget(session.namespace, memory_id, kind=kind)
        except NotFoundError:
            return

    return [patch.object(DerivedMemories, "ban", ban)]


def _only_what_is_listed() -> list[Any]:
    """An erasure does not look into extractions for memories that are still to come."""
    return [patch.object(SessionEraser, "_possible", lambda *_: iter(()))]


def _taken_back_and_kept() -> list[Any]:
    """Memories of batches that an erasure took back into the window stay, and come out again."""
    return [patch.object(session_eraser, "_is_doomed", lambda *_: False)]


MUTATIONS: dict[str, Callable[[], list[Any]]] = {
    "writes_are_forgotten": _writes_are_forgotten,
    "no_answer_means_done": _no_answer_means_done,
    "ids_below_the_floor_are_written": _ids_below_the_floor_are_written,
    "pending_is_cleared_first": _pending_is_cleared_first,
    "digests_are_overwritten": _digests_are_overwritten,
    "whoever_comes_last_extracts": _whoever_comes_last_extracts,
    "no_second_look": _no_second_look,
    "late_digesters_tidy_up": _late_digesters_tidy_up,
    "events_are_commands": _events_are_commands,
    "digests_leave_early": _digests_leave_early,
    "erasures_keep_the_epoch": _erasures_keep_the_epoch,
    "erasures_keep_the_floor": _erasures_keep_the_floor,
    "no_tombstones": _no_tombstones,
    "only_what_is_listed": _only_what_is_listed,
    "taken_back_and_kept": _taken_back_and_kept,
}


@contextmanager
def applied(name: str) -> Iterator[None]:
    """Run with one mutation."""
    with ExitStack() as stack:
        for item in MUTATIONS[name]():
            stack.enter_context(item)
        yield
