"""Limits that a deployment meets: quotas of AWS with their pages, and settings of the stack; and loads against them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What a service allows, as documented."""

    name: str
    value: float
    source: str


_S3 = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html"
_LAMBDA = "https://docs.aws.amazon.com/lambda/latest/dg/scaling-behavior.html"
PUT_RATE = Limit(name="S3 PUT, DELETE a second for a partitioned prefix", value=3_500, source=_S3)
GET_RATE = Limit(name="S3 GET, LIST a second for a partitioned prefix", value=5_500, source=_S3)
CAS_RATE = Limit(name="CAS a second on one key", value=15, source="measured for docs/ARCHITECTURE.md, not documented")
CONCURRENCY = Limit(name="Lambda concurrency of an account", value=1_000, source=_LAMBDA)
SCALING = Limit(name="Lambda environments more in 10 s", value=1_000, source=_LAMBDA)
GATEWAY_RATE = Limit(
    name="API Gateway requests a second of an account",
    value=10_000,
    source="https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html",
)
THROTTLE = Limit(name="throttleRate of the stack", value=100, source="infra/settings.py")
IN_FLIGHT = Limit(
    name="SQS messages in flight",
    value=120_000,
    source="https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html",
)
SCHEDULES = Limit(
    name="Scheduler invocations a second",
    value=1_000,
    source="https://docs.aws.amazon.com/scheduler/latest/UserGuide/scheduler-quotas.html",
)
REPLY = Limit(
    name="seconds until API Gateway gives up",
    value=30,
    source="https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html",
)
INDEX_MEMORY = Limit(
    name="MB that the API function keeps of index files",
    value=448,
    source="half of memory_mb, infra/function_table.py",
)
INDEXERS = Limit(name="indexerMaximumConcurrency of the stack", value=5, source="infra/settings.py")
INDEXER_TIMEOUT = Limit(name="indexerTimeoutSeconds of the stack", value=300, source="infra/settings.py")
LIMITS = (
    PUT_RATE,
    GET_RATE,
    CAS_RATE,
    CONCURRENCY,
    SCALING,
    GATEWAY_RATE,
    THROTTLE,
    IN_FLIGHT,
    SCHEDULES,
    REPLY,
    INDEX_MEMORY,
    INDEXERS,
    INDEXER_TIMEOUT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One load of a scenario against one limit.

    Attributes:
        formula: how ``value`` comes about.
        setting: what to change when it is too much.
    """

    what: str
    formula: str
    value: float
    limit: Limit
    setting: str

    @property
    def share(self) -> float:
        """Part of the limit that is used; above 1 it breaks."""
        return self.value / self.limit.value
