"""Indexer function: folds changed memory objects into the next version of their indexes."""

import sys
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from s3_agent_memory import bootstrap
from s3_agent_memory.edge import aws_events

logger = Logger(service="indexer", stream=sys.stderr)
metrics = EphemeralMetrics(namespace="S3AgentMemory", service="indexer")
settings = bootstrap.Settings.from_environment()
indexer = bootstrap.build_indexer(settings)  # Once per cold start: settings read, clients built.


@logger.inject_lambda_context
@metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Look at the objects named by one batch of S3 notifications."""
    batch = aws_events.decode_batch(event, root=aws_events.key_root(settings.url))
    outcome = indexer.run(batch.changes, context.get_remaining_time_in_millis)
    answer = aws_events.batch_response(batch, outcome.failed)
    metrics.add_metric(name="ChangesSeen", unit=MetricUnit.Count, value=len(batch.changes))
    metrics.add_metric(name="LogEntries", unit=MetricUnit.Count, value=outcome.log_length)
    metrics.add_metric(name="IndexLag", unit=MetricUnit.Milliseconds, value=outcome.lag_ms)
    metrics.add_metric(name="MessagesFailed", unit=MetricUnit.Count, value=len(answer["batchItemFailures"]))
    logger.info("batch indexed", extra={"changes": len(batch.changes), "failed": len(outcome.failed)})
    return answer
