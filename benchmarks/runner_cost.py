"""What a month and a million requests cost, for workloads of several sizes, by the library's own cost model.

python -m benchmarks.runner_cost [--json FILE]
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from s3_agent_memory.domain.cost import estimate
from s3_agent_memory.domain.pricing import load_compute, load_prices
from s3_agent_memory.domain.workload import Workload
from s3_agent_memory.edge.cli.cost import cost_document

WORKLOADS: Final[Mapping[str, Workload]] = {
    "nothing happens": Workload(recalls=0, writes=0, memories=10_000),
    "an assistant": Workload(recalls=10_000, writes=5_000, memories=10_000),
    "a product": Workload(recalls=1_000_000, writes=1_000_000, memories=1_000_000, namespaces=1_000),
    "a product, warm": Workload(
        recalls=1_000_000, writes=1_000_000, memories=1_000_000, namespaces=1_000, cold_share=0
    ),
}


def run() -> dict[str, Any]:
    """Return the estimate of every workload."""
    prices, compute = load_prices(), load_compute()
    return {
        name: cost_document(workload, estimate(workload), prices=prices, compute=compute)
        for name, workload in WORKLOADS.items()
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Work out, print, and return the exit code."""
    parser = argparse.ArgumentParser(description="What workloads of several sizes cost.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there")
    arguments = parser.parse_args(argv)
    found = run()
    for name, document in found.items():
        print(f"{name:20} ${document['total']:,.2f} a month")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
