"""What goes wrong on the way to the storage, in a seeded order in which every kind has its turn."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from threading import Lock


class Fault(StrEnum):
    """What becomes of one request."""

    LOST_REQUEST = "cut before the request was forwarded"
    LATE_REQUEST = "cut, and the request forwarded afterwards"
    LOST_REPLY = "cut after the request was forwarded"
    CUT_BODY = "cut in the middle of the reply's body"
    CUT_HEAD = "cut in the middle of the reply's head"
    DELAY = "delayed"
    SLOW_DOWN = "503 SlowDown without forwarding"
    REFUSED = "500 InternalError without forwarding"
    DONE_BUT_FAILED = "500 InternalError after forwarding"
    CONFLICT = "409 ConditionalRequestConflict without forwarding"


# A reply without a body is cut in its head.
_READ_FAULTS = tuple(fault for fault in Fault if fault is not Fault.CONFLICT)
_WRITE_FAULTS = tuple(fault for fault in Fault if fault not in {Fault.CUT_BODY, Fault.CONFLICT})
_CONDITIONAL_FAULTS = (*_WRITE_FAULTS, Fault.CONFLICT)
_DECKS = {"read": _READ_FAULTS, "write": _WRITE_FAULTS, "conditional": _CONDITIONAL_FAULTS}


@dataclass(frozen=True, slots=True)
class Rates:
    """How many of the requests something happens to, from 0 to 1. The SDK waits long before it reads again."""

    read: float = 0.02
    write: float = 0.15


class Deck:
    """Draws a fault, or none, for one request after the other; safe for threads.

    Attributes:
        counts: faults dealt so far.
        write_count: requests so far that may change something.
        is_calm: True while nothing is to go wrong.
    """

    def __init__(self, seed: int | str, rates: Rates | None = None) -> None:
        self.counts: Counter[Fault] = Counter()
        self.write_count = 0
        self.is_calm = False
        self._rates = rates or Rates()
        self._random = Random(seed)
        self._cards: dict[str, list[Fault]] = {name: [] for name in _DECKS}
        self._outage_count = 0
        self._waits_for_write = False
        self._lock = Lock()

    def break_down(self, request_count: int, *, at_write: bool = False) -> None:
        """Let none of the next requests succeed, from now or from the next write on.

        If they are more than the SDK repeats a read, the caller notices.
        """
        with self._lock:
            self._outage_count = request_count
            self._waits_for_write = at_write

    def draw(self, *, is_write: bool, is_conditional: bool) -> Fault | None:
        """Return what becomes of the next request."""
        with self._lock:
            self.write_count += is_write
            rate = self._rates.write if is_write else self._rates.read
            self._waits_for_write = self._waits_for_write and not is_write
            is_broken = self._outage_count > 0 and not self._waits_for_write
            if self.is_calm or (self._random.random() >= rate and not is_broken):
                return None
            self._outage_count -= is_broken
            fault = self._next(("conditional" if is_conditional else "write") if is_write else "read")
            if fault is Fault.DELAY and is_broken:
                fault = Fault.LOST_REQUEST
            self.counts[fault] += 1
            return fault

    def _next(self, name: str) -> Fault:
        if not self._cards[name]:
            self._cards[name] = self._random.sample(_DECKS[name], len(_DECKS[name]))
        return self._cards[name].pop()
