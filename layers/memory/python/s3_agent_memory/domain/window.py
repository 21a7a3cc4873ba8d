"""The window of a session: what lies in its one object, and every way it may change.

All changes are pure functions from window to window; who swaps the object decides when. Each turn is at every moment in
exactly one place: the window, the batch that is pending in it, a batch object, or what came out of one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from s3_agent_memory.domain.scopes import Contributor, Scope
from s3_agent_memory.domain.tiers import Marks
from s3_agent_memory.domain.turns import Turn, token_count_of
from s3_agent_memory.errors import LimitExceededError

APPLIED_COUNT_MAX: Final = 64
CONTRIBUTOR_COUNT_MAX: Final = 1_000
# Clocks of two machines differ by less.
SKEW_MS: Final = 5_000
# Sorts after every hexadecimal digit, so that it ends no id but is above all with the same time.
_ABOVE: Final = "~"
_MS_DIGITS: Final = 13


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Turns that left the window together; the content of a number never changes within an epoch."""

    number: int
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """An erasure whose traces in older epochs are still to be removed.

    Attributes:
        epoch: the epoch it ended.
        done: the last batch of that epoch that was digested; later ones were taken back into the window.
        scope: whose turns and memories have to go.
    """

    epoch: int
    done: int
    scope: Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The state of a session; its object is never deleted.

    Attributes:
        session_id: None if it was erased, or for turns outside of any session.
        version, nonce: new with every swap, so that no two bodies are equal.
        epoch: rises with every erasure and is part of all keys and ids, so that nothing late can come back.
        turns: the verbatim turns, oldest first.
        pending: a batch that left ``turns`` and may not have an object yet.
        next_batch: the number of the next batch of this epoch.
        done: the batch up to which everything is digested; ``head`` is the nonce of that digest.
        applied: ids of the latest writes, in order; ``floor`` is the greatest id that was dropped from there.
        contributors: who wrote to the session since it was last erased as a whole.
    """

    session_id: str | None = None
    version: int = 0
    nonce: str = ""
    epoch: int = 1
    turns: tuple[Turn, ...] = ()
    pending: Batch | None = None
    next_batch: int = 1
    done: int = 0
    head: str | None = None
    applied: tuple[str, ...] = ()
    floor: str = ""
    contributors: tuple[Contributor, ...] = ()
    erasures: tuple[Erasure, ...] = ()

    @property
    def principals(self) -> frozenset[str]:
        """The users who wrote to the session."""
        return frozenset(item.principal for item in self.contributors if item.principal is not None)

    @property
    def first_undigested(self) -> int:
        """The number of the batch that is to be digested next."""
        return self.done + 1

    @property
    def batch_limit(self) -> int:
        """The number before which every batch has an object (or had one, if it is digested)."""
        return self.next_batch if self.pending is None else self.pending.number

    @property
    def is_idle(self) -> bool:
        """True if nobody has anything left to do for this session."""
        return self.pending is None and self.first_undigested >= self.next_batch and not self.erasures


def mint_write_id(window: Window, *, now_ms: int, nonce: str) -> str:
    """Return a fresh id above the floor; ids sort by the time of issue."""
    floor_ms = int(window.floor[:_MS_DIGITS]) + 1 if window.floor else 0
    return f"{max(now_ms, floor_ms):0{_MS_DIGITS}d}-{nonce}"


def append(window: Window, turns: Sequence[Turn], *, write_id: str | None, marks: Marks | None) -> Window:
    """Return the window with more turns; what it then has too many of is pending as its next batch.

    Args:
        window: one without a pending batch.
        write_id: remembered as applied; None for turns that are no write.
        marks: when turns leave the window; None moves them all.

    Raises:
        LimitExceededError: too many different contributors.
    """
    contributors = tuple(dict.fromkeys((*window.contributors, *(turn.contributor for turn in turns))))
    if len(contributors) > CONTRIBUTOR_COUNT_MAX:
        raise LimitExceededError(
            f"a session has {len(contributors)} contributors; at most {CONTRIBUTOR_COUNT_MAX} are allowed",
            limit="contributor_count_max",
            maximum=CONTRIBUTOR_COUNT_MAX,
        )
    kept = (*window.turns, *turns)
    count = len(kept) if marks is None else count_to_evict(kept, marks)
    applied = sorted((*window.applied, *([] if write_id is None else [write_id])))
    dropped = applied[: max(0, len(applied) - APPLIED_COUNT_MAX)]
    return replace(
        window,
        turns=kept[count:],
        pending=Batch(number=window.next_batch, turns=kept[:count]) if count else None,
        next_batch=window.next_batch + bool(count),
        applied=tuple(applied[len(dropped) :]),
        floor=max((window.floor, *dropped)),
        contributors=contributors,
    )


def count_to_evict(turns: Sequence[Turn], marks: Marks) -> int:
    """Return how many of the oldest turns must go; never the newest."""
    tokens, left = token_count_of(turns), len(turns)
    if tokens <= marks.high_tokens and left <= marks.turn_count_max:
        return 0
    low_count = marks.turn_count_max if left <= marks.turn_count_max else max(1, marks.turn_count_max // 2)
    while left > 1 and (tokens > marks.low_tokens or left > low_count):
        tokens -= turns[-left].token_count
        left -= 1
    return len(turns) - left


def without_pending(window: Window) -> Window:
    """Return the window once its pending batch has an object."""
    return replace(window, pending=None)


def digested(window: Window, number: int, head: str) -> Window:
    """Return the window once a batch is digested."""
    return replace(window, done=number, head=head)


def erased(window: Window, scope: Scope, *, undigested: Iterable[Turn], now_ms: int, marks: Marks | None) -> Window:
    """Return the window after an erasure: a new epoch that holds what is left of the turns not digested yet.

    The digests are dropped whole, because nobody can tell what in them came from whom.

    Args:
        scope: whose turns go.
        undigested: the turns of all batches that are not digested, the pending one included, in order.
        marks: as of ``append``.
    """
    left = tuple(item for item in window.contributors if not scope.covers(item))
    highest = (f"{identity}{_ABOVE}" for identity in window.applied)
    fresh = Window(
        session_id=window.session_id if left else None,
        version=window.version,
        epoch=window.epoch + 1,
        floor=max(window.floor, f"{now_ms + SKEW_MS:0{_MS_DIGITS}d}-{_ABOVE}", *highest),
        contributors=left,
        erasures=(*window.erasures, Erasure(epoch=window.epoch, done=window.done, scope=scope)),
    )
    kept = [turn for turn in (*undigested, *window.turns) if not scope.covers(turn.contributor)]
    return append(fresh, kept, write_id=None, marks=marks)


def without_erasure(window: Window, erasure: Erasure) -> Window:
    """Return the window once the traces of an erasure are gone."""
    return replace(window, erasures=tuple(item for item in window.erasures if item != erasure))
