"""Monitoring: the dashboard shows what is really sent, and alarms have somewhere to go."""

import json
import re
from typing import Any

from infra import names
from infra.function_table import FUNCTIONS
from infra.layer_build import ROOT
from tests.infra.synthesis import Template, synthesise, text_of

ALARM = "AWS::CloudWatch::Alarm"


def widgets(template: Template) -> list[dict[str, Any]]:
    body = template.one("AWS::CloudWatch::Dashboard")["DashboardBody"]
    found: list[dict[str, Any]] = json.loads(text_of(body))["widgets"]
    return found


def graph(template: Template, title: str) -> dict[str, Any]:
    (found,) = [
        item["properties"] for item in widgets(template) if item["properties"].get("title", "").startswith(title)
    ]
    return found


def metric_names(template: Template, title: str) -> set[str]:
    return {metric[1] for metric in graph(template, title)["metrics"]}


def test_the_dashboard_shows_everything_that_matters(template: Template) -> None:
    titles = [item["properties"].get("title", "") for item in widgets(template)]
    expected = ("Requests", "Latency of all", "Latency of recall", "Index lag", "Log length", "Age of the oldest")
    for start in (*expected, "Dead letters", "Errors", "Throttles", "Cost a day", "Alarms"):
        assert [title for title in titles if title.startswith(start)], start


def test_latencies_are_shown_as_median_and_as_99th_percentile(template: Template) -> None:
    for title in ("Latency of all", "Latency of recall"):
        statistics = {metric[-1]["stat"] for metric in graph(template, title)["metrics"]}
        assert statistics == {"p50", "p99"}


def test_the_metrics_of_the_indexer_are_those_that_its_handler_sends(template: Template) -> None:
    source = (ROOT / "functions" / "indexer" / "handler.py").read_text("utf-8")
    sent = set(re.findall(r'add_metric\(name="(\w+)"', source))
    shown = metric_names(template, "Index lag") | metric_names(template, "Log length")
    assert shown == {names.INDEX_LAG_METRIC, names.LOG_LENGTH_METRIC}
    assert shown <= sent
    assert f'namespace="{names.METRIC_NAMESPACE}"' in source
    metric = graph(template, "Index lag")["metrics"][0]
    assert metric[:4] == [names.METRIC_NAMESPACE, names.INDEX_LAG_METRIC, "service", "indexer"]


def test_the_latency_of_a_recall_is_taken_from_the_access_log(template: Template) -> None:
    found = template.one("AWS::Logs::MetricFilter", starts="MonitoringRecall")
    assert found["FilterPattern"] == '{ ($.routeKey = "POST /v1/memories/search") && ($.status < 400) }'
    (transformation,) = found["MetricTransformations"]
    assert transformation["MetricValue"] == "$.responseLatency"
    assert transformation["MetricName"] in metric_names(template, "Latency of recall")
    group = template.all("AWS::Logs::LogGroup")[found["LogGroupName"]["Ref"]]
    assert "vendedlogs" in text_of(group["Properties"]["LogGroupName"])


def test_two_stacks_of_an_account_do_not_share_a_metric_of_the_access_log() -> None:
    def name_in(template: Template) -> str:
        found = template.one("AWS::Logs::MetricFilter", starts="MonitoringRecall")
        name: str = found["MetricTransformations"][0]["MetricName"]
        return name

    assert name_in(synthesise(stackName="First")) != name_in(synthesise(stackName="Second"))


def test_the_cost_is_a_sum_without_exponents(template: Template) -> None:
    expressions = [
        item[0]["expression"] for item in graph(template, "Cost a day")["metrics"] if "expression" in item[0]
    ]
    (expression,) = expressions
    assert not re.search(r"\d[eE]-?\d", expression)
    for spec in FUNCTIONS:
        assert f"FILL({spec.name}_ms, 0)" in expression


def test_there_is_an_alarm_for_everything_that_needs_a_person(template: Template) -> None:
    alarms = [item["Properties"] for item in template.all(ALARM).values()]
    kinds = {alarm["MetricName"] for alarm in alarms}
    assert kinds == {"5xx", "ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"}
    assert all(alarm["TreatMissingData"] == "notBreaching" for alarm in alarms)


def test_every_queue_of_dead_letters_has_an_alarm(template: Template) -> None:
    dead_letters = {name for name in template.all("AWS::SQS::Queue") if "DeadLetters" in name}
    watched = {
        name
        for item in template.all(ALARM).values()
        if item["Properties"]["MetricName"] == "ApproximateNumberOfMessagesVisible"
        for name in template.logical_ids(item["Properties"]["Dimensions"])
    }
    assert len(dead_letters) == 4
    assert watched == dead_letters


def test_alarms_stay_within_the_ten_that_cost_nothing(template: Template) -> None:
    assert len(template.all(ALARM)) <= 10


def test_alarms_go_nowhere_unless_somebody_is_named(template: Template) -> None:
    assert not template.all("AWS::SNS::Topic")
    assert not [item for item in template.all(ALARM).values() if "AlarmActions" in item["Properties"]]


def test_alarms_go_to_an_address() -> None:
    template = synthesise(alarmEmail="ops@example.org")
    (topic_id,) = template.all("AWS::SNS::Topic")
    subscription = template.one("AWS::SNS::Subscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "ops@example.org")
    assert all(item["Properties"]["AlarmActions"] == [{"Ref": topic_id}] for item in template.all(ALARM).values())


def test_alarms_go_to_a_topic_that_exists() -> None:
    arn = "arn:aws:sns:eu-central-1:123456789012:alarms"
    template = synthesise(alarmTopicArn=arn)
    assert not template.all("AWS::SNS::Topic")
    assert all(item["Properties"]["AlarmActions"] == [arn] for item in template.all(ALARM).values())
