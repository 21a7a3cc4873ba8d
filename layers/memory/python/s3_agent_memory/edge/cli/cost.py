"""The command ``cost``: what a month on AWS costs, as a table for people or as JSON for programs. It opens no store."""

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Final

from s3_agent_memory.domain.cost import CostLine, Estimate, UnitCost, estimate
from s3_agent_memory.domain.pricing import Compute, PriceList, load_compute, load_prices
from s3_agent_memory.domain.workload import ARCHITECTURES, POLLER_COUNT, Workload
from s3_agent_memory.edge.cli.output import Answer
from s3_agent_memory.edge.cli.streams import write_output

_PARTS: Final = {
    "remember": "remember",
    "update": "update and forget",
    "recall": "recall",
    "index": "index: folds, embedder",
    "edge": "gateway, authorizer, queues, logs, traces",
    "upkeep": "daily rounds",
    "storage": "storage",
    "standing": "standing: polls, alarms, snapshots",
}
_CENT: Final = 0.005


def add_workload(parser: argparse.ArgumentParser) -> None:
    """Add what describes a month of work."""
    parser.add_argument("--recalls", type=int, required=True, metavar="N", help="recalls a month, of ten results each")
    parser.add_argument("--writes", type=int, required=True, metavar="M", help="new memories a month")
    parser.add_argument("--memories", type=int, required=True, metavar="K", help="memories kept in all namespaces")
    parser.add_argument("--updates", type=int, default=0, metavar="U", help="updates and forgets a month (%(default)s)")
    parser.add_argument("--size", type=int, default=200, metavar="BYTES", help="text of a memory (%(default)s)")
    parser.add_argument("--namespaces", type=int, default=1, metavar="N", help="all alike (%(default)s)")
    parser.add_argument(
        "--changes-per-fold",
        type=float,
        metavar="F",
        help="changes of a namespace that arrive together (default: what even spreading gives, the dearest)",
    )
    parser.add_argument(
        "--cold-share",
        type=float,
        default=0.1,
        metavar="F",
        help="part of the recalls whose process has not read the index yet (%(default)s)",
    )
    parser.add_argument("--no-snapstart", action="store_true", help="for a deployment with snapStart=false")
    parser.add_argument(
        "--pollers",
        type=int,
        default=POLLER_COUNT,
        metavar="N",
        help="readers on each idle queue: %(default)s, or 2 where the maximum concurrencies are 0",
    )
    parser.add_argument("--architecture", choices=ARCHITECTURES, default=ARCHITECTURES[0], help="%(default)s")
    parser.add_argument("--json", action="store_true", help="the whole estimate as one JSON document")


def run(arguments: argparse.Namespace) -> Answer:
    """Work the estimate out and answer with it.

    Raises:
        ValidationError: a number is not what it may be.
    """
    workload = Workload(
        recalls=arguments.recalls,
        writes=arguments.writes,
        updates=arguments.updates,
        memories=arguments.memories,
        size_bytes=arguments.size,
        namespaces=arguments.namespaces,
        cold_share=arguments.cold_share,
        changes_per_fold=arguments.changes_per_fold,
        has_snapshots=not arguments.no_snapstart,
        poller_count=arguments.pollers,
        architecture=arguments.architecture,
    )
    found, prices, compute = estimate(workload), load_prices(), load_compute()
    if arguments.json:
        return Answer(cost_document(workload, found, prices=prices, compute=compute))
    write_output("\n".join(_table(workload, found, prices=prices, compute=compute)) + "\n")
    return Answer(None)


def cost_document(workload: Workload, found: Estimate, *, prices: PriceList, compute: Compute) -> dict[str, object]:
    """Return an estimate with all that it was worked out from."""
    return {
        "currency": "USD",
        "region": prices.region,
        "prices_as_of": prices.as_of,
        "compute_measured_at": compute.measured_at,
        "workload": {**asdict(workload), "changes_per_fold": workload.fold_size},
        "total": found.total_usd,
        "total_after_free": found.net_total_usd,
        "parts": {part: sum(line.usd for line in _of(found.lines, part)) for part in _PARTS},
        "lines": [asdict(line) for line in found.lines],
        "per_million": {
            name: {**asdict(cost), "total_usd": cost.total_usd} for name, cost in found.per_million.items()
        },
        "alternatives": [asdict(item) for item in prices.alternatives],
    }


def _table(workload: Workload, found: Estimate, *, prices: PriceList, compute: Compute) -> Iterator[str]:
    yield (
        f"A month in {prices.region}, US dollars, list prices of {prices.as_of}; "
        f"compute measured {compute.measured_at}. Changes that are folded together (--changes-per-fold): "
        f"{workload.fold_size:.3g}."
    )
    yield ""
    yield f"{'':46} {'amount':>16} {'list':>11} {'after free':>11}"
    for part, title in _PARTS.items():
        yield from _part(title, list(_of(found.lines, part)))
    yield f"{'total':46} {'':>16} {found.total_usd:>11,.2f} {found.net_total_usd:>11,.2f}"
    yield ""
    yield f"{'a million of':46} {'S3 + Lambda':>16} {'index':>11} {'all':>11}"
    for name, cost in found.per_million.items():
        yield _unit(name, cost)
    yield ""
    yield "What else costs a month at the least"
    for item in prices.alternatives:
        yield f"  {item.name:44} {item.floor_usd:>16,.2f}   {item.what} ({item.evidence}, {item.date}; {item.source})"


def _part(title: str, lines: list[CostLine]) -> Iterator[str]:
    """Yield the sum of a part, and its lines that come to a cent; the rest is in ``--json``."""
    yield f"{title:46} {'':>16} {sum(line.usd for line in lines):>11,.2f} {sum(line.net_usd for line in lines):>11,.2f}"
    for line in lines:
        if line.usd >= _CENT:
            label = f"  {line.service}: {line.item}"
            yield f"{label:46} {line.quantity:>16,.2f} {line.usd:>11,.2f} {line.net_usd:>11,.2f}"


def _unit(name: str, cost: UnitCost) -> str:
    return f"{name:46} {cost.own_usd:>16,.2f} {cost.index_usd:>11,.2f} {cost.total_usd:>11,.2f}"


def _of(lines: Iterable[CostLine], part: str) -> Iterator[CostLine]:
    return (line for line in lines if line.part == part)
