"""Consolidator function: merges memories that say the same, in every namespace."""

import sys
from dataclasses import asdict
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from s3_agent_memory import bootstrap

logger = Logger(service="consolidator", stream=sys.stderr)
metrics = EphemeralMetrics(namespace="S3AgentMemory", service="consolidator")
consolidator = bootstrap.build_consolidator()  # Once per cold start: settings read, clients built.


@logger.inject_lambda_context
@metrics.log_metrics
def lambda_handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Consolidate for as long as there is time; the next run goes on where this one stops."""
    report = asdict(consolidator.run(context.get_remaining_time_in_millis))
    metrics.add_metric(name="MemoriesMerged", unit=MetricUnit.Count, value=report["changed"])
    metrics.add_metric(name="NamespacesFailed", unit=MetricUnit.Count, value=len(report["failed"]))
    logger.info("namespaces consolidated", extra={"report": report})
    return report
