"""Lines with logarithmic axes, each with its name at its end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

# Of the height of the axes, between two names.
_GAP: Final = 0.055


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a plot; its points are (x, y)."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    marker: str
    is_thick: bool = False


def draw_lines(axes: Axes, lines: Sequence[Line], *, title: str, x_label: str) -> None:
    """Draw lines, and their names beside their last points without one covering another."""
    drawn = [line for line in lines if line.points]
    for line in drawn:
        x, y = zip(*line.points, strict=True)
        axes.plot(
            x,
            y,
            color=line.colour,
            marker=line.marker,
            linewidth=3.2 if line.is_thick else 1.6,
            markersize=8 if line.is_thick else 6,
            zorder=3 if line.is_thick else 2,
        )
    axes.set(xscale="log", yscale="log", title=title, xlabel=x_label)
    axes.grid(which="major", alpha=0.3)
    axes.xaxis.set_minor_locator(NullLocator())
    sizes = sorted({x for line in drawn for x, _ in line.points})
    axes.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
    axes.yaxis.set_major_locator(LogLocator(10))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    _widen(axes, drawn)
    _write_names(axes, drawn)


def _short(value: float) -> str:
    for factor, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:g}{unit}"
    return f"{value:g}"


def _widen(axes: Axes, lines: Sequence[Line]) -> None:
    """Leave a decade at least, so that ticks have numbers."""
    values = [y for line in lines for _, y in line.points]
    if values:
        low, high = np.log10(min(values)), np.log10(max(values))
        axes.set_ylim(10 ** (np.floor(low * 2) / 2), 10 ** (np.ceil(high * 2 + 0.2) / 2))


def _write_names(axes: Axes, lines: Sequence[Line]) -> None:
    """Write each name beside its line's end, moved up as far as the one below it asks for."""
    low, high = np.log10(axes.get_ylim())
    found = (((np.log10(line.points[-1][1]) - low) / (high - low), line) for line in lines)
    ends = sorted(found, key=lambda pair: float(pair[0]))
    heights = spread([height for height, _ in ends], gap=_GAP)
    for (_, line), height in zip(ends, heights, strict=True):
        x, y = line.points[-1]
        axes.annotate(
            line.name,
            xy=(x, y),
            xycoords="data",
            xytext=(1.03, height),
            textcoords="axes fraction",
            color=line.colour,
            fontweight="bold" if line.is_thick else "normal",
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": line.colour, "alpha": 0.35, "shrinkA": 0, "shrinkB": 4},
        )


def spread(heights: Sequence[float], *, gap: float) -> list[float]:
    """Return rising heights moved apart as little as needed, so that neighbours are at least ``gap`` apart."""
    groups: list[list[float]] = []
    for height in heights:
        groups.append([height])
        while len(groups) > 1 and _top(groups[-2], gap) + gap > _bottom(groups[-1], gap):
            last = groups.pop()
            groups[-1] += last
    return [_bottom(group, gap) + gap * position for group in groups for position in range(len(group))]


def _bottom(group: Sequence[float], gap: float) -> float:
    return sum(group) / len(group) - gap * (len(group) - 1) / 2


def _top(group: Sequence[float], gap: float) -> float:
    return sum(group) / len(group) + gap * (len(group) - 1) / 2
