"""Tables of this project's own measurements, one function a part."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from benchmarks import report_peers as peers
from benchmarks.report_markdown import code, dollars, number, share, size, table, text_table
from benchmarks.runner import Result

Figures = Mapping[str, Any]


def quality(rows: Sequence[Figures]) -> str:
    """Return recall and nDCG of every system on every corpus."""
    shown = [row for row in rows if row["type"] == "all"]
    cells = (
        [f"{row['corpus']}: {row['system']}", f"{row['questions']:,}"]
        + [share(row[field]) for field in ("recall_at_5", "recall_at_10", "ndcg_at_10", "hit_at_10")]
        for row in shown
    )
    return table(["Corpus: system", "questions", "recall@5", "recall@10", "nDCG@10", "any hit"], cells)


def bm25(figures: Figures) -> str:
    """Return what scoring by words takes."""
    columns = {
        "BM25 p50 ms": ("query_p50_ms", number),
        "p95": ("query_p95_ms", number),
        "whole search p50 ms": ("search_p50_ms", number),
        "load ms": ("load_ms", number),
        "a write writes": ("bytes_per_write", size),
        "index a memory": ("bytes_per_memory", size),
        "peak MB": ("peak_mb", number),
    }
    return _by_size(figures, "Contender", columns)


def hybrid(figures: Figures) -> str:
    """Return what a whole search takes."""
    columns = {"p50 ms": ("p50_ms", number), "p95": ("p95_ms", number), "CPU ms": ("cpu_ms", number)}
    return _by_size(figures, "Search", columns)


def vectors(figures: Figures) -> str:
    """Return what a vector search takes and finds."""
    columns = {
        "k=10 p50 ms": ("nearest_p50_ms", number),
        "CPU ms": ("nearest_cpu_ms", number),
        "recall": ("nearest_recall", share),
        "whole search p50 ms": ("both_p50_ms", number),
        "recall ": ("both_recall", share),
        "load ms": ("load_ms", number),
        "a vector": ("bytes_per_vector", size),
        "build s": ("build_s", number),
        "peak MB": ("peak_mb", number),
    }
    return _by_size(figures, "Contender", columns)


Columns = Mapping[str, tuple[str, Callable[[Any], str]]]


def _by_size(figures: Figures, first: str, columns: Columns) -> str:
    rows = (
        [f"{int(count):,}: {name}", *(shown(found.get(field)) for field, shown in columns.values())]
        for count, results in figures.items()
        for name, found in results.items()
    )
    return table([f"Memories: {first.lower()}", *columns], rows)


def requests(figures: Figures) -> str:
    """Return requests, bytes and dollars of every operation."""
    fields = ("get_count", "get_unchanged_count", "list_count", "put_count", "delete_count")
    rows = (
        [f"{row['memories']:,}: {row['operation']}", *(number(row[field]) for field in fields)]
        + [size(row["read_bytes"]), size(row["written_bytes"]), dollars(row["dollars_per_million"])]
        for row in figures["rows"]
    )
    return table(
        ["Memories: operation", "GET", "GET 304", "LIST", "PUT", "DELETE", "read", "written", "a million"], rows
    )


def concurrency(figures: Figures) -> str:
    """Return what came of many writers."""
    return table(["", "figure"], ([name.replace("_", " "), number(value)] for name, value in figures.items()))


def rebuild(figures: Figures) -> str:
    """Return what a rebuild took."""
    rate = figures["memory_count"] / figures["seconds"]
    rows = [[
        f"{figures['memory_count']:,}", number(figures["seconds"]), number(rate),
        size(figures["peak_bytes"]), size(figures["index_bytes"]),
    ]]  # fmt: skip
    return table(["Memories", "seconds", "objects/s", "peak memory", "index"], rows)


def s3_latency(figures: Figures) -> str:
    """Return what a caller waits."""
    rows = (
        [f"{row['store']}, {row['memories']:,}: {row['operation']}"]
        + [number(row[field]) for field in ("p50_ms", "p99_ms", "mean_ms", "compute_p50_ms")]
        + [f"{row['samples']:,}"]
        for row in figures["rows"]
    )
    return table(["Store, memories: operation", "p50 ms", "p99 ms", "mean ms", "computing p50 ms", "samples"], rows)


def cost(figures: Figures) -> str:
    """Return what workloads cost a month, by part, and the floor of alternatives."""
    first = next(iter(figures.values()))
    rows = []
    for name, one in figures.items():
        load = one["workload"]
        what = f"{name}: {load['recalls']:,} recalls, {load['writes']:,} writes, {load['memories']:,} memories"
        rows.append([what, *(dollars(value) for value in one["parts"].values()), dollars(one["total"])])
    months = table(["A month", *first["parts"], "total"], rows)
    floors = table(
        ["Alternative: least a month", "", "as of"],
        ([one["name"], dollars(one["floor_usd"]), one["date"]] for one in first["alternatives"]),
    )
    return f"{months}\n\n{floors}"


def rows_of(figures: Figures) -> str:
    """Return a table of documents that all have the same fields."""
    rows: Sequence[Figures] = figures["rows"]
    head = list(rows[0])
    return table([name.replace("_", " ") for name in head], ([_cell(row.get(name)) for name in head] for row in rows))


def scale(figures: Figures) -> str:
    """Return a table for each scenario and each simulation; the limits stand beside what they are compared with."""
    parts = []
    for name, found in figures.items():
        if name == "scenarios":
            parts += [_titled(title, rows) for title, rows in found.items()]
        elif isinstance(found, list) and found and name != "limits":
            parts.append(_titled(name, found))
        elif isinstance(found, Mapping):
            parts.append(_titled(name, [{"case": case, **one} for case, one in found.items()]))
    return "\n\n".join(parts)


def _titled(title: str, rows: Sequence[Figures]) -> str:
    return f"**{title}**\n\n{rows_of({'rows': rows})}"


def mcp(figures: Figures) -> str:
    """Return cold imports and warm requests of the MCP endpoint."""
    cold = table(["Cold import", "ms"], ([name, number(ms)] for name, ms in figures["cold_import_ms"].items()))
    warm = table(
        ["Warm request", "p50 ms", "p99 ms", "storage requests"],
        ([name, *(number(value) for value in found.values())] for name, found in figures["warm"].items()),
    )
    return f"{cold}\n\n{warm}"


def embedding(figures: Figures) -> str:
    """Return cold start and throughput of the embedding model."""
    cold = table(
        ["Cold start", "ms"],
        ([name, number(value)] for name, value in figures["cold start"].items() if name != "peak memory"),
    )
    texts = table(
        ["Texts", "texts/s", "CPU ms", "p50 ms", "p95 ms"],
        (
            [name, *(number(found[field]) for field in ("texts/s", "CPU ms", "p50 ms", "p95 ms"))]
            for name, found in figures["texts"].items()
        ),
    )
    return f"{cold}\n\n{texts}"


def plain(figures: Any) -> str:
    """Return whatever a part found that has no table of its own."""
    if isinstance(figures, Mapping) and isinstance(figures.get("rows"), Sequence) and figures["rows"]:
        return rows_of(figures)
    return text_table(["", ""], ([key, value] for key, value in _flat(figures, "")))


def _flat(value: Any, prefix: str) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        return [pair for key, one in value.items() for pair in _flat(one, f"{prefix}{key} ")]
    if isinstance(value, list):
        return [pair for position, one in enumerate(value, 1) for pair in _flat(one, f"{prefix}{position} ")]
    return [(prefix.strip().replace("_", " ").replace("|", "/"), _cell(value))]


def _cell(value: Any) -> str:
    return number(value, 4) if isinstance(value, bool | int | float) or value is None else str(value).replace("|", "/")


# Marker in the text: part, and how its figures are shown.
TABLES: Final[Mapping[str, tuple[str, Callable[[Any], str]]]] = {
    "quality": ("quality", quality),
    "peers-quality": ("peers", peers.quality),
    "peers-sizes": ("peers", peers.sizes),
    "peers-writers": ("peers", peers.writers),
    "peers-settings": ("peers", peers.settings),
    "peers-short": ("peers", peers.short),
    "bm25": ("bm25", bm25),
    "hybrid": ("hybrid", hybrid),
    "vectors": ("vectors", vectors),
    "requests": ("requests", requests),
    "concurrency": ("concurrency", concurrency),
    "rebuild": ("rebuild", rebuild),
    "s3_latency": ("s3_latency", s3_latency),
    "cost": ("cost", cost),
    "conversation": ("conversation", rows_of),
    "mcp": ("mcp", mcp),
    "embedding": ("embedding", embedding),
    "scale": ("scale", scale),
    "transfer": ("transfer", plain),
    "consolidation": ("consolidation", plain),
    "simulation": ("simulation", plain),
}


def render(marker: str, results: Mapping[str, Result]) -> str:
    """Return the text for a marker; what was not measured, or failed, says so."""
    part, show = TABLES[marker]
    result = results.get(part)
    if result is None:
        return "Not measured yet."
    note = f"Failed: {result.message}" if result.status != "ok" else ""
    if result.figures is None:
        return note or "Not measured yet."
    # A part that ended early may have nothing but what it had printed by then.
    shown = code(result.figures["text"]) if result.is_text else show(result.figures)
    return "\n\n".join(filter(None, [note, shown]))
