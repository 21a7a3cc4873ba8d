"""Reading and writing the objects of one session: every conditional request of conversations is made here."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from s3_agent_memory.domain.ids import new_nonce
from s3_agent_memory.domain.session_codec import decode_batch, decode_window, encode_batch, encode_window
from s3_agent_memory.domain.session_keys import Session, batch_key, window_key
from s3_agent_memory.domain.window import Batch, Window, without_pending
from s3_agent_memory.errors import (
    AgentMemoryError,
    CorruptError,
    PreconditionFailedError,
    ThrottledError,
    UnknownOutcomeError,
)
from s3_agent_memory.service.listing import PAGE_COUNT_MAX
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.storage.port import Get, ListedObject, ReadResult, StoredObject

SESSION_OBJECT_BYTES_MAX: Final = 64 * 1024 * 1024


class SwapLostError(Exception):
    """A swap of the window had no effect, or got no answer: read the window again and decide.

    Attributes:
        may_have_effect: True if it got no answer.
    """

    def __init__(self, *, may_have_effect: bool) -> None:
        super().__init__()
        self.may_have_effect = may_have_effect


@dataclass(frozen=True, slots=True)
class PresentWindow:
    """A window as read; ``etag`` is None if there is no object yet."""

    window: Window
    etag: str | None


class SessionStore:
    """The objects of sessions."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def window(self, session: Session) -> PresentWindow:
        """Return the window, a fresh one if there is none.

        Raises:
            CorruptError: there is one that cannot be read.
        """
        key = window_key(session)
        found = self._runtime.store.get(key, size_max=SESSION_OBJECT_BYTES_MAX)
        if found is None:
            return PresentWindow(Window(), None)
        return PresentWindow(decode_window(whole_body(found, key), key), found.etag)

    def swap(self, session: Session, present: PresentWindow, changed: Window) -> PresentWindow:
        """Replace the window that was read by a changed one; one attempt, with bytes never sent before.

        Raises:
            SwapLostError: it had no effect, or got no answer.
        """
        sent = replace(changed, version=present.window.version + 1, nonce=new_nonce(self._runtime.entropy))
        try:
            etag = self._runtime.store.put(
                window_key(session), encode_window(sent), if_match=present.etag, if_absent=present.etag is None
            )
        except (PreconditionFailedError, ThrottledError):
            raise SwapLostError(may_have_effect=False) from None
        except UnknownOutcomeError:
            raise SwapLostError(may_have_effect=True) from None
        return PresentWindow(sent, etag)

    def create(self, key: str, body: bytes) -> bytes:
        """Write an object unless it is there, and return what lies there; the first writer's content counts.

        An object that was deleted meanwhile is written again. That does no harm: whoever reads it checks against the
        window whether it still means anything.

        Raises:
            ThrottledError: the attempts are used up.
        """
        for _ in self._runtime.retrier.attempts("write a part of a session"):
            try:
                self._runtime.store.put(key, body, if_absent=True)
            except PreconditionFailedError:
                found = self._runtime.store.get(key, size_max=SESSION_OBJECT_BYTES_MAX)
                if found is None:
                    continue
                return whole_body(found, key)
            except (ThrottledError, UnknownOutcomeError):
                continue
            return body
        raise AssertionError("unreachable: the attempts end with an error")

    def create_batch(self, session: Session, window: Window) -> None:
        """Give the pending batch of a window its object."""
        if window.pending is not None:
            key = batch_key(session, window.epoch, window.pending.number)
            self.create(key, encode_batch(window.pending))

    def flush(self, session: Session, present: PresentWindow) -> bool:
        """Give the pending batch its object and clear it from the window; return True if it has its object.

        Nothing is lost by a failure: whoever comes next does it.
        """
        try:
            self.create_batch(session, present.window)
        except AgentMemoryError:
            return False
        try:
            self.swap(session, present, without_pending(present.window))
        except (SwapLostError, AgentMemoryError):
            return True
        return True

    def batches(self, session: Session, window: Window) -> list[Batch] | None:
        """Return the batches that are not digested yet, the pending one last; None if the window is out of date."""
        numbers = range(window.first_undigested, window.batch_limit)
        keys = [batch_key(session, window.epoch, number) for number in numbers]
        bodies = self.bodies(keys)
        pending = () if window.pending is None else (window.pending,)
        found = [(key, body) for key, body in zip(keys, bodies, strict=True) if body is not None]
        if len(found) < len(keys):
            return None
        return [*(decode_batch(body, key) for key, body in found), *pending]

    def listed(self, prefix: str) -> Iterator[ListedObject]:
        """Yield every object below a prefix, in the order of keys."""
        start_after = ""
        for _ in range(PAGE_COUNT_MAX):
            page = self._runtime.store.list_page(prefix, start_after=start_after)
            yield from page.objects
            if page.is_last or not page.objects:
                return
            start_after = page.objects[-1].key

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects that nobody needs any more; what stays is left to the sweep."""
        with suppress(AgentMemoryError):
            self._runtime.store.delete_many(keys)

    def bodies(self, keys: list[str]) -> list[bytes | None]:
        """Return the bodies of several objects, None for those that are not there.

        Raises:
            CorruptError: one is too large.
        """
        if not keys:
            return []
        results = self._runtime.store.read_many([Get(key, SESSION_OBJECT_BYTES_MAX) for key in keys])
        return [_body_of(result, key) for key, result in zip(keys, results, strict=True)]


def whole_body(found: StoredObject, key: str) -> bytes:
    """Return the body of an object.

    Raises:
        CorruptError: it is larger than what was read of it.
    """
    if found.is_truncated:
        raise CorruptError(f"{key} is larger than a part of a session may be", key=key)
    return found.body


def _body_of(result: ReadResult, key: str) -> bytes | None:
    return whole_body(result, key) if isinstance(result, StoredObject) else None
