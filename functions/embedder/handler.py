"""Embedder function: gives memories that have none yet a vector, when a new segment shows that there may be some."""

import sys
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from s3_agent_memory import bootstrap
from s3_agent_memory.edge import aws_events

logger = Logger(service="embedder", stream=sys.stderr)
metrics = EphemeralMetrics(namespace="S3AgentMemory", service="embedder")
settings = bootstrap.Settings.from_environment()
embedder = bootstrap.build_embedding_worker(settings)  # Once per cold start: settings read, model loaded at first use.


@logger.inject_lambda_context
@metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Embed the namespaces named by one batch of S3 notifications for as long as there is time."""
    batch = aws_events.decode_segment_batch(event, root=aws_events.key_root(settings.url))
    outcome = embedder.run(batch.changes, context.get_remaining_time_in_millis)
    answer = aws_events.batch_response(batch, outcome.failed)
    metrics.add_metric(name="MemoriesEmbedded", unit=MetricUnit.Count, value=outcome.embedded)
    metrics.add_metric(name="MessagesFailed", unit=MetricUnit.Count, value=len(answer["batchItemFailures"]))
    logger.info("namespaces embedded", extra={"embedded": outcome.embedded, "failed": len(outcome.failed)})
    return answer
