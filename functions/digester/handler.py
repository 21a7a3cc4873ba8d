"""Digester function: folds turns that left a window into digests and memories; on schedule, sweeps conversations."""

import sys
from dataclasses import asdict
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from s3_agent_memory import bootstrap
from s3_agent_memory.edge import aws_events

logger = Logger(service="digester", stream=sys.stderr)
metrics = EphemeralMetrics(namespace="S3AgentMemory", service="digester")
settings = bootstrap.Settings.from_environment()
conversations = bootstrap.build_digester(settings)  # Once per cold start: settings read, clients built.


@logger.inject_lambda_context
@metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Look at the sessions named by one batch of S3 notifications, or at all of them if the clock calls."""
    if aws_events.is_scheduled(event):
        report = asdict(conversations.sweeper.run(context.get_remaining_time_in_millis))
        metrics.add_metric(name="SessionsSwept", unit=MetricUnit.Count, value=report["sessions"])
        logger.info("sessions swept", extra={"report": report})
        return report
    batch = aws_events.decode_turns_batch(event, root=aws_events.key_root(settings.url))
    outcome = conversations.worker.run(batch.changes, context.get_remaining_time_in_millis)
    answer = aws_events.batch_response(batch, outcome.failed)
    metrics.add_metric(name="BatchesDigested", unit=MetricUnit.Count, value=outcome.batches)
    metrics.add_metric(name="MemoriesExtracted", unit=MetricUnit.Count, value=outcome.memories)
    metrics.add_metric(name="MessagesFailed", unit=MetricUnit.Count, value=len(answer["batchItemFailures"]))
    logger.info("sessions digested", extra={"batches": outcome.batches, "failed": len(outcome.failed)})
    return answer
