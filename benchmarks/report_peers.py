"""Tables that compare this project with other systems; the best cell of a column is bold, whoever's it is."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from benchmarks.report_markdown import ABSENT, best_marked, number, share, size, table, text_table

Figures = Mapping[str, Any]
SHORT_SIZES: Final = ("100000", "10000", "1000", "300")


def quality(figures: Figures) -> str:
    """Return how well every system finds what it was given."""
    systems = figures["contenders"]
    names = list(dict.fromkeys(name for one in systems.values() for name in one.get("quality", {})))
    head, columns = ["System"], []
    for name in names:
        count = next(
            (one["quality"][name]["questions"] for one in systems.values() if "questions" in _quality(one, name)), 0
        )
        for title, field in (("recall@10", "recall_at_10"), ("nDCG@10", "ndcg_at_10")):
            head.append(f"{name} ({count:,} questions), {title}")
            values = [_quality(one, name).get(field) for one in systems.values()]
            columns.append(best_marked(values, share, is_best_high=True))
    return table(head, ([name, *cells] for name, *cells in zip(systems, *columns, strict=True)))


def _quality(system: Figures, corpus: str) -> Figures:
    found: Figures = system.get("quality", {}).get(corpus, {})
    return found


Column = tuple[str, str, str, Callable[[Any], str]]
_COLUMNS: Final[Sequence[Column]] = (
    ("query p50 ms", "read", "p50_ms", number),
    ("p95", "read", "p95_ms", number),
    ("p99", "read", "p99_ms", number),
    ("write p50 ms", "write", "p50_ms", number),
    ("p95 ", "write", "p95_ms", number),
    ("a write writes", "write", "bytes_per_write", size),
    ("bulk load s", "load", "seconds", number),
    ("cold open ms", "read", "cold_ms", number),
    ("memory MB", "read", "rss_mb", number),
    ("disk a memory", "load", "disk_bytes_per_memory", size),
)


def sizes(figures: Figures) -> str:
    """Return one table a size."""
    return "\n\n".join(f"**{int(count):,} memories**\n\n{_size(figures, str(count))}" for count in figures["sizes"])


def _size(figures: Figures, count: str) -> str:
    systems = {name: one.get("sizes", {}).get(count, {}) for name, one in _timed(figures).items()}
    # What is not on disk writes and keeps nothing there; that is no victory.
    columns = [
        best_marked([_value(one, step, field) for one in systems.values()], shown) for _, step, field, shown in _COLUMNS
    ]
    rows = ([name, *cells] for name, *cells in zip(systems, *columns, strict=True))
    text = table(["System", *(title for title, *_ in _COLUMNS)], rows)
    notes = [f"- {name}: {note}" for name, note in _notes(figures, systems)]
    return "\n".join([text, "", *notes]) if notes else text


def _timed(figures: Figures) -> Figures:
    """Return the systems but for those that were compared in quality alone."""
    return {name: one for name, one in figures["contenders"].items() if "sizes" in one or "error" in one}


def _value(figures: Figures, step: str, field: str) -> Any:
    value = figures.get(step, {}).get(field)
    return None if value == 0 and field in {"bytes_per_write", "disk_bytes_per_memory"} else value


def _notes(figures: Figures, systems: Mapping[str, Figures]) -> Iterator[tuple[str, str]]:
    for name, one in systems.items():
        if "not_run" in one:
            yield name, f"not run: {one['not_run']}"
        elif "error" in one:
            yield name, one["error"]
        elif not one:
            yield name, figures["contenders"][name].get("error", "not run")
        elif one.get("write", {}).get("found_at_once") is False:
            yield name, "what was just written was not among the first ten hits for its own text"


def writers(figures: Figures) -> str:
    """Return what is left of the writes of many writers at once."""
    rows = []
    for name, one in _timed(figures).items():
        found = one.get("writers", {})
        rows.append([name, *(_writers(found.get(way)) for way in ("processes", "threads")), _first_error(found)])
    count = figures["writers"]
    return text_table(["System", f"{count} processes", f"{count} threads of one process", "first error"], rows)


def _writers(found: Figures | None) -> str:
    if found is None:
        return "not applicable"
    if "tried" not in found:
        return str(found["error"])
    text = f"{found['lost']:,} lost, {found['failed']:,} failed of {found['tried']:,}"
    rate = found["acknowledged"] / found["seconds"] if found["seconds"] else 0
    return f"{text}; {number(rate)}/s" if found["acknowledged"] else text


def _first_error(found: Figures) -> str:
    errors = [str(one["error"]) for one in found.values() if one.get("error") and "tried" in one]
    return f"`{errors[0].replace('`', '').replace('|', '/')}`" if errors else ""


def settings(figures: Figures) -> str:
    """Return versions, settings and what survives a loss of power."""
    rows = []
    for name, one in figures["contenders"].items():
        versions = ", ".join(f"{package} {version}" for package, version in one.get("versions", {}).items())
        rows.append([name, versions or one.get("error", "this commit"), "; ".join(one["settings"]), one["durability"]])
    return text_table(["System", "Versions", "How it is used", "An acknowledged write"], rows)


def short(figures: Figures) -> str:
    """Return the few columns that the README shows, at the largest size that most systems finished."""
    systems = figures["contenders"]
    count = next((one for one in SHORT_SIZES if one in map(str, figures["sizes"])), str(figures["sizes"][-1]))
    corpora = list(dict.fromkeys(name for one in systems.values() for name in one.get("quality", {})))
    at = [one.get("sizes", {}).get(count, {}) for one in systems.values()]
    columns = [
        best_marked(
            [_quality(one, corpora[0]).get("recall_at_10") for one in systems.values()], share, is_best_high=True
        )
        if corpora
        else [ABSENT] * len(systems),
        best_marked([_value(one, "read", "p50_ms") for one in at], number),
        best_marked([_value(one, "write", "p50_ms") for one in at], number),
        best_marked([_value(one, "write", "bytes_per_write") for one in at], size),
        [_lost(one) for one in systems.values()],
    ]
    name = corpora[0] if corpora else "corpus"
    head = ["System", f"{name} recall@10", "query p50 ms", "write p50 ms", "a write writes", "lost or failed"]
    rows = ([system, *cells] for system, *cells in zip(systems, *columns, strict=True))
    lead = f"{int(count):,} memories on this machine's disk, {figures['questions']} questions; for the last column, "
    return f"{lead}{figures['writers']} writers at once.\n\n{table(head, rows)}"


def _lost(system: Figures) -> str:
    ways = system.get("writers", {})
    found = ways.get("processes") or ways.get("threads")
    if not found or "tried" not in found:
        return ABSENT
    bad = (found["lost"] + found["failed"]) / found["tried"]
    return "none" if bad == 0 else f"{bad:.0%}"
