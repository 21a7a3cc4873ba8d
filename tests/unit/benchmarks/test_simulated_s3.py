"""The model of S3: its latencies are those that it was given, counted as a pool of connections would take them."""

import random

import pytest

from benchmarks.simulated_s3 import Latency, S3Latency, SimulatedS3, VirtualClock, makespan_s, percentile
from s3_agent_memory.storage.in_memory import InMemoryObjectStore
from s3_agent_memory.storage.port import Get, ListPage

SEED = 5
EXACT = S3Latency(get=Latency(30, 30), put=Latency(70, 70), list=Latency(50, 50), delete=Latency(40, 40))


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(0)


@pytest.fixture
def store(clock: VirtualClock) -> SimulatedS3:
    return SimulatedS3(InMemoryObjectStore(clock), clock.advance, latency=EXACT, seed=SEED)


def test_samples_have_the_median_the_tail_and_the_mean_of_the_distribution() -> None:
    latency, source = Latency(30, 150), random.Random(SEED)
    samples = [1_000 * latency.sample_s(source) for _ in range(40_000)]
    assert percentile(samples, 0.5) == pytest.approx(30, rel=0.02), SEED
    assert percentile(samples, 0.99) == pytest.approx(150, rel=0.05), SEED
    assert sum(samples) / len(samples) == pytest.approx(latency.mean_ms, rel=0.02), SEED


@pytest.mark.parametrize(("p50", "p99"), [(0, 10), (10, 9), (float("nan"), 10), (10, float("inf"))])
def test_a_latency_that_makes_no_sense_is_refused(p50: float, p99: float) -> None:
    with pytest.raises(ValueError, match="0 < p50 <= p99"):
        Latency(p50, p99)


def test_requests_one_after_the_other_add_up(store: SimulatedS3, clock: VirtualClock) -> None:
    store.put("a", b"")
    store.get("a", size_max=10)
    store.list_page("")
    assert clock.monotonic_s() == pytest.approx(0.150)


def test_reads_at_once_take_as_long_as_the_slowest(store: SimulatedS3, clock: VirtualClock) -> None:
    store.read_many([ListPage(""), *(Get(f"{number}", 10) for number in range(15))])
    assert clock.monotonic_s() == pytest.approx(0.050)


def test_more_reads_than_connections_wait_for_each_other(store: SimulatedS3, clock: VirtualClock) -> None:
    store.read_many([Get(f"{number}", 10) for number in range(33)])
    assert clock.monotonic_s() == pytest.approx(3 * 0.030)


def test_bytes_take_time_and_share_the_line(store: SimulatedS3, clock: VirtualClock) -> None:
    store.put("a", bytes(8_000_000))
    assert clock.monotonic_s() == pytest.approx(0.070 + 8_000_000 / 80e6)
    before_s = clock.monotonic_s()
    store.read_many([Get("a", 10**7)] * 10)
    assert clock.monotonic_s() - before_s == pytest.approx(10 * 8_000_000 / 75e6)


def test_the_same_seed_gives_the_same_times() -> None:
    def elapsed(seed: int) -> float:
        clock = VirtualClock(0)
        store = SimulatedS3(InMemoryObjectStore(clock), clock.advance, seed=seed)
        store.read_many([Get("a", 10)] * 40)
        return clock.monotonic_s()

    assert elapsed(SEED) == elapsed(SEED) != elapsed(SEED + 1)


@pytest.mark.parametrize(
    ("seconds", "workers", "expected"), [([], 4, 0.0), ([3, 1, 1, 1], 2, 3), ([1, 1, 3], 2, 4), ([2, 2, 2], 1, 6)]
)
def test_tasks_are_taken_in_order_by_whoever_is_free(seconds: list[float], workers: int, expected: float) -> None:
    assert makespan_s(seconds, workers) == expected


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile(range(1, 101), 0.99) == 99
    assert percentile([5], 0.5) == 5
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)
