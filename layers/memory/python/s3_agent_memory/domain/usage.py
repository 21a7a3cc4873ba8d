"""What a month of work takes of everything that has a price: counted requests, measured durations, and standing things.

What is neither counted nor measured is a named constant below.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from s3_agent_memory.domain.pricing import Compute, S3Requests
from s3_agent_memory.domain.workload import SECONDS, Workload

# Counted: bytes of a plain memory's object beside its text, of its index row with its terms, of its vector.
OBJECT_OVERHEAD_BYTES: Final = 293
INDEX_BYTES: Final = 250
VECTOR_BYTES: Final = 444
# Old versions of the manifest stay for the 30 days that the bucket keeps them; all other index files are purged.
# This is one that is folded every minute; one that is not has less to remember.
MANIFEST_BYTES: Final = 7_500

# Of the stack.
HOURS: Final = 720
DAYS: Final = 30
QUEUE_COUNT: Final = 3
POLL_SECONDS: Final = 20
SQS_BATCH_SIZE: Final = 10
SCHEDULE_COUNT: Final = 4
ALARM_COUNT: Final = 8
SNAPSHOT_COUNT: Final = 2
# Custom metrics are billed for the hours in which they are sent.
ROUND_METRIC_COUNT: Final = 7
REQUEST_METRIC_COUNT: Final = 5
INDEX_METRIC_COUNT: Final = 6

# Assumed.
LOG_BYTES: Final = 1_100
AUTHORIZER_SHARE: Final = 0.1
RESTORE_SHARE: Final = 0.001
TRACE_SHARE: Final = 0.05

_BYTES_PER_GB: Final = 2**30
_MB_PER_GB: Final = 1_024
_API, _AUTHORIZER, _INDEXER, _EMBEDDER = "http_api", "authorizer", "indexer", "embedder"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """An amount of something that has a price.

    Attributes:
        part: what it is for: ``remember``, ``recall``, ``index``, ``upkeep`` and so on.
        service: who bills it.
        price: name of the price in the price list.
        free: name of what every account gets for ever; empty if there is none.
    """

    part: str
    service: str
    item: str
    quantity: float
    price: str
    free: str = ""


class UsageModel:
    """Turns work into usage."""

    def __init__(self, workload: Workload, requests: Mapping[str, S3Requests], compute: Compute) -> None:
        self._work = workload
        self._requests = requests
        self._compute = compute

    def month(self) -> Iterator[Usage]:
        """Yield everything that a month is billed for."""
        work = self._work
        yield from self.operation("remember", work.writes)
        yield from self.operation("update", work.updates)
        yield from self.recalling(work.recalls)
        yield from self._indexing(work.changes)
        yield from self.edge(work.request_count)
        yield from self._rounds()
        yield from self._storage()
        yield from self._standing()

    def writing(self, operation: str, count: float) -> list[Usage]:
        """Return what so many writes take, with all that follows from them."""
        return [*self.operation(operation, count), *self._indexing(count), *self.edge(count)]

    def operation(self, operation: str, count: float) -> Iterator[Usage]:
        """Yield what an operation of the API itself takes."""
        yield from _s3(operation, self._requests[operation], count)
        yield from self._lambda(operation, _API, count, {operation: count})

    def recalling(self, count: float) -> Iterator[Usage]:
        """Yield what recalls take; a cold one also reads the index files, segments and vector shards."""
        cold = count * self._work.cold_share
        yield from _s3("recall", self._requests["recall"], count)
        yield from _s3("recall", S3Requests(get=2 * self._work.index_file_count), cold)
        yield from self._lambda("recall", _API, count, {"recall": count - cold, "recall_cold": cold})

    def _indexing(self, changes: float) -> Iterator[Usage]:
        """Yield what comes behind changes: the queue, the fold, a reader's look at each log entry, the embedder."""
        folds = changes / self._work.fold_size
        batches = changes / max(self._work.fold_size, self._work.batched(self._work.changes))
        yield from _s3("index", self._requests["fold"], folds)
        yield from _s3("index", self._requests["fold_each"], changes)
        yield from _s3("index", S3Requests(get=1), changes)
        yield from _s3("index", self._requests["embedder_run"], folds)
        yield from self._lambda("index", _INDEXER, batches, {"fold": folds, "fold_each": changes})
        wakings = folds / self._work.batched(folds)
        yield from self._lambda("index", _EMBEDDER, wakings, {"run": folds})
        # A message is sent, and received and deleted with up to nine others.
        messages = changes + folds
        taken = 2 * (
            changes / _at_most(changes / batches if batches else 1) + folds / _at_most(self._work.batched(folds))
        )
        yield Usage(
            part="edge",
            service="SQS",
            item="messages",
            quantity=messages + taken,
            price="sqs_request",
            free="sqs_request",
        )

    def edge(self, count: float) -> Iterator[Usage]:
        """Yield what requests take on their way: gateway, authorizer, logs, traces."""
        verified = count * AUTHORIZER_SHARE
        yield Usage(part="edge", service="API Gateway", item="requests", quantity=count, price="api_request")
        yield from _s3("edge", self._requests["authorize"], verified)
        yield from self._lambda("edge", _AUTHORIZER, verified, {"authorize": verified})
        gigabytes = count * LOG_BYTES / _BYTES_PER_GB
        yield Usage(part="edge", service="CloudWatch", item="logs", quantity=gigabytes, price="log_gb", free="log_gb")
        traces = count * self._traced_share()
        yield Usage(part="edge", service="X-Ray", item="traces", quantity=traces, price="trace", free="trace")

    def _traced_share(self) -> float:
        """Return the part of all requests that are traced: one a second, and a share of the others."""
        total = self._work.request_count
        always = min(total, SECONDS)
        return (always + TRACE_SHARE * (total - always)) / total if total else 1.0

    def _rounds(self) -> Iterator[Usage]:
        """Yield what the daily rounds take, busy or not."""
        work = self._work
        visits = DAYS * work.namespaces
        pages = work.memories / work.namespaces / 1_000
        yield from _s3("upkeep", self._requests["prune"], visits)
        yield from _s3("upkeep", self._requests["sweep"], visits)
        yield from _s3("upkeep", S3Requests(list=pages), visits)
        yield from _s3("upkeep", self._requests["consolidate"], visits)
        for function in ("pruner", "sweeper", "consolidator"):
            yield from self._lambda("upkeep", function, DAYS, {"namespace": visits})
        yield Usage(
            part="upkeep",
            service="Scheduler",
            item="invocations",
            quantity=DAYS * SCHEDULE_COUNT,
            price="scheduler_invocation",
            free="scheduler_invocation",
        )

    def _storage(self) -> Iterator[Usage]:
        work = self._work
        object_bytes = work.size_bytes + OBJECT_OVERHEAD_BYTES
        amounts = {
            "memories": work.memories * object_bytes,
            "index and vectors": work.memories * (INDEX_BYTES + VECTOR_BYTES),
            "old versions": work.changes / work.fold_size * MANIFEST_BYTES + work.updates * object_bytes,
        }
        for item, size_bytes in amounts.items():
            gigabytes = size_bytes / _BYTES_PER_GB
            yield Usage(part="storage", service="S3", item=f"GB of {item}", quantity=gigabytes, price="s3_storage")

    def _standing(self) -> Iterator[Usage]:
        """Yield what is billed for being there."""
        work = self._work
        polls = QUEUE_COUNT * work.poller_count * SECONDS / POLL_SECONDS
        yield Usage(
            part="standing", service="SQS", item="polls", quantity=polls, price="sqs_request", free="sqs_request"
        )
        metrics = (
            ROUND_METRIC_COUNT * DAYS / HOURS
            + REQUEST_METRIC_COUNT * min(1, work.request_count / HOURS)
            + INDEX_METRIC_COUNT * min(1, work.changes / HOURS)
        )
        for item, quantity in {"metric": metrics, "alarm": ALARM_COUNT, "dashboard": 1.0}.items():
            yield Usage(
                part="standing", service="CloudWatch", item=f"{item}s", quantity=quantity, price=item, free=item
            )
        if work.has_snapshots:
            gigabytes = self._compute.memory_mb[_API] / _MB_PER_GB
            kept = SNAPSHOT_COUNT * gigabytes * SECONDS
            restored = work.request_count * RESTORE_SHARE * gigabytes
            for item, quantity in {"cache": kept, "restore": restored}.items():
                yield Usage(
                    part="standing",
                    service="Lambda",
                    item=f"SnapStart {item}",
                    quantity=quantity,
                    price=f"snapstart_{item}",
                )

    def _lambda(self, part: str, function: str, count: float, operations: Mapping[str, float]) -> Iterator[Usage]:
        durations = self._compute.durations[function]
        seconds = sum(number * durations[name].total_ms / 1_000 for name, number in operations.items())
        yield Usage(
            part=part,
            service="Lambda",
            item=f"{function} requests",
            quantity=count,
            price="lambda_request",
            free="lambda_request",
        )
        yield Usage(
            part=part,
            service="Lambda",
            item=f"{function} GB-seconds",
            quantity=seconds * self._compute.memory_mb[function] / _MB_PER_GB,
            price=f"lambda_gb_second_{self._work.architecture}",
            free="lambda_gb_second",
        )


def _s3(part: str, requests: S3Requests, count: float) -> Iterator[Usage]:
    for item, price in (("put", "s3_put"), ("list", "s3_put"), ("get", "s3_get")):
        if number := getattr(requests, item):
            yield Usage(part=part, service="S3", item=f"{item.upper()} requests", quantity=number * count, price=price)


def _at_most(batch: float) -> float:
    return min(batch, SQS_BATCH_SIZE)
