"""MCP endpoint function: answers what MCP and OAuth clients ask, as API Gateway passes it on."""

import sys
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from s3_agent_memory import bootstrap
from s3_agent_memory.edge.mcp.endpoint import McpEndpoint

logger = Logger(service="mcp_endpoint", stream=sys.stderr)
metrics = EphemeralMetrics(namespace="S3AgentMemory", service="mcp_endpoint")
# Once per cold start: settings read, clients built.
endpoint = McpEndpoint(bootstrap.build_api_store(), bootstrap.build_access_settings(), logger=logger)


@logger.inject_lambda_context
@metrics.log_metrics
def lambda_handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Answer one request."""
    answer = endpoint.handle(event)
    metrics.add_metric(name=f"Answers{answer['statusCode'] // 100}xx", unit=MetricUnit.Count, value=1)
    return answer
