"""Indexers that work through a queue, on virtual time with the durations of the cost model (`compute.json`).

The queue is Lambda's: some readers, each collecting a batch until its window ends or it is full, each calling the
indexer with what it has. An indexer folds some namespaces side by side; what it has no time to begin comes again, after
some times as a dead letter, which is not simulated. A fold that is cut off counts as not done.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass

from s3_agent_memory.domain.pricing import Duration
from s3_agent_memory.service.upkeep.folder import ENTRY_COUNT_MAX
from s3_agent_memory.service.upkeep.indexer import RESERVE_MS

_LAG_POINTS = 16
_STEP_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexers:
    """How a queue is worked through.

    Attributes:
        concurrency: batches at once, each of one indexer.
        window_seconds, batch_size: a batch ends with whichever comes first.
        timeout_seconds: no namespace is begun in the last ``RESERVE_MS`` of it.
        side_by_side: namespaces that one indexer folds at once.
        fold, fold_each: what a fold takes, and what each change in it adds.
    """

    concurrency: int = 5
    window_seconds: float = 60
    batch_size: int = 1_000
    timeout_seconds: float = 300
    side_by_side: int = 16
    fold: Duration
    fold_each: Duration


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRun:
    """What became of changes at a steady rate.

    Attributes:
        batches: begun; ``timeouts`` of them were cut off, or gave back what they had no time for.
        returned: changes given back, each time.
        busy: share of the indexers' time.
        lag_p50_s, lag_p99_s: from a change to the commit of the fold that holds it; of those that were committed.
        log_mean, log_end: unfolded log entries: on average over the second half, and at the end.
        backlog_end: changes that no commit holds at the end.
        rows_per_change: how often a change was folded.
        keeps_up: True if nothing timed out and the log did not grow from the second to the last quarter.
    """

    rate: float
    seconds: float
    batches: int
    timeouts: int
    returned: int
    busy: float
    lag_p50_s: float
    lag_p99_s: float
    log_mean: float
    log_end: int
    backlog_end: int
    rows_per_change: float
    keeps_up: bool


class _Run:
    """Collects what happens in one simulation."""

    def __init__(self, rate: float, seconds: float, backlog: int) -> None:
        self.rate, self.seconds, self.backlog = rate, seconds, backlog
        self.batches = self.timeouts = self.returned = self.waiting_again = 0
        self.busy_s = self.rows = 0.0
        self.lags: list[tuple[float, float]] = []
        self.logs: list[tuple[float, int]] = []

    def arrived(self, now_s: float) -> int:
        """Return how many changes have come; those of a backlog were there before."""
        return self.backlog + int(self.rate * min(now_s, self.seconds))

    def came_at(self, number: int) -> float:
        """Return when a change came; all of a backlog count from the beginning."""
        return max(0.0, (number + 1 - self.backlog) / self.rate)

    def give_back(self, count: int) -> None:
        """Let changes come again, as soon as somebody asks."""
        self.returned += count
        self.waiting_again += count
        self.timeouts += count > 0

    def note_lags(self, first: int, end: int, count: int, times_s: tuple[float, float]) -> None:
        """Note the lag of ``count`` of the changes between two, committed one after the other between two times."""
        from_s, to_s = times_s
        for point in range(_LAG_POINTS if count else 0):
            share = (point + 0.5) / _LAG_POINTS
            committed_s = from_s + share * (to_s - from_s)
            self.lags.append((committed_s - self.came_at(first + int(share * (end - first))), count / _LAG_POINTS))

    def result(self, concurrency: int, committed: int) -> QueueRun:
        """Return the figures."""
        quarter = self.seconds / 4
        second = _mean([length for at, length in self.logs if quarter <= at < 2 * quarter])
        last = _mean([length for at, length in self.logs if at >= 3 * quarter])
        end = self.arrived(self.seconds) - committed
        return QueueRun(
            rate=self.rate,
            seconds=self.seconds,
            batches=self.batches,
            timeouts=self.timeouts,
            returned=self.returned,
            busy=round(self.busy_s / (concurrency * self.seconds), 3),
            lag_p50_s=round(_weighted(self.lags, 0.5), 1),
            lag_p99_s=round(_weighted(self.lags, 0.99), 1),
            log_mean=round(_mean([length for at, length in self.logs if at >= 2 * quarter]), 1),
            log_end=end,
            backlog_end=end,
            rows_per_change=round(self.rows / max(1, committed), 2),
            keeps_up=not self.timeouts and last <= 1.25 * second + self.rate,
        )


def run_hot(indexers: Indexers, *, rate: float, seconds: float = 3_600, backlog: int = 0) -> QueueRun:
    """Simulate one namespace that takes ``rate`` changes a second.

    A fold takes in all of the log that no commit holds yet, up to 10,000 entries, and looks again at every id its batch
    names; so indexers that work side by side on one namespace do much of their work twice.
    """
    run = _Run(rate, seconds, backlog)
    commits: list[tuple[float, int]] = []
    state = {"committed": 0}

    def settle(now_s: float) -> int:
        while commits and commits[0][0] <= now_s:
            finish_s, end = heapq.heappop(commits)
            if end > state["committed"]:
                run.note_lags(state["committed"], end, end - state["committed"], (finish_s, finish_s))
                state["committed"] = end
        return state["committed"]

    def work(start_s: float, batch: _Reader) -> float:
        committed = settle(start_s)
        log = run.arrived(start_s) - committed
        run.logs.append((start_s, log))
        fresh = min(log, ENTRY_COUNT_MAX)
        covered = max(0, min(batch.end, committed + fresh) - max(batch.first, committed))
        again = round(batch.count * (1 - covered / (batch.end - batch.first)))
        # An id that only a message names is read without its log entry: two requests instead of three.
        changes = fresh + again * 2 / 3
        spent_s = (indexers.fold.total_ms + changes * indexers.fold_each.total_ms) / 1_000
        if spent_s <= indexers.timeout_seconds:
            run.rows += fresh + again
            heapq.heappush(commits, (start_s + spent_s, committed + fresh))
        return spent_s

    _serve(run, indexers, work)
    return run.result(indexers.concurrency, settle(seconds))


def run_spread(
    indexers: Indexers, *, rate: float, namespaces: int, seconds: float = 3_600, backlog: int = 0
) -> QueueRun:
    """Simulate changes spread over many namespaces.

    Waiting goes on side by side, computing does not: threads of one process share an interpreter.
    """
    run = _Run(rate, seconds, backlog)
    state = {"committed": 0}
    patience_s = indexers.timeout_seconds - RESERVE_MS / 1_000

    def work(start_s: float, batch: _Reader) -> float:
        run.logs.append((start_s, run.arrived(start_s) - state["committed"]))
        distinct = namespaces * (1 - (1 - 1 / namespaces) ** batch.count)
        each = batch.count / distinct
        fold_s = (indexers.fold.total_ms + each * indexers.fold_each.total_ms) / 1_000
        compute_s = (indexers.fold.compute_ms + each * indexers.fold_each.compute_ms) / 1_000
        begun_each_s = max(fold_s / indexers.side_by_side, compute_s)
        begun = min(distinct, math.floor(patience_s / begun_each_s))
        count = min(batch.count, round(begun * each))
        spent_s = max(begun * begun_each_s, fold_s)
        run.give_back(batch.count - count)
        run.rows += count
        run.note_lags(batch.first, batch.end, count, (start_s, start_s + spent_s))
        state["committed"] += count if start_s + spent_s <= seconds else 0
        return spent_s

    _serve(run, indexers, work)
    return run.result(indexers.concurrency, state["committed"])


@dataclass(slots=True)
class _Reader:
    """One reader of the queue and the indexer it calls.

    Attributes:
        free_s: when its indexer is done.
        begun_s: when the first message of the batch it collects came; None if it has none.
        first, end, count: it holds so many of the messages between these two.
    """

    free_s: float = 0.0
    begun_s: float | None = None
    first: int = 0
    end: int = 0
    count: int = 0

    def take(self, now_s: float, first: int, count: int, *, again: int = 0) -> None:
        if not self.count:
            self.begun_s, self.first = now_s, first
        self.end, self.count = first + count, self.count + count + again


def _serve(run: _Run, indexers: Indexers, work: Callable[[float, _Reader], float]) -> None:
    """Let readers share what comes; ``work`` says how long an indexer takes that begins then, with that batch."""
    readers = [_Reader() for _ in range(indexers.concurrency)]
    taken = 0
    for step in range(int(run.seconds / _STEP_SECONDS)):
        now_s = (step + 1) * _STEP_SECONDS
        waiting = [reader for reader in readers if reader.free_s <= now_s]
        for position in range(len(waiting)):
            reader = waiting[(position + step) % len(waiting)]
            share = math.ceil((run.arrived(now_s) + run.waiting_again - taken) / (len(waiting) - position))
            count = min(share, indexers.batch_size - reader.count)
            if count:
                again = min(count, run.waiting_again)
                run.waiting_again -= again
                reader.take(now_s, taken, count - again, again=again)
                taken += count - again
            is_over = reader.begun_s is not None and now_s - reader.begun_s >= indexers.window_seconds
            if reader.count and (is_over or reader.count >= indexers.batch_size):
                _call(run, indexers, reader, now_s=now_s, spent_s=work(now_s, reader))


def _call(run: _Run, indexers: Indexers, reader: _Reader, *, now_s: float, spent_s: float) -> None:
    run.batches += 1
    run.timeouts += spent_s > indexers.timeout_seconds
    spent_s = min(spent_s, indexers.timeout_seconds)
    run.busy_s += min(spent_s, run.seconds - now_s)
    reader.free_s, reader.begun_s, reader.count = now_s + spent_s, None, 0


def most_sustained(run: Callable[[float], QueueRun], *, most: int = 4_096) -> int:
    """Return the highest whole rate of changes a second that is kept up with, found by halving."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if run(middle).keeps_up else (low, middle)
    return low


def _mean(values: list[int]) -> float:
    return sum(values) / len(values) if values else 0.0


def _weighted(values: list[tuple[float, float]], share: float) -> float:
    total, seen = sum(weight for _, weight in values), 0.0
    for value, weight in sorted(values):
        seen += weight
        if seen >= share * total:
            return value
    return 0.0
