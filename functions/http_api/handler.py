"""HTTP API function: answers the requests that API Gateway passes on."""

import sys
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from s3_agent_memory import bootstrap
from s3_agent_memory.edge.http.api import HttpApi

logger = Logger(service="http_api", stream=sys.stderr)
metrics = EphemeralMetrics(namespace="S3AgentMemory", service="http_api")
store, conversations = bootstrap.build_api_services()  # Once per cold start: settings read, clients built.
api = HttpApi(store, conversations=conversations, logger=logger)


@logger.inject_lambda_context
@metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request."""
    answer = api.handle(event, context)
    metrics.add_metric(name=f"Answers{answer['statusCode'] // 100}xx", unit=MetricUnit.Count, value=1)
    return answer
