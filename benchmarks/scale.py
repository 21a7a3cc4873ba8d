"""How far it goes: load against documented limits, and simulations of what happens in between.

    .venv/bin/python -m benchmarks.scale [--json FILE] [--quick]

Durations are those of the cost model (`compute.json`), requests are its counted ones (`requests.json`), the index grows
by the library's own merge policy, and indexers work through a simulated queue (`scale_simulation.py`). Every load has
its formula beside it. `docs/SCALE.md` is written from this table.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.index_growth import ROW_BYTES, VECTOR_BYTES, grow
from benchmarks.scale_limits import (
    CAS_RATE,
    CONCURRENCY,
    GATEWAY_RATE,
    GET_RATE,
    IN_FLIGHT,
    INDEX_MEMORY,
    INDEXER_TIMEOUT,
    INDEXERS,
    LIMITS,
    PUT_RATE,
    REPLY,
    THROTTLE,
    Load,
)
from benchmarks.scale_simulation import Indexers, QueueRun, most_sustained, run_hot, run_spread
from benchmarks.simulated_s3 import S3Latency
from s3_agent_memory.domain.pricing import Compute, S3Requests, load_compute, load_requests
from s3_agent_memory.service.grace import LOG_GRACE_MS
from s3_agent_memory.service.rounds import RESERVE_MS

NAMESPACES = 10_000
MEMORIES_EACH = 10_000
WRITERS = 1_000
HOT_MEMORIES = 1_000_000
HOT_RECALLS = 100
ROUND_SECONDS = 900
ROUND_SETTINGS = {"pruner": "pruneRate", "sweeper": "sweepRate", "consolidator": "consolidationRate"}
PAGE_KEYS = 1_000
DAY_HOURS = 24
_MB = 1_000_000


class Figures:
    """What everything is worked out from."""

    def __init__(self, compute: Compute, requests: dict[str, S3Requests], latency: S3Latency) -> None:
        self.requests, self.latency = requests, latency
        self.recall_s = compute.durations["http_api"]["recall"].total_ms / 1_000
        self.remember_s = compute.durations["http_api"]["remember"].total_ms / 1_000
        self.round_s = {name: compute.durations[name]["namespace"].total_ms / 1_000 for name in ROUND_SETTINGS}
        self.indexers = Indexers(
            fold=compute.durations["indexer"]["fold"], fold_each=compute.durations["indexer"]["fold_each"]
        )

    def list_pages(self, log: float, change_rate: float, interval_s: float) -> int:
        """Return the pages that a strong recall lists: what is not folded, and what is folded but still there.

        Entries stay for a grace of 60 s after a later commit has seen their fold, and go with the fold after that.
        """
        kept = change_rate * (LOG_GRACE_MS / 1_000 + 2 * interval_s)
        return max(1, math.ceil((log + kept) / PAGE_KEYS))


def many_namespaces(figures: Figures, *, recalls: float, changes: float) -> list[Load]:
    """Return the loads of 10,000 namespaces of 10,000 memories at so many recalls and changes a second."""
    requests = figures.requests
    gets = recalls * requests["recall"].get + changes * requests["fold_each"].get + changes * requests["fold"].get
    lists = recalls * requests["recall"].list + changes * requests["fold"].list
    puts = changes * (requests["remember"].put + requests["fold"].put)
    busy = recalls * figures.recall_s + changes * figures.remember_s
    folding = changes * (figures.indexers.fold.total_ms + figures.indexers.fold_each.total_ms) / 1_000
    each_s = folding / changes if changes else 0.0
    compute_s = (figures.indexers.fold.compute_ms + figures.indexers.fold_each.compute_ms) / 1_000
    side = figures.indexers.side_by_side
    begun_each_s = max(each_s / side, compute_s)
    return [
        Load(
            what="requests a second",
            formula="recalls + changes",
            value=recalls + changes,
            limit=THROTTLE,
            setting="throttleRate",
        ),
        Load(
            what="requests a second",
            formula="recalls + changes",
            value=recalls + changes,
            limit=GATEWAY_RATE,
            setting="quota",
        ),
        Load(
            what="API functions at once",
            formula=f"recalls x {figures.recall_s:.3f} s + changes x {figures.remember_s:.3f} s",
            value=busy,
            limit=CONCURRENCY,
            setting="quota; reservedConcurrency keeps a share for others",
        ),
        Load(
            what="indexers at once, each change folded alone",
            formula=f"changes x {each_s:.3f} s / {side} side by side",
            value=changes * begun_each_s,
            limit=INDEXERS,
            setting="indexerMaximumConcurrency",
        ),
        Load(
            what="seconds of a full batch, each change in another namespace",
            formula=f"{figures.indexers.batch_size:,} x {each_s:.3f} s / {side} side by side",
            value=figures.indexers.batch_size * begun_each_s,
            limit=INDEXER_TIMEOUT,
            setting="indexerTimeoutSeconds (900 at most)",
        ),
        Load(
            what="GET and LIST a second, in all prefixes together",
            formula="recalls x (11 + 1) + changes x (7.1 + 2.1)",
            value=gets + lists,
            limit=GET_RATE,
            setting="none: S3 splits by itself below memory/<ns>",
        ),
        Load(
            what="PUT a second, in all prefixes together",
            formula="changes x (2 + 3.3)",
            value=puts,
            limit=PUT_RATE,
            setting="none",
        ),
        Load(
            what="messages in flight",
            formula="indexers at once x 1,000",
            value=min(changes * begun_each_s, INDEXERS.value) * figures.indexers.batch_size,
            limit=IN_FLIGHT,
            setting="none",
        ),
    ]


def hot_namespace(figures: Figures, *, memories: int, recalls: float, changes: float, queue: QueueRun) -> list[Load]:
    """Return the loads of one namespace."""
    interval_s = figures.indexers.window_seconds / figures.indexers.concurrency
    pages = figures.list_pages(queue.log_end if not queue.keeps_up else queue.log_mean, changes, interval_s)
    size_bytes = memories * (ROW_BYTES + VECTOR_BYTES)
    load_s = size_bytes / figures.latency.total_bytes_per_second
    list_s = pages * figures.latency.list.mean_ms / 1_000
    requests = figures.requests
    return [
        Load(
            what="requests a second",
            formula="recalls + changes",
            value=recalls + changes,
            limit=THROTTLE,
            setting="throttleRate",
        ),
        Load(
            what="API functions at once",
            formula=f"recalls x ({figures.recall_s:.3f} s + {pages - 1:,} LISTs) + changes x {figures.remember_s:.3f}",
            value=recalls * (figures.recall_s + list_s - figures.latency.list.mean_ms / 1_000)
            + changes * figures.remember_s,
            limit=CONCURRENCY,
            setting="consistency=eventual does not list",
        ),
        Load(
            what="GET and LIST a second in one prefix",
            formula=f"recalls x (11 + {pages:,}) + changes x 3 x {queue.rows_per_change:.1f} folds",
            value=recalls * (requests["recall"].get + pages)
            + changes * requests["fold_each"].get * max(1.0, queue.rows_per_change),
            limit=GET_RATE,
            setting="more namespaces; S3 splits a prefix after 30 to 60 minutes of load",
        ),
        Load(
            what="PUT a second in one prefix",
            formula="changes x 2 + folds",
            value=changes * requests["remember"].put + queue.batches / queue.seconds * requests["fold"].put,
            limit=PUT_RATE,
            setting="more namespaces",
        ),
        Load(
            what="swaps of the manifest a second",
            formula="folds and merges a second",
            value=queue.batches / queue.seconds * 1.3,
            limit=CAS_RATE,
            setting="indexerBatchWindowSeconds",
        ),
        Load(
            what="seconds of listing the log",
            formula=f"{pages:,} pages x {figures.latency.list.mean_ms / 1_000:.3f} s",
            value=list_s,
            limit=REPLY,
            setting="consistency=eventual; more namespaces",
        ),
        Load(
            what="seconds until a cold process has the index",
            formula=f"memories x {ROW_BYTES + VECTOR_BYTES} bytes / 75 MB/s",
            value=load_s,
            limit=REPLY,
            setting="embeddings=none (a third); more namespaces",
        ),
        Load(
            what="MB of index files in a process",
            formula=f"memories x {ROW_BYTES + VECTOR_BYTES} bytes",
            value=size_bytes / _MB,
            limit=INDEX_MEMORY,
            setting="memoryMb=http_api=1769",
        ),
    ]


def rounds(figures: Figures, namespaces: int) -> list[dict[str, Any]]:
    """Return how long the scheduled rounds take, and the rate that visits every namespace once a day."""
    return [_round(name, figures.round_s[name], namespaces) for name in ROUND_SETTINGS]


def _round(name: str, seconds: float, namespaces: int) -> dict[str, Any]:
    per_run = int((ROUND_SECONDS - RESERVE_MS / 1_000) / seconds)
    runs = math.ceil(namespaces / per_run)
    hours = max(1, DAY_HOURS // runs)
    return {
        "round": name,
        "seconds_per_namespace": round(seconds, 3),
        "namespaces_per_run": per_run,
        "runs": runs,
        "hours_of_work": round(namespaces * seconds / 3_600, 2),
        "daily_rate": f"{ROUND_SETTINGS[name]}=rate({hours} {'hour' if hours == 1 else 'hours'})",
    }


def sustained(figures: Figures) -> list[dict[str, Any]]:
    """Return the highest rates of changes that indexers keep up with, by settings."""
    return [
        _sustained(replace(figures.indexers, concurrency=concurrency, timeout_seconds=timeout))
        for concurrency, timeout in ((1, 300), (5, 300), (5, 900), (20, 900), (100, 900))
    ]


def _sustained(indexers: Indexers) -> dict[str, Any]:
    def spread(rate: float) -> QueueRun:
        return run_spread(indexers, rate=rate, namespaces=NAMESPACES)

    return {
        "indexers": indexers.concurrency,
        "timeout_seconds": indexers.timeout_seconds,
        "one_namespace": most_sustained(lambda rate: run_hot(indexers, rate=rate)),
        "many_namespaces": most_sustained(spread),
    }


def run(*, quick: bool = False) -> dict[str, Any]:
    """Return everything, as JSON-able values."""
    compute = load_compute()
    figures = Figures(compute, dict(load_requests()), S3Latency())
    indexers = figures.indexers
    grown = [grow(MEMORIES_EACH, 1, fold_seconds=300), grow(100_000, 64, fold_seconds=60)]
    grown += [] if quick else [grow(HOT_MEMORIES, 64, fold_seconds=60), grow(HOT_MEMORIES, 1_000, fold_seconds=15)]
    hot_rates = {rate: run_hot(indexers, rate=rate) for rate in (1, 10, 50, WRITERS)}
    wide = replace(indexers, concurrency=20, timeout_seconds=900)
    spread = {
        "1 change a second": run_spread(indexers, rate=1, namespaces=NAMESPACES),
        "14 changes a second": run_spread(indexers, rate=14, namespaces=NAMESPACES),
        "14 changes a second, 20 indexers of 900 s": run_spread(wide, rate=14, namespaces=NAMESPACES),
        "1 a second behind a backlog of 20,000": run_spread(indexers, rate=1, namespaces=NAMESPACES, backlog=20_000),
        "1 a second behind a backlog of 20,000, timeout 900 s": run_spread(
            replace(indexers, timeout_seconds=900), rate=1, namespaces=NAMESPACES, backlog=20_000, seconds=7_200
        ),
    }
    scenarios = {
        "10,000 namespaces, 55 recalls and 14 changes a second": many_namespaces(figures, recalls=55, changes=14),
        "1,000 writers, one change a second each, 10,000 namespaces": many_namespaces(
            figures, recalls=0, changes=WRITERS
        ),
        "1,000 writers, one change a second each, one namespace": hot_namespace(
            figures, memories=HOT_MEMORIES, recalls=1, changes=WRITERS, queue=hot_rates[WRITERS]
        ),
        "one namespace of 1,000,000, 100 recalls and 1 change a second": hot_namespace(
            figures, memories=HOT_MEMORIES, recalls=HOT_RECALLS, changes=1, queue=hot_rates[1]
        ),
    }
    return {
        "schema": 1,
        "compute_measured_at": compute.measured_at,
        "limits": [asdict(limit) for limit in LIMITS],
        "scenarios": {
            name: [{**asdict(load), "limit": load.limit.name, "share": round(load.share, 4)} for load in loads]
            for name, loads in scenarios.items()
        },
        "growth": [asdict(item) for item in grown],
        "hot": [asdict(item) for item in hot_rates.values()],
        "spread": {name: asdict(item) for name, item in spread.items()},
        "sustained": [] if quick else sustained(figures),
        "rounds": rounds(figures, NAMESPACES),
    }


# --- tables -----------------------------------------------------------------------------------------------------------


def show(result: dict[str, Any]) -> str:
    """Return everything as Markdown."""
    limits = {limit["name"]: limit["value"] for limit in result["limits"]}
    parts = []
    for name, loads in result["scenarios"].items():
        rows = [
            (item["what"], item["formula"], _number(item["value"]), item["limit"], _share(item), item["setting"])
            for item in loads
        ]
        parts += [f"### {name}", _table(("load", "formula", "value", "limit", "used", "change"), rows)]
    parts += ["### limits", _table(("limit", "value"), [(name, _number(value)) for name, value in limits.items()])]
    for title, key in (
        ("index growth", "growth"),
        ("one namespace", "hot"),
        ("sustained", "sustained"),
        ("rounds", "rounds"),
    ):
        parts += [f"### {title}", _table_of(result[key])]
    runs = [{"run": name, **row} for name, row in result["spread"].items()]
    parts += ["### changes over 10,000 namespaces", _table_of(runs)]
    return "\n\n".join(part for part in parts if part)


def _table_of(rows: Sequence[dict[str, Any]]) -> str:
    return _table(tuple(rows[0]), [tuple(map(_number, row.values())) for row in rows]) if rows else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def _number(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"


def _share(item: dict[str, Any]) -> str:
    return f"{item['share']:.1%}" if item["share"] < 1 else f"**{item['share']:,.1f} x**"


def main(argv: Sequence[str] | None = None) -> int:
    """Work it out, print, and return the exit code."""
    parser = argparse.ArgumentParser(description="Load against limits, and simulations.")
    parser.add_argument("--quick", action="store_true", help="leave out what takes more than some seconds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there")
    arguments = parser.parse_args(argv)
    result = run(quick=arguments.quick)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    print(show(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
