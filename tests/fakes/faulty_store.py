"""A store that fails on script: at the n-th request, or at requests for some key."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from s3_agent_memory.errors import BackendError, PreconditionFailedError, ThrottledError, UnknownOutcomeError
from s3_agent_memory.storage.port import (
    Get,
    ObjectPage,
    ObjectStore,
    Read,
    ReadResult,
    StoredObject,
    Unchanged,
)

_T = TypeVar("_T")


class Fault(Enum):
    """What goes wrong; only a conditional request can be refused, only a write can be in doubt.

    Attributes:
        REFUSED: no effect, HTTP 412 or 409 (which look alike to the caller and say nothing).
        THROTTLED: no effect, HTTP 503.
        LOST_REQUEST: a write gets no answer and has no effect; a read fails.
        LOST_REPLY: a write gets no answer and has its effect; a read fails.
        LATE_EFFECT: a write gets no answer and has its effect some requests later; a read fails.
    """

    REFUSED = "refused"
    THROTTLED = "throttled"
    LOST_REQUEST = "lost request"
    LOST_REPLY = "lost reply"
    LATE_EFFECT = "late effect"


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it arrived: its number from 0, verb (``get list put delete``), key or prefix, and condition."""

    number: int
    verb: str
    key: str
    is_conditional: bool = False

    @property
    def is_write(self) -> bool:
        """True for a put or a delete."""
        return self.verb in {"put", "delete"}


@dataclass(slots=True)
class _Rule:
    """What happens to requests that fit, after ``skip`` of them and as long as ``times`` lasts."""

    fits: Callable[[Request], bool]
    times: int
    skip: int = 0
    fault: Fault | None = None
    action: Callable[[], object] | None = None

    def applies_to(self, request: Request) -> bool:
        """Return True if it happens now; counts those that are let pass."""
        if self.times <= 0 or not self.fits(request):
            return False
        self.skip -= 1
        return self.skip < 0


class FaultyObjectStore:
    """An ``ObjectStore`` that passes requests on to ``inner`` unless a rule says otherwise. For one thread.

    Each element of ``read_many`` and ``delete_many`` is a request of its own.

    Attributes:
        inner: the store without faults.
        requests: every request since the start or the last ``forget_requests``.
        late_request_count: how many requests later the effect of ``LATE_EFFECT`` happens.
        reads_backwards: True if the last of several reads is answered first; what is sent at once has no order.

    Example:
        store = FaultyObjectStore(inner)
        store.fail(Fault.LOST_REPLY, verb="put", key="/HEAD")
    """

    def __init__(self, inner: ObjectStore, *, late_request_count: int = 3) -> None:
        self.inner = inner
        self.requests: list[Request] = []
        self.late_request_count = late_request_count
        self.reads_backwards = False
        self._rules: list[_Rule] = []
        self._late: list[tuple[int, Callable[[], object]]] = []

    def fail(self, fault: Fault, *, at: int | None = None, verb: str = "", key: str = "", times: int = 1) -> None:
        """Let requests fail: the one numbered ``at``, or the next ``times`` that have this verb and text in the key."""
        self._rules.append(_Rule(_fitting(at, verb, key), times, fault=fault))

    def run_before(
        self, action: Callable[[], object], *, at: int | None = None, verb: str = "", key: str = "", skip: int = 0
    ) -> None:
        """Do something else just before one request, as a rival would; the action may use this store.

        Args:
            skip: how many requests that fit are let pass first.
        """
        self._rules.append(_Rule(_fitting(at, verb, key), 1, action=action, skip=skip))

    @property
    def is_used_up(self) -> bool:
        """True if everything that was to happen has happened."""
        return all(rule.times <= 0 for rule in self._rules)

    def forget_requests(self) -> None:
        """Number requests from 0 again."""
        self.requests.clear()

    def keys_below(self, prefix: str = "") -> list[str]:
        """Return the keys that lie in the store, without a request."""
        return [item.key for item in self.inner.list_page(prefix).objects]

    # --- the port -------------------------------------------------------------------------------------------------

    def get(self, key: str, *, size_max: int) -> StoredObject | None:
        """See ``ObjectStore``."""
        return self._run("get", key, lambda: self.inner.get(key, size_max=size_max))

    def get_if_changed(self, key: str, etag: str, *, size_max: int) -> StoredObject | Unchanged | None:
        """See ``ObjectStore``."""
        return self._run("get", key, lambda: self.inner.get_if_changed(key, etag, size_max=size_max))

    def list_page(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> ObjectPage:
        """See ``ObjectStore``."""
        return self._run("list", prefix, lambda: self.inner.list_page(prefix, start_after=start_after, limit=limit))

    def read_many(self, reads: Sequence[Read]) -> list[ReadResult]:
        """See ``ObjectStore``."""
        if self.reads_backwards:
            return [self._read(read) for read in reversed(reads)][::-1]
        return [self._read(read) for read in reads]

    def _read(self, read: Read) -> ReadResult:
        if not isinstance(read, Get):
            return self.list_page(read.prefix, start_after=read.start_after, limit=read.limit)
        if read.if_none_match is None:
            return self.get(read.key, size_max=read.size_max)
        return self.get_if_changed(read.key, read.if_none_match, size_max=read.size_max)

    def put(self, key: str, body: bytes, *, if_match: str | None = None, if_absent: bool = False) -> str:
        """See ``ObjectStore``."""

        def effect() -> str:
            return self.inner.put(key, body, if_match=if_match, if_absent=if_absent)

        return self._run("put", key, effect, is_conditional=if_absent or if_match is not None)

    def delete(self, key: str, *, if_match: str | None = None) -> None:
        """See ``ObjectStore``."""

        def effect() -> None:
            self.inner.delete(key, if_match=if_match)

        self._run("delete", key, effect, is_conditional=if_match is not None)

    def delete_many(self, keys: Sequence[str]) -> None:
        """See ``ObjectStore``."""
        for key in keys:
            self.delete(key)

    # --- faults ---------------------------------------------------------------------------------------------------

    def _run(self, verb: str, key: str, effect: Callable[[], _T], *, is_conditional: bool = False) -> _T:
        request = Request(len(self.requests), verb, key, is_conditional)
        self.requests.append(request)
        self.deliver_late(up_to=request.number)
        rule = next((rule for rule in self._rules if rule.applies_to(request)), None)
        if rule is None:
            return effect()
        if rule.action is not None:
            rule.times -= 1
            rule.action()
        elif rule.fault is not Fault.REFUSED or is_conditional:
            rule.times -= 1
            self._fail(rule.fault, request, effect)
        return effect()

    def _fail(self, fault: Fault | None, request: Request, effect: Callable[[], object]) -> None:
        where = f"{request.verb} {request.key}"
        if fault is Fault.REFUSED:
            raise PreconditionFailedError(where)
        if fault is Fault.THROTTLED:
            raise ThrottledError(where)
        if not request.is_write:
            raise BackendError(where)
        if fault is Fault.LOST_REPLY:
            _ignore_refusal(effect)
        if fault is Fault.LATE_EFFECT:
            self._late.append((request.number + self.late_request_count, effect))
        raise UnknownOutcomeError(where)

    def deliver_late(self, *, up_to: int | None = None) -> None:
        """Let late effects happen that are due at request ``up_to``, or all of them."""
        due = [effect for number, effect in self._late if up_to is None or number <= up_to]
        self._late = [item for item in self._late if item[1] not in due]
        for effect in due:
            _ignore_refusal(effect)


def _fitting(at: int | None, verb: str, key: str) -> Callable[[Request], bool]:
    if at is not None:
        return lambda request: request.number == at
    return lambda request: request.verb.startswith(verb) and key in request.key


def _ignore_refusal(effect: Callable[[], object]) -> None:
    try:
        effect()
    except PreconditionFailedError:
        # The condition did not hold when the request arrived, and nobody is there to be told.
        return
