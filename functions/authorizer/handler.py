"""Authorizer function: turns the bearer token of a request into the grant that the functions behind it trust."""

import sys
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from s3_agent_memory import bootstrap
from s3_agent_memory.edge.http import auth as http_auth

logger = Logger(service="authorizer", stream=sys.stderr)
metrics = EphemeralMetrics(namespace="S3AgentMemory", service="authorizer")
# Once per cold start: settings read, clients built.
tokens = bootstrap.build_token_service()
verifier = http_auth.build_verifier(tokens, bootstrap.build_access_settings())


@logger.inject_lambda_context
@metrics.log_metrics
def lambda_handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Let every request pass on, with its grant or with the reason why it has none."""
    answer = http_auth.authorize(event, verifier)
    metrics.add_metric(name="TokensRefused", unit=MetricUnit.Count, value=int("error" in answer["context"]))
    return answer
