"""The cost model: a bill that adds up, from data that say where they are from."""

import json
from dataclasses import replace
from importlib.resources import files

import pytest

from s3_agent_memory.domain.cost import Estimate, estimate
from s3_agent_memory.domain.pricing import ONE_PROCESSOR_MB, Duration, load_compute, load_prices, load_requests
from s3_agent_memory.domain.workload import Workload

IDLE = Workload(recalls=0, writes=0, memories=0, has_snapshots=False, poller_count=2)
BUSY = Workload(recalls=10_000_000, writes=3_000_000, updates=100_000, memories=10_000_000, namespaces=10_000)


def part(found: Estimate, *names: str) -> float:
    return sum(line.usd for line in found.lines if line.part in names)


def test_nothing_costs_nothing_where_nothing_is_kept_ready() -> None:
    assert estimate(IDLE).net_total_usd == pytest.approx(0, abs=0.01)


def test_snapshots_and_readers_of_queues_are_what_idling_costs() -> None:
    found = estimate(replace(IDLE, has_snapshots=True, poller_count=5))
    paid = {line.item: line.net_usd for line in found.lines if line.net_usd > 0.01}
    gigabyte_seconds = 2 * 896 / 1_024 * 2_592_000
    assert paid == {
        "SnapStart cache": pytest.approx(gigabyte_seconds * 1.5046e-6),
        "polls": pytest.approx((3 * 5 * 3 * 43_200 - 1_000_000) * 0.4e-6),
    }


def test_a_bill_is_the_sum_of_its_lines() -> None:
    found = estimate(BUSY)
    assert found.total_usd == pytest.approx(sum(line.usd for line in found.lines))
    assert 0 < found.net_total_usd < found.total_usd
    assert all(0 <= line.net_usd <= line.usd for line in found.lines)


def test_a_free_allowance_is_given_once() -> None:
    found = estimate(BUSY)
    saved = sum(line.usd - line.net_usd for line in found.lines if line.item.endswith("GB-seconds"))
    assert saved == pytest.approx(400_000 * load_prices().usd["lambda_gb_second_arm64"])


def test_twice_the_recalls_cost_twice_as_much() -> None:
    twice = estimate(replace(BUSY, recalls=2 * BUSY.recalls))
    assert part(twice, "recall") == pytest.approx(2 * part(estimate(BUSY), "recall"))
    assert part(twice, "remember", "index") == pytest.approx(part(estimate(BUSY), "remember", "index"))


def test_a_million_costs_what_the_bill_says_for_a_million() -> None:
    work = Workload(recalls=0, writes=1_000_000, memories=0, changes_per_fold=64)
    found = estimate(work)
    cost = found.per_million["remember"]
    assert cost.own_usd == pytest.approx(part(found, "remember"))
    assert cost.index_usd == pytest.approx(part(found, "index"))
    assert cost.other_usd == pytest.approx(part(found, "edge"))


def test_a_warm_recall_costs_its_requests_and_its_time() -> None:
    spent = Duration(compute_ms=10, wait_ms=90)
    compute = load_compute()
    api = {**compute.durations["http_api"], "recall": spent}
    given = replace(compute, durations={**compute.durations, "http_api": api})
    found = estimate(replace(BUSY, cold_share=0), compute=given)
    gigabyte_seconds = 1_000_000 * 0.1 * 896 / 1_024
    expected = 1_000_000 * (5e-6 + 11 * 0.4e-6) + 0.2 + gigabyte_seconds * 1.33334e-5
    assert found.per_million["recall"].own_usd == pytest.approx(expected)


def test_half_a_processor_computes_twice_as_long_and_waits_as_long() -> None:
    document = json.loads(files("s3_agent_memory.domain").joinpath("cost_data/compute.json").read_bytes())
    measured = document["functions"]["http_api"]["operations"]["recall"]
    spent = load_compute().durations["http_api"]["recall"]
    assert spent.wait_ms == measured["wait_ms"]
    assert spent.compute_ms == pytest.approx(measured["compute_ms"] * ONE_PROCESSOR_MB / 896)


def test_changes_that_are_folded_together_cost_a_fraction() -> None:
    alone, together = (estimate(replace(BUSY, changes_per_fold=size)) for size in (1, 64))
    assert part(together, "index") < part(alone, "index") / 10


def test_cold_recalls_cost_more() -> None:
    warm, cold = (estimate(replace(BUSY, cold_share=share)) for share in (0, 1))
    assert part(cold, "recall") > part(warm, "recall")


def test_larger_memories_cost_storage_and_nothing_else() -> None:
    small, large = estimate(BUSY), estimate(replace(BUSY, size_bytes=16_384))
    assert part(large, "storage") > part(small, "storage")
    assert large.total_usd - small.total_usd == pytest.approx(part(large, "storage") - part(small, "storage"))


def test_every_price_names_its_source_and_its_date() -> None:
    prices = load_prices()
    assert prices.region == "us-east-1"
    assert min(prices.usd.values()) > 0
    for item in prices.alternatives:
        assert item.source.startswith("https://"), item
        assert item.evidence, item
        assert item.date, item


def test_every_operation_was_counted_and_measured() -> None:
    assert {"remember", "update", "recall", "fold", "fold_each", "embedder_run"} <= set(load_requests())
    compute = load_compute()
    assert compute.measured_at >= "2026-11-30"
    for function, operations in compute.durations.items():
        assert compute.memory_mb[function] >= 128
        assert all(spent.compute_ms > 0 and spent.wait_ms > 0 for spent in operations.values()), function
