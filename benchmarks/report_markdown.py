"""Tables and numbers of a report, as Markdown."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

ABSENT: Final = "-"
_UNITS: Final = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column is text and whose others are numbers."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows))


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of text."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def number(value: Any, digits: int = 3) -> str:
    """Return a count as it is, a measure with so many digits that mean something, and thousands apart."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or value == 0:
        return f"{value:,.0f}"
    # Rounded first: 9.996 becomes 10.0 and then has one decimal.
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{decimals}f}"


def share(value: float | None) -> str:
    """Return a share of 1 with three decimals."""
    return ABSENT if value is None else f"{value:.3f}"


def size(value: float | None) -> str:
    """Return bytes in a unit that a reader can compare."""
    if value is None:
        return ABSENT
    for factor, unit in _UNITS:
        if value >= factor:
            return f"{number(value / factor)} {unit}"
    return f"{value:,.0f} B"


def dollars(value: float | None) -> str:
    """Return dollars and cents."""
    return ABSENT if value is None else f"${value:,.2f}"


Shown = Callable[[Any], str]


def best_marked(values: Sequence[Any], shown: Shown, *, is_best_high: bool = False) -> list[str]:
    """Return the values as text, the best ones in bold; None is absent and never the best."""
    known = [value for value in values if value is not None]
    best = (max if is_best_high else min)(known) if known else None
    # Equal on paper is equal: two cells that read the same are both marked.
    texts = [ABSENT if value is None else shown(value) for value in values]
    winner = None if best is None else shown(best)
    return [f"**{text}**" if text == winner else text for text in texts]


def code(lines: Sequence[str]) -> str:
    """Return lines as they were printed."""
    return "\n".join(["```text", *(line.rstrip() for line in lines), "```"])
