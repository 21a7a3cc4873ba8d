"""One set of data: what the dashboard multiplies, what the cost model takes for granted, and what the stack has."""

import json
import re

import pytest

from benchmarks.compute_costs import MEMORY_MB
from infra import prices
from infra.function_table import FUNCTIONS, ONE_PROCESSOR_MB
from infra.layer_build import ROOT
from infra.pipeline import BATCH_SIZE
from infra.settings import Settings
from s3_agent_memory.domain import pricing, usage, workload
from s3_agent_memory.domain.pricing import load_compute, load_prices, load_requests
from tests.infra.synthesis import Template


def test_the_dashboard_and_the_command_have_the_same_prices() -> None:
    usd = load_prices().usd
    assert load_prices().as_of == prices.AS_OF
    assert (usd["s3_put"], usd["s3_get"], usd["api_request"]) == (prices.S3_PUT, prices.S3_GET, prices.API_REQUEST)
    assert usd["lambda_gb_second_arm64"] == prices.LAMBDA_GB_SECOND["arm64"]


def test_the_dashboard_counts_the_requests_of_the_cost_model() -> None:
    recall = load_requests()["recall"]
    assert pytest.approx(recall.list * prices.S3_PUT + recall.get * prices.S3_GET) == prices.RECALL
    assert pytest.approx(2 * prices.S3_PUT) == prices.REMEMBER
    assert 0 < prices.FOLD < prices.S3_PUT


def test_the_functions_were_measured_with_the_memory_they_have() -> None:
    deployed = {spec.name: spec.memory_mb for spec in FUNCTIONS}
    assert {name: deployed[name] for name in MEMORY_MB} == MEMORY_MB
    assert dict(load_compute().memory_mb) == MEMORY_MB
    assert pricing.ONE_PROCESSOR_MB == ONE_PROCESSOR_MB


def test_the_cost_model_knows_the_stack(template: Template) -> None:
    assert len(template.all("AWS::CloudWatch::Alarm")) == usage.ALARM_COUNT
    assert len(template.all("AWS::Lambda::EventSourceMapping")) == usage.QUEUE_COUNT
    assert len(template.all("AWS::Scheduler::Schedule")) == usage.SCHEDULE_COUNT
    assert sum(spec.is_fast_start for spec in FUNCTIONS) == usage.SNAPSHOT_COUNT


def test_the_cost_model_knows_the_settings() -> None:
    usual = Settings.from_context({}, function_names=frozenset())
    assert usual.indexer_batch_window_seconds == workload.BATCH_WINDOW_SECONDS
    assert usual.indexer_maximum_concurrency == workload.POLLER_COUNT
    assert workload.BATCH_SIZE_MAX == BATCH_SIZE


def test_every_price_says_where_it_was_read_and_when() -> None:
    path = ROOT / "layers/memory/python/s3_agent_memory/domain/cost_data/prices.json"
    for name, item in json.loads(path.read_text("utf-8"))["prices"].items():
        assert item["source"].startswith("https://aws.amazon.com/"), name
        assert item["evidence"] in {"seller", "third party", "not read again"}, name
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", item["date"]), name
        assert item["read_in"], name
