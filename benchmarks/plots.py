"""Draws the results: one picture a question, as PNG and SVG.

    python -m benchmarks.plots benchmarks/results

Sizes and times have logarithmic axes, lines carry their names, and this project's is the thick one. Colours are those
of Okabe and Ito, which people with any kind of colour vision can tell apart; markers differ as well.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.plots_lines import Line, draw_lines
from benchmarks.runner import read_results

OURS: Final = "s3-agent-memory"
BLUE, ORANGE, GREEN, RED, PINK, SKY, GREY, BLACK, YELLOW = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#999999", "#000000", "#B8A100",
)  # fmt: skip
STYLES: Final[Mapping[str, tuple[str, str]]] = {
    OURS: (BLUE, "o"),
    "s3-agent-memory, no model": (SKY, "o"),
    "single file": (BLACK, "s"),
    "bm25s": (GREEN, "^"),
    "LanceDB": (ORANGE, "D"),
    "Chroma": (RED, "v"),
    "LangGraph InMemoryStore": (GREY, "P"),
    "LangGraph SqliteStore": (PINK, "X"),
    "mem0": (YELLOW, "*"),
}
_DPI: Final = 160


def draw_all(folder: Path) -> list[str]:
    """Draw every picture there are results for; return their names."""
    results = read_results(folder)
    plt.rcParams |= {
        "font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": OURS,
        "axes.titlesize": 11, "axes.titleweight": "bold", "axes.titlelocation": "left", "svg.fonttype": "none",
    }  # fmt: skip
    drawn = []
    for name, (part, draw) in PICTURES.items():
        if part in results and results[part].figures is not None and not results[part].is_text:
            figure = draw(results[part].figures)
            for suffix in ("png", "svg"):
                metadata = {"Date": None} if suffix == "svg" else {}
                figure.savefig(folder / f"{name}.{suffix}", dpi=_DPI, bbox_inches="tight", metadata=metadata)
            plt.close(figure)
            drawn.append(name)
    return drawn


# Other systems -------------------------------------------------------------------------------------------------------


def _systems(figures: Any, step: str, field: str) -> list[Line]:
    lines = []
    for name, (colour, marker) in STYLES.items():
        sizes = figures["contenders"].get(name, {}).get("sizes", {})
        points = [(int(count), one[step][field]) for count, one in sizes.items() if one.get(step, {}).get(field)]
        if points:
            lines.append(Line(name, points, colour, marker, is_thick=name == OURS))
    return lines


def peers_speed(figures: Any) -> Figure:
    """Query and write latency against the number of memories."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 5), layout="constrained")
    draw_lines(left, _systems(figures, "read", "p50_ms"), title="A query: median ms", x_label="memories")
    draw_lines(right, _systems(figures, "write", "p50_ms"), title="A write: median ms", x_label="memories")
    return figure


def peers_bytes(figures: Any) -> Figure:
    """What a write writes, and what a process that reads needs."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 5), layout="constrained")
    draw_lines(left, _systems(figures, "write", "bytes_per_write"), title="A write: bytes written", x_label="memories")
    draw_lines(right, _systems(figures, "read", "rss_mb"), title="A reader: MB of memory", x_label="memories")
    return figure


def peers_quality(figures: Any) -> Figure:
    """Recall@10 of every system, a panel a corpus, the best on top."""
    systems = figures["contenders"]
    corpora = list(dict.fromkeys(name for one in systems.values() for name in one.get("quality", {})))
    figure, panels = plt.subplots(
        1, max(1, len(corpora)), figsize=(6.2 * max(1, len(corpora)), 4.2), layout="constrained", squeeze=False
    )
    for panel, corpus in zip(panels[0], corpora, strict=False):
        found = {name: one["quality"][corpus]["recall_at_10"] for name, one in systems.items() if _has(one, corpus)}
        _bars(panel, found, f"{corpus}: recall@10")
    return figure


def _has(system: Mapping[str, Any], corpus: str) -> bool:
    return "recall_at_10" in system.get("quality", {}).get(corpus, {})


def _bars(axes: Axes, values: Mapping[str, float], title: str) -> None:
    ranked = sorted(values.items(), key=lambda pair: pair[1])
    names, heights = [name for name, _ in ranked], [value for _, value in ranked]
    colours = [BLUE if name.startswith(OURS) else GREY for name in names]
    axes.barh(names, heights, color=colours, height=0.65)
    for position, value in enumerate(heights):
        axes.text(value + 0.01, position, f"{value:.2f}", va="center")
    axes.set(title=title, xlim=(0, 1))
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


# This project alone --------------------------------------------------------------------------------------------------


def computing(figures: Any) -> Figure:
    """What a search computes, with and without vectors, and the targets."""
    figure, axes = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
    styles = {"hybrid": (BLUE, "o"), "words only": (SKY, "o"), "classic": (GREEN, "^"), "numpy float32": (BLACK, "s")}
    names = {"hybrid": "whole search (default)", "words only": "words only", "classic": "plain BM25 + cosine"}
    names["numpy float32"] = "numpy: cosines alone"
    lines = [
        Line(
            names[name],
            [(int(count), found[name]["p50_ms"]) for count, found in figures.items() if name in found],
            colour,
            marker,
            is_thick=name == "hybrid",
        )
        for name, (colour, marker) in styles.items()
    ]
    draw_lines(axes, lines, title="Computing a search on one thread: median ms", x_label="memories")
    for count, milliseconds in ((100_000, 15), (1_000_000, 80)):
        if str(count) in figures:
            axes.plot(count, milliseconds, marker="_", markersize=26, markeredgewidth=3, color=RED, zorder=1)
            axes.annotate("target", (count, milliseconds), (-18, -4), textcoords="offset points", ha="right", color=RED)
    return figure


def s3_latency(figures: Any) -> Figure:
    """What a caller waits on S3: from the median to the 99th percentile."""
    rows = [row for row in figures["rows"] if row["store"] == "model"]
    biggest = max(row["memories"] for row in rows)
    shown = [row for row in rows if row["memories"] == biggest][::-1]
    figure, axes = plt.subplots(figsize=(9, 0.55 * len(shown) + 1.4), layout="constrained")
    for position, row in enumerate(shown):
        axes.plot(
            [row["p50_ms"], row["p99_ms"]], [position] * 2, color=SKY, linewidth=5, solid_capstyle="round", zorder=1
        )
        axes.scatter(row["p50_ms"], position, color=BLUE, s=70, zorder=2)
        axes.annotate(
            f"{row['p50_ms']:.0f}", (row["p50_ms"], position), (0, 8), textcoords="offset points", ha="center"
        )
        axes.annotate(f"{row['p99_ms']:.0f}", (row["p99_ms"], position), (7, -3), textcoords="offset points")
    axes.set(
        title=f"On S3, modelled, {biggest:,} memories: ms, median (dot) to 99th percentile",
        ylim=(-0.6, len(shown) - 0.3),
    )
    axes.set_xlim(0, 1.1 * max(row["p99_ms"] for row in shown))
    axes.set_yticks(range(len(shown)), [row["operation"] for row in shown])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", alpha=0.3)
    return figure


PICTURES: Final[Mapping[str, tuple[str, Callable[[Any], Figure]]]] = {
    "peers-speed": ("peers", peers_speed),
    "peers-bytes": ("peers", peers_bytes),
    "peers-quality": ("peers", peers_quality),
    "computing": ("hybrid", computing),
    "s3-latency": ("s3_latency", s3_latency),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Draw all pictures of a directory of results."""
    (folder,) = sys.argv[1:] if argv is None else argv
    print("drawn: " + (", ".join(draw_all(Path(folder))) or "nothing, for there are no results"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
