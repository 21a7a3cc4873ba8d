"""How long each function is busy, as Lambda would bill it: what the cost model multiplies with prices.

    .venv/bin/python -m benchmarks.compute_costs [--only NAME ...] [--json FILE] [--write]

Every function runs in a process of its own: the real handler, invoked with events, over a store in memory that answers
as late as `simulated_s3.py` says. Computing is CPU time of the process, waiting is what the model adds up; both are
means, for means are what is billed. A second of this machine's processor stands for one of Lambda's at 1,769 MB.
Cold starts are left out, and the store is part of the memory that is measured. ``--write`` replaces the file in the
library from which costs are worked out. The model must be there (``make model``).
"""

import argparse
import json
import logging
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.simulated_s3 import S3Latency, SimulatedS3, VirtualClock, describe
from benchmarks.synthetic_memories import SEED, Corpus

ROOT = Path(__file__).resolve().parents[1]
DATA_FILE = ROOT / "layers/memory/python/s3_agent_memory/domain/cost_data/compute.json"
NAMESPACE = "measured"
# As infra/function_table.py has them; a test compares.
MEMORY_MB = {
    "http_api": 896,
    "authorizer": 1_024,
    "indexer": 1_769,
    "embedder": 1_769,
    "pruner": 1_769,
    "sweeper": 1_769,
    "consolidator": 1_769,
}
EMBEDDING = frozenset({"http_api", "embedder", "sweeper", "consolidator"})
FOLD_SIZE = 64
ROUND_NAMESPACE_COUNT = 20
TIMEOUT_SECONDS = 900
_NO_THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

Spent = Mapping[str, float]


class Scene:
    """One function over a simulated store with a namespace in it; must be made before anything of the library is."""

    def __init__(self, function: str, memory_count: int) -> None:
        import s3_agent_memory.bootstrap.parts as parts_module
        from s3_agent_memory.domain.clock import SystemClock
        from s3_agent_memory.service.stored_index.index_cache import IndexCache
        from s3_agent_memory.storage.in_memory import InMemoryObjectStore

        self.function = function
        self.clock = VirtualClock(SystemClock().now_us())
        self.inner = InMemoryObjectStore(self.clock)
        self.caches: list[IndexCache] = []
        store = SimulatedS3(self.inner, self.clock.advance, seed=SEED)

        def make_cache(bytes_max: int) -> IndexCache:
            self.caches.append(IndexCache(bytes_max))
            return self.caches[-1]

        # The handler opens its store by itself, as it does in a deployment.
        replaced = {
            "open_object_store": lambda _settings: store,
            "SystemClock": lambda: self.clock,
            "IndexCache": make_cache,
        }
        for name, substitute in replaced.items():
            setattr(parts_module, name, substitute)
        self.parts = self._make_parts()
        self.fill(NAMESPACE, memory_count)
        self._invoke = self._load()

    def _make_parts(self) -> Any:
        """Return what writes beside the function: as the API does, with vectors, on the store without latency."""
        from s3_agent_memory.bootstrap import Parts, Settings
        from s3_agent_memory.bootstrap.models import build_embedder
        from s3_agent_memory.service.upkeep.housekeeper import Folding

        settings = Settings(url="memory://", embeddings="onnx")
        embedder = build_embedder(settings)
        return Parts(settings, store=self.inner, clock=self.clock, embedder=embedder, folding=Folding.INLINE)

    def _load(self) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        from functions.local_function import LocalFunction

        function = LocalFunction(self.function, timeout_seconds=900, monotonic=self.clock.monotonic_s)
        function.load()
        return function.invoke

    def fill(self, namespace: str, count: int) -> None:
        """Put memories into a namespace, and index and embed them."""
        from s3_agent_memory.domain.codec import encode_memory

        for memory in Corpus().memories(namespace, count):
            self.inner.put(memory.key, encode_memory(memory))
        self.parts.memories.reindex(namespace)
        for _ in range(3):
            self.parts.memories.sweep(namespace)
            self.clock.advance(3_700)

    def forget_index(self) -> None:
        """Empty the caches of the function, as those of a new process are."""
        for cache in self.caches:
            cache.__init__()  # type: ignore[misc]

    def invoke(self, event: Mapping[str, Any]) -> tuple[Spent, dict[str, Any]]:
        """Return what one invocation took, and its answer."""
        waited, computed = self.clock.monotonic_s(), process_time()
        answer = self._invoke(event)
        spent = {
            "compute_ms": 1_000 * (process_time() - computed),
            "wait_ms": 1_000 * (self.clock.monotonic_s() - waited),
        }
        self.clock.advance(61)
        return spent, answer


def measure(function: str, memory_count: int, round_count: int) -> dict[str, Any]:
    """Return what one function takes; in the process that calls this nothing else may be measured."""
    scene = Scene(function, memory_count)
    operations = OPERATIONS[function](scene, round_count)
    return {
        "memory_mb": MEMORY_MB[function],
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024, 1),
        "operations": operations,
    }


def _mean(spents: Sequence[Spent], *, per: float = 1) -> dict[str, float]:
    return {
        name: round(sum(spent[name] for spent in spents) / len(spents) / per, 3) for name in ("compute_ms", "wait_ms")
    }


# --- what is measured of each function ------------------------------------------------------------------------------


def _measure_api(scene: Scene, round_count: int) -> dict[str, Any]:
    corpus = Corpus(SEED + 1)
    found: dict[str, list[Spent]] = {"remember": [], "update": [], "recall": [], "recall_cold": []}
    known = [memory.content for memory in Corpus().memories(NAMESPACE, 50)]

    def ask(name: str, method: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        spent, answer = scene.invoke(make_request(method, path, body))
        if answer["statusCode"] not in {200, 201}:
            raise RuntimeError(f"{name} was answered {answer['statusCode']}: {answer['body']}")
        found.setdefault(name, []).append(spent)
        document: dict[str, Any] = json.loads(answer["body"])
        return document

    for number in range(round_count + 1):
        query = {"query": " ".join(known[number % len(known)].split()[:5]), "limit": 10}
        scene.forget_index()
        # The first of all loads the model, which belongs to a cold start.
        ask("recall_cold" if number else "first", "POST", "/v1/memories/search", query)
        ask("recall", "POST", "/v1/memories/search", {**query, "query": corpus.text()[:60]})
        memory = ask("remember", "POST", "/v1/memories", {"content": corpus.text()})["memory"]
        ask("update", "PATCH", f"/v1/memories/{memory['id']}", {"content": corpus.text()})
        # What the indexer would do meanwhile, so that the log stays as short as beside one.
        scene.parts.folder.fold(_place())
        scene.parts.compactor.compact(_place())
    del found["first"]
    return {name: _mean(spents) for name, spents in found.items()}


def _measure_authorizer(scene: Scene, round_count: int) -> dict[str, Any]:
    token, _ = scene.parts.tokens.create(principal="measured", namespace=NAMESPACE)
    event = make_request("GET", "/v1/stats", None, token=token)
    event.update({"type": "REQUEST", "routeArn": "arn:aws:execute-api:us-east-1:0:x/$default/GET/v1/stats"})
    spents = []
    for _ in range(round_count):
        spent, answer = scene.invoke(event)
        if "token_id" not in answer["context"]:
            raise RuntimeError(f"the authorizer answered {answer}")
        spents.append(spent)
    return {"authorize": _mean(spents)}


def _measure_indexer(scene: Scene, round_count: int) -> dict[str, Any]:
    corpus = Corpus(SEED + 1)

    def fold(size: int) -> dict[str, float]:
        spents = []
        for _ in range(round_count):
            memories = [scene.parts.memories.remember(NAMESPACE, corpus.text()) for _ in range(size)]
            spent, answer = scene.invoke(make_batch([memory.key for memory in memories]))
            _expect_no_failures(answer)
            spents.append(spent)
        return _mean(spents)

    alone, many = fold(1), fold(FOLD_SIZE)
    # A line through both: what a fold takes, and what each change in it adds.
    each = {name: max(0.0, round((many[name] - alone[name]) / (FOLD_SIZE - 1), 3)) for name in alone}
    return {"fold": {name: round(alone[name] - each[name], 3) for name in alone}, "fold_each": each}


def _measure_embedder(scene: Scene, round_count: int) -> dict[str, Any]:
    corpus = Corpus(SEED + 1)
    spents = []
    for number in range(round_count + 1):
        scene.parts.memories.remember(NAMESPACE, corpus.text())
        scene.parts.folder.fold(_place())
        scene.parts.compactor.compact(_place())
        newest = max(item.key for item in scene.inner.list_page(f"memory/{NAMESPACE}/_index/segments/").objects)
        spent, answer = scene.invoke(make_batch([newest]))
        _expect_no_failures(answer)
        spents += [spent] if number else []
    return {"run": _mean(spents)}


def _measure_round(scene: Scene, round_count: int) -> dict[str, Any]:
    for number in range(ROUND_NAMESPACE_COUNT - 1):
        scene.fill(f"{NAMESPACE}/{number}", 100)
    spents = []
    for _ in range(max(2, round_count // 8)):
        scene.forget_index()
        spent, _ = scene.invoke({"time": "2026-11-30T00:00:00Z"})
        spents.append(spent)
        scene.clock.advance(86_400)
    return {"namespace": _mean(spents, per=ROUND_NAMESPACE_COUNT)}


OPERATIONS: Mapping[str, Callable[[Scene, int], dict[str, Any]]] = {
    "http_api": _measure_api,
    "authorizer": _measure_authorizer,
    "indexer": _measure_indexer,
    "embedder": _measure_embedder,
    "pruner": _measure_round,
    "sweeper": _measure_round,
    "consolidator": _measure_round,
}


def _place() -> Any:
    from s3_agent_memory.domain.keys import parse_namespace

    return parse_namespace(NAMESPACE)


def _expect_no_failures(answer: Mapping[str, Any]) -> None:
    if answer["batchItemFailures"]:
        raise RuntimeError(f"the function failed: {answer}")


# --- events -----------------------------------------------------------------------------------------------------------


def make_request(method: str, path: str, body: Mapping[str, Any] | None, *, token: str = "") -> dict[str, Any]:
    """Return a request as API Gateway passes it on, with the grant of the authorizer."""
    grant = {
        "token_id": "0" * 12,
        "principal": "measured",
        "namespace": NAMESPACE,
        "covers_children": "false",
        "permissions": "read write",
        "created_at": "2026-10-23T23:37:42Z",
        "expires_at": "",
    }
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json", "authorization": f"Bearer {token}"},
        "requestContext": {
            "authorizer": {"lambda": grant},
            "domainName": "measured.example.org",
            "http": {"method": method, "path": path, "sourceIp": "203.0.113.7", "userAgent": "measured"},
            "requestId": "measured",
            "stage": "$default",
        },
        "body": None if body is None else json.dumps(body),
        "isBase64Encoded": False,
    }


def make_batch(keys: Sequence[str]) -> dict[str, Any]:
    """Return the messages that say that objects were written, as SQS hands them over."""
    return {
        "Records": [
            {"messageId": f"message-{number}", "eventSource": "aws:sqs", "body": json.dumps(_notification(key))}
            for number, key in enumerate(keys)
        ]
    }


def _notification(key: str) -> dict[str, Any]:
    subject = {"bucket": {"name": "measured"}, "object": {"key": key, "size": 500}}
    return {"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": subject}]}


# --- command line -----------------------------------------------------------------------------------------------------


def run(*, memory_count: int = 1_000, round_count: int = 40, functions: Sequence[str] = tuple(OPERATIONS)) -> Any:
    """Measure every function in a process of its own; return what the library's file holds."""
    found = {}
    for function in functions:
        command = [sys.executable, "-m", "benchmarks.compute_costs", "--child", function]
        command += ["--memories", str(memory_count), "--rounds", str(round_count)]
        environment = (
            os.environ
            | _NO_THREADS
            | {
                "S3_AGENT_MEMORY_URL": "memory://measured",
                "S3_AGENT_MEMORY_EMBEDDINGS": "onnx" if function in EMBEDDING else "none",
                "POWERTOOLS_METRICS_DISABLED": "true",
            }
        )
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"measuring {function} failed:\n{done.stderr[-2_000:]}")
        found[function] = json.loads(done.stdout.splitlines()[-1])
        print(f"{function}: {found[function]}", file=sys.stderr, flush=True)
    return {
        "schema": 1,
        "about": "Made by `python -m benchmarks.compute_costs --write`; not by hand.",
        "measured_at": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}",
        "memories": memory_count,
        "rounds": round_count,
        "seed": SEED,
        "s3": describe(S3Latency()),
        "functions": found,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description="How long each function is busy.")
    parser.add_argument("--memories", type=int, default=1_000, help="in the namespace (%(default)s)")
    parser.add_argument("--rounds", type=int, default=40, help="of each operation (%(default)s)")
    parser.add_argument(
        "--only", nargs="+", choices=OPERATIONS, help="measure these, keep the file's figures of others"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there")
    parser.add_argument("--write", action="store_true", help="replace the library's file")
    parser.add_argument("--child", choices=OPERATIONS, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.child:
        logging.disable(logging.WARNING)
        print(json.dumps(measure(arguments.child, arguments.memories, arguments.rounds)))
        return 0
    result = run(
        memory_count=arguments.memories, round_count=arguments.rounds, functions=arguments.only or [*OPERATIONS]
    )
    if arguments.only:
        known = json.loads(DATA_FILE.read_text("utf-8"))["functions"]
        result["functions"] = {name: result["functions"].get(name) or known[name] for name in OPERATIONS}
    text = json.dumps(result, indent=2) + "\n"
    for file in [*([arguments.json] if arguments.json else []), *([DATA_FILE] if arguments.write else [])]:
        file.write_text(text, "utf-8")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
