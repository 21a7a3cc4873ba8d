"""S3 as a model: a store whose requests take as long as published figures say, on a clock that nobody waits for.

Each request draws its time from a lognormal distribution given by its median and 99th percentile, plus the time its
bytes take. A clock is moved on by that much instead of sleeping, so a measurement of minutes takes moments, is exact to
the microsecond, and is the same at every run of a seed. The library sends requests from one thread and hands parallel
ones over in one call (``read_many``, ``delete_many``), so no real thread is needed to model them: the slots of a pool
take the requests in order, each when it is free, which is what the pool of the S3 adapter does.
"""

import heapq
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from s3_agent_memory.storage.port import Get, ObjectPage, ObjectStore, Read, ReadResult, StoredObject, Unchanged

SOURCES = {
    "AWS: medians of requests below 512 KB are tens of milliseconds": "https://docs.aws.amazon.com/whitepapers/latest/"
    "s3-optimizing-performance-best-practices/timeouts-and-retries-for-latency-sensitive-applications.html",
    "Quickwit: GET about 30 ms, tails of 80 ms common, 80 MB/s a connection": "https://quickwit.io/blog/"
    "s3-express-speculations",
    "kkc: PUT of 60 KB from Lambda in its region 60 to 133 ms": "https://kkc.github.io/2020/03/16/s3-latency/",
    "Spiral: about lognormal, with a long tail": "https://spiraldb.com/post/so-you-want-to-use-object-storage",
    "LIST and DELETE: between GET and PUT, an assumption": "",
}
# Standard normal quantile of 0.99.
_Z99 = 2.3263478740408408
_US = 1_000_000
_S3_KEYS_A_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Latency:
    """A lognormal distribution by its median and its 99th percentile, in milliseconds."""

    p50_ms: float
    p99_ms: float

    def __post_init__(self) -> None:
        if not 0 < self.p50_ms <= self.p99_ms < math.inf:
            raise ValueError(f"a latency needs 0 < p50 <= p99, not {self.p50_ms} and {self.p99_ms}")

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithm: ln(p99 / p50) / z(0.99)."""
        return math.log(self.p99_ms / self.p50_ms) / _Z99

    @property
    def mean_ms(self) -> float:
        """The mean, which is what is billed: p50 x exp(sigma^2 / 2)."""
        return self.p50_ms * math.exp(self.sigma**2 / 2)

    def sample_s(self, source: random.Random) -> float:
        """Draw one, in seconds."""
        return source.lognormvariate(math.log(self.p50_ms), self.sigma) / 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Latency:
    """How S3 answers.

    Attributes:
        get, put, list, delete: of small objects and of one page.
        connection_bytes_per_second: of one connection.
        total_bytes_per_second: of the machine that asks; about what a Lambda function of 1,769 MB gets.
        worker_count: parallel requests of the adapter.
    """

    get: Latency = Latency(30, 150)
    put: Latency = Latency(70, 250)
    list: Latency = Latency(50, 200)
    delete: Latency = Latency(40, 200)
    connection_bytes_per_second: float = 80e6
    total_bytes_per_second: float = 75e6
    worker_count: int = 16


class VirtualClock:
    """A ``Clock`` that moves only when told to; whoever sleeps on it is there at once."""

    def __init__(self, now_us: int) -> None:
        self._start_us = self._now_us = now_us

    def now_us(self) -> int:
        """See ``Clock``."""
        return self._now_us

    def monotonic_s(self) -> float:
        """See ``Clock``."""
        return (self._now_us - self._start_us) / _US

    def sleep(self, seconds: float) -> None:
        """See ``Clock``."""
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now_us += round(seconds * _US)


class SimulatedS3:
    """An ``ObjectStore`` that answers like ``inner``, later.

    Args:
        wait: called with the seconds that a call took; ``VirtualClock.advance``, or ``time.sleep`` for real time.
        seed: of all latencies.
    """

    def __init__(
        self, inner: ObjectStore, wait: Callable[[float], object], *, latency: S3Latency | None = None, seed: int = 0
    ) -> None:
        self._inner = inner
        self._wait = wait
        self._latency = latency or S3Latency()
        self._random = random.Random(seed)

    def get(self, key: str, *, size_max: int) -> StoredObject | None:
        """See ``ObjectStore``."""
        result = self._inner.get(key, size_max=size_max)
        self._spend([self._seconds_of_get(result)], _size(result))
        return result

    def get_if_changed(self, key: str, etag: str, *, size_max: int) -> StoredObject | Unchanged | None:
        """See ``ObjectStore``."""
        result = self._inner.get_if_changed(key, etag, size_max=size_max)
        self._spend([self._seconds_of_get(result)], _size(result))
        return result

    def list_page(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> ObjectPage:
        """See ``ObjectStore``."""
        self._spend([self._latency.list.sample_s(self._random)])
        return self._inner.list_page(prefix, start_after=start_after, limit=limit)

    def read_many(self, reads: Sequence[Read]) -> list[ReadResult]:
        """See ``ObjectStore``."""
        results = self._inner.read_many(reads)
        seconds = [
            self._seconds_of_get(result) if isinstance(read, Get) else self._latency.list.sample_s(self._random)
            for read, result in zip(reads, results, strict=True)
        ]
        self._spend(seconds, sum(map(_size, results)))
        return results

    def put(self, key: str, body: bytes, *, if_match: str | None = None, if_absent: bool = False) -> str:
        """See ``ObjectStore``."""
        self._spend([self._latency.put.sample_s(self._random) + self._transfer_s(len(body))], len(body))
        return self._inner.put(key, body, if_match=if_match, if_absent=if_absent)

    def delete(self, key: str, *, if_match: str | None = None) -> None:
        """See ``ObjectStore``."""
        self._spend([self._latency.delete.sample_s(self._random)])
        self._inner.delete(key, if_match=if_match)

    def delete_many(self, keys: Sequence[str]) -> None:
        """See ``ObjectStore``; then, as in a versioned bucket, a listing of versions and a deletion of them."""
        self._spend([self._latency.delete.sample_s(self._random) for _ in keys])
        for _ in range(math.ceil(len(keys) / _S3_KEYS_A_PAGE)):
            self._spend([self._latency.list.sample_s(self._random)])
            self._spend([self._latency.delete.sample_s(self._random)])
        self._inner.delete_many(keys)

    def _seconds_of_get(self, result: ReadResult) -> float:
        return self._latency.get.sample_s(self._random) + self._transfer_s(_size(result))

    def _transfer_s(self, size_bytes: int) -> float:
        return size_bytes / self._latency.connection_bytes_per_second

    def _spend(self, seconds: Sequence[float], size_bytes: int = 0) -> None:
        least = size_bytes / self._latency.total_bytes_per_second
        self._wait(max(makespan_s(seconds, self._latency.worker_count), least))


def makespan_s(seconds: Sequence[float], worker_count: int) -> float:
    """Return when a pool is done with tasks that it takes in order, each when a worker is free."""
    free_at = [0.0] * min(worker_count, len(seconds))
    for duration in seconds:
        heapq.heapreplace(free_at, free_at[0] + duration)
    return max(free_at, default=0.0)


def describe(latency: S3Latency) -> dict[str, object]:
    """Return the model as JSON-able values, with its sources."""
    return {**asdict(latency), "sources": SOURCES}


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least ``share`` of all do not exceed (nearest rank).

    Raises:
        ValueError: there are no values.
    """
    ranked = sorted(values)
    if not ranked:
        raise ValueError("no values, no percentile")
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]


def _size(result: ReadResult) -> int:
    return len(result.body) if isinstance(result, StoredObject) else 0
