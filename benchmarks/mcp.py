"""How long the MCP endpoint takes: its cold import, and warm requests through authorizer and handler.

Run ``make bench-mcp``. Every request is an API Gateway event that goes through authorizer and MCP endpoint in this
process, over a store in memory that counts what is asked of it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

# As a script, Python would look for modules beside this file, and take this file for the MCP SDK.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from tests.mcp.remote import Deployment, initialize_params  # noqa: E402

MODULES = ("functions.mcp_endpoint.handler", "functions.http_api.handler", "functions.authorizer.handler")
ENVIRONMENT = {"S3_AGENT_MEMORY_URL": "memory://", "POWERTOOLS_METRICS_DISABLED": "true"}
COLD_RUN_COUNT = 5
WARM_UP_COUNT = 20


def cold_import_ms(module):
    """Return the median time to import a handler in a fresh interpreter, without the start of Python itself."""
    code = f"import time; began = time.perf_counter(); import {module}; print(time.perf_counter() - began)"
    command = [sys.executable, "-c", code]
    runs = [
        subprocess.run(command, env=os.environ | ENVIRONMENT, cwd=sys.path[0], check=True, capture_output=True).stdout
        for _ in range(COLD_RUN_COUNT)
    ]
    return statistics.median(float(seconds) for seconds in runs) * 1_000


def measure(send, count):
    """Return the median and the 99th percentile of a request in milliseconds."""
    for _ in range(WARM_UP_COUNT):
        assert send().status == 200
    times_ms = []
    for _ in range(count):
        began = time.perf_counter()
        send()
        times_ms.append((time.perf_counter() - began) * 1_000)
    return statistics.median(times_ms), statistics.quantiles(times_ms, n=100)[98]


def storage_requests(deployment, send):
    deployment.store.reset()
    send()
    return deployment.store.counts.request_count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=1_000, help="memories in the namespace (%(default)s)")
    parser.add_argument("--requests", type=int, default=300, help="requests of each kind (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print a JSON document instead of a table")
    options = parser.parse_args()
    deployment = Deployment()
    caller = deployment.caller()
    for number in range(options.memories):
        deployment.memories.remember(
            "users/alice", f"Memory {number}: Alice had meal {number % 97} in city {number % 31}"
        )
    deployment.memories.reindex("users/alice")
    requests = {
        "initialize": lambda: caller.legacy("initialize", initialize_params()),
        "tools/list, handshake era": lambda: caller.legacy("tools/list"),
        "tools/list, modern era": lambda: caller.modern("tools/list"),
        "recall": lambda: caller.call("recall", query="which meal in city 7?"),
        "get": lambda: caller.call("get", id=first_id),
    }
    first_id = caller.answer("list", limit=1)["memories"][0]["id"]
    report = {"cold_import_ms": {module: round(cold_import_ms(module), 1) for module in MODULES}, "warm": {}}
    for name, send in requests.items():
        median_ms, p99_ms = measure(send, options.requests)
        # The authorizer reads the token, which is one of these requests.
        count = storage_requests(deployment, send)
        report["warm"][name] = {"p50_ms": round(median_ms, 2), "p99_ms": round(p99_ms, 2), "storage_requests": count}
    print(json.dumps(report, indent=2) if options.json else table(report, options.memories))


def table(report, memory_count):
    lines = ["cold import                             ms"]
    lines += [f"  {module:<36} {value:7.1f}" for module, value in report["cold_import_ms"].items()]
    lines += [
        "",
        f"warm, {memory_count} memories                 p50 ms   p99 ms  storage requests (one reads the token)",
    ]
    for name, figures in report["warm"].items():
        lines.append(
            f"  {name:<36} {figures['p50_ms']:7.2f}  {figures['p99_ms']:7.2f}  {figures['storage_requests']:7}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
