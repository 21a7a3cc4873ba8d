"""Monitoring: a dashboard that shows how the system does and what it costs, and alarms for what needs a person."""

from collections.abc import Sequence
from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra import names, prices, routes
from infra.acknowledgements import acknowledge
from infra.api import MemoryApi
from infra.function_table import INDEXER
from infra.functions import MemoryFunction
from infra.pipeline import ObjectPipeline
from infra.routes import ApiRoute
from infra.schedules import RoundSchedules
from infra.settings import Settings

_MINUTES: Final = Duration.minutes(5)
_DAY: Final = Duration.days(1)
_WIDTH: Final = 8
# Later than this the log that a cold reader must read has grown long.
_QUEUE_AGE_SECONDS: Final = 900
_ERROR_COUNT: Final = 3
_P50: Final = "p50"
_P99: Final = "p99"
_SUM: Final = "Sum"
_MAXIMUM: Final = "Maximum"


class Monitoring(Construct):
    """Dashboard, alarms, and the topic that alarms go to.

    Attributes:
        dashboard: the dashboard.
        alarms: all alarms.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: Settings,
        api: MemoryApi,
        functions: Sequence[MemoryFunction],
        pipelines: Sequence[ObjectPipeline],
        rounds: RoundSchedules,
    ) -> None:
        super().__init__(scope, id)
        self._api, self._functions, self._pipelines, self._rounds = api, functions, pipelines, rounds
        self._settings = settings
        self._recall = self._latency_metric(names.RECALL_METRIC, routes.RECALL)
        self._remember = self._latency_metric(names.REMEMBER_METRIC, routes.REMEMBER)
        # What fails behind a queue or a schedule ends as a dead letter, so functions need no alarms of their own, and
        # all alarms together stay within the ten that cost nothing.
        self.alarms = [self._request_alarm(), *self._queue_alarms()]
        topic = self._find_topic()
        if topic is not None:
            for alarm in self.alarms:
                alarm.add_alarm_action(actions.SnsAction(topic))
        self.dashboard = cloudwatch.Dashboard(
            self, "Dashboard", dashboard_name=Stack.of(self).stack_name, widgets=self._widgets()
        )

    def _latency_metric(self, name: str, route: ApiRoute) -> cloudwatch.Metric:
        """Return the metric of how long one route takes, which the access log knows to the request."""
        metric_filter = logs.MetricFilter(
            self,
            name,
            log_group=self._api.access_log,
            metric_namespace=names.METRIC_NAMESPACE,
            # Several deployments in one account each have their own.
            metric_name=f"{name}-{Stack.of(self).stack_name}",
            filter_pattern=logs.FilterPattern.all(
                logs.FilterPattern.string_value("$.routeKey", "=", f"{route.method} {route.path}"),
                logs.FilterPattern.number_value("$.status", "<", 400),
            ),
            metric_value="$.responseLatency",
            unit=cloudwatch.Unit.MILLISECONDS,
        )
        return metric_filter.metric(period=_MINUTES, statistic=_P99, label=name)

    # --- alarms -------------------------------------------------------------------------------------------------------

    def _queue_alarms(self) -> list[cloudwatch.Alarm]:
        dead_letters = {f"{pipeline.node.id}DeadLetters": pipeline.dead_letters for pipeline in self._pipelines}
        dead_letters["RoundsDeadLetters"] = self._rounds.dead_letters
        alarms = [
            _alarm(
                self,
                name,
                queue.metric_approximate_number_of_messages_visible(period=_MINUTES, statistic=_MAXIMUM),
                threshold=1,
                description="Messages or runs that failed at every attempt wait in a dead-letter queue.",
            )
            for name, queue in dead_letters.items()
        ]
        return alarms + [
            _alarm(
                self,
                f"{pipeline.node.id}Age",
                pipeline.queue.metric_approximate_age_of_oldest_message(period=_MINUTES, statistic=_MAXIMUM),
                threshold=_QUEUE_AGE_SECONDS,
                description="Changes wait too long: nothing is lost, but recall gets slower.",
            )
            for pipeline in self._pipelines
        ]

    def _request_alarm(self) -> cloudwatch.Alarm:
        return _alarm(
            self,
            "ServerErrors",
            self._api.api.metric_server_error(period=_MINUTES, statistic=_SUM),
            threshold=_ERROR_COUNT,
            description="Requests fail: a function, the authorizer or the storage; the log of the function says why.",
        )

    def _find_topic(self) -> sns.ITopic | None:
        if self._settings.alarm_topic_arn is not None:
            return sns.Topic.from_topic_arn(self, "Topic", self._settings.alarm_topic_arn)
        if self._settings.alarm_email is None:
            return None
        topic = sns.Topic(self, "Topic", enforce_ssl=True)
        topic.add_subscription(subscriptions.EmailSubscription(self._settings.alarm_email))
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            )
        )
        acknowledge(
            topic,
            "Serverless-SNSRedrivePolicy",
            reason="An e-mail that cannot be delivered has no place to go; the alarm itself stays visible.",
        )
        return topic

    # --- dashboard ----------------------------------------------------------------------------------------------------

    def _widgets(self) -> list[list[cloudwatch.IWidget]]:
        return [
            [self._requests(), self._latencies(), self._recall_latencies()],
            [self._lag(), self._log_length(), self._queue_ages()],
            [self._dead_letters(), self._errors(), self._throttles()],
            [self._cost(), cloudwatch.AlarmStatusWidget(alarms=self.alarms, width=2 * _WIDTH, title="Alarms")],
        ]

    def _requests(self) -> cloudwatch.IWidget:
        api = self._api.api
        metrics = [
            api.metric_count(period=_MINUTES, statistic=_SUM, label="all"),
            api.metric_client_error(period=_MINUTES, statistic=_SUM, label="4xx"),
            api.metric_server_error(period=_MINUTES, statistic=_SUM, label="5xx"),
        ]
        return _graph("Requests", metrics)

    def _latencies(self) -> cloudwatch.IWidget:
        metrics = [
            self._api.api.metric_latency(period=_MINUTES, statistic=statistic, label=statistic)
            for statistic in (_P50, _P99)
        ]
        return _graph("Latency of all requests (ms)", metrics)

    def _recall_latencies(self) -> cloudwatch.IWidget:
        metrics = [self._recall.with_(statistic=statistic, label=f"recall {statistic}") for statistic in (_P50, _P99)]
        metrics += [self._remember.with_(label=f"remember {_P99}")]
        return _graph("Latency of recall and remember (ms)", metrics)

    def _lag(self) -> cloudwatch.IWidget:
        return _graph("Index lag (ms): age of the oldest change folded", [_indexer_metric(names.INDEX_LAG_METRIC)])

    def _log_length(self) -> cloudwatch.IWidget:
        return _graph("Log length (entries) of the longest log folded", [_indexer_metric(names.LOG_LENGTH_METRIC)])

    def _queue_ages(self) -> cloudwatch.IWidget:
        metrics = [
            pipeline.queue.metric_approximate_age_of_oldest_message(
                period=_MINUTES, statistic=_MAXIMUM, label=pipeline.node.id
            )
            for pipeline in self._pipelines
        ]
        return _graph("Age of the oldest message (s)", metrics)

    def _dead_letters(self) -> cloudwatch.IWidget:
        queues = {pipeline.node.id: pipeline.dead_letters for pipeline in self._pipelines}
        queues["Rounds"] = self._rounds.dead_letters
        metrics = [
            queue.metric_approximate_number_of_messages_visible(period=_MINUTES, statistic=_MAXIMUM, label=name)
            for name, queue in queues.items()
        ]
        return _graph("Dead letters", metrics)

    def _errors(self) -> cloudwatch.IWidget:
        metrics = [
            function.function.metric_errors(period=_MINUTES, statistic=_SUM, label=function.spec.name)
            for function in self._functions
        ]
        return _graph("Errors of functions", metrics)

    def _throttles(self) -> cloudwatch.IWidget:
        metrics = [
            function.function.metric_throttles(period=_MINUTES, statistic=_SUM, label=function.spec.name)
            for function in self._functions
        ]
        return _graph("Throttles of functions", metrics)

    def _cost(self) -> cloudwatch.IWidget:
        """Return the estimate: counts times prices, of everything that grows with use but storage and logs.

        Lambda is what was really billed; of S3 it knows the requests, and takes folds to be of 64 changes.
        """
        used: dict[str, cloudwatch.IMetric] = {
            "requests": self._api.api.metric_count(period=_DAY, statistic=_SUM),
            "recalls": self._recall.with_(period=_DAY, statistic="SampleCount"),
            "remembers": self._remember.with_(period=_DAY, statistic="SampleCount"),
        }
        terms = [
            _term("requests", prices.API_REQUEST),
            _term("recalls", prices.RECALL),
            _term("remembers", prices.REMEMBER + prices.FOLD),
        ]
        for function in self._functions:
            count, duration = f"{function.spec.name}_count", f"{function.spec.name}_ms"
            used[count] = function.function.metric_invocations(period=_DAY, statistic=_SUM)
            used[duration] = function.function.metric_duration(period=_DAY, statistic=_SUM)
            gb_ms = (
                function.spec.memory(self._settings)
                / 1_024
                * prices.LAMBDA_GB_SECOND[self._settings.architecture]
                / 1_000
            )
            terms += [_term(count, prices.LAMBDA_REQUEST), _term(duration, gb_ms)]
        estimate = cloudwatch.MathExpression(
            expression=" + ".join(terms),
            using_metrics=used,
            period=_DAY,
            label="US dollars a day",
        )
        return _graph(f"Cost a day at list prices of {prices.AS_OF}, without storage and logs", [estimate])


def _indexer_metric(name: str) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=names.METRIC_NAMESPACE,
        metric_name=name,
        dimensions_map={"service": INDEXER.name},
        period=_MINUTES,
        statistic=_MAXIMUM,
        label=name,
    )


def _term(metric: str, price: float) -> str:
    """Return metric times price; metric math knows no exponents."""
    return f"FILL({metric}, 0) * {price:.12f}"


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=title, left=list(metrics), width=_WIDTH, left_y_axis=cloudwatch.YAxisProps(min=0)
    )


def _alarm(
    scope: Construct, id: str, metric: cloudwatch.IMetric, *, threshold: float, description: str
) -> cloudwatch.Alarm:
    return cloudwatch.Alarm(
        scope,
        id,
        metric=metric,
        threshold=threshold,
        evaluation_periods=1,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        alarm_description=description,
    )
