"""What the project set out to reach, and what was measured: one row a target, worked out from the results."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.report_markdown import dollars, number, share, size, text_table
from benchmarks.runner import Result

Results = Mapping[str, Result]
HUNDRED_THOUSAND: Final = "100000"
MILLION: Final = "1000000"
_NAMED_AUTHORS: Final = "LoCoMo"
_NOISE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was measured, and whether that is what was wanted."""

    text: str
    is_met: bool


class NotMeasuredError(Exception):
    """The results do not say."""


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to reach."""

    what: str
    wanted: str
    part: str
    judge: Callable[[Any], Verdict]

    def row(self, results: Results) -> list[str]:
        """Return its row of the table."""
        result = results.get(self.part)
        try:
            if result is None or result.figures is None or result.is_text:
                raise NotMeasuredError
            verdict = self.judge(result.figures)
        except (NotMeasuredError, KeyError, StopIteration):
            text, mark = "not measured", ""
        else:
            text, mark = verdict.text, "reached" if verdict.is_met else "**missed**"
        return [self.what, self.wanted, text, mark, f"`make bench ARGS={self.part}`"]


def render(results: Results) -> str:
    """Return the table of all targets."""
    return text_table(["What", "Target", "Measured", "", "Command"], [target.row(results) for target in TARGETS])


# How each is judged --------------------------------------------------------------------------------------------------


def _operations(figures: Any, name: str) -> list[Any]:
    """Return the rows of an operation at all sizes; the one of many writes is called after their number."""
    found = [row for row in figures["rows"] if re.sub(r"^\d+ x ", "many x ", row["operation"]) == name]
    if not found:
        raise NotMeasuredError
    return found


def _need(is_large_enough: bool) -> None:
    if not is_large_enough:
        raise NotMeasuredError


def _remember(figures: Any) -> Verdict:
    single, many = _operations(figures, "remember"), _operations(figures, "many x remember")
    puts, most = max(row["put_count"] for row in single), max(row["written_bytes"] for row in many)
    biggest = max(row["memories"] for row in many)
    _need(biggest >= 100_000)
    text = f"{number(puts)} PUT; {size(most)} with folds and merges at worst, up to {biggest:,} memories"
    return Verdict(text, puts <= 2 and most <= 4_096)


def _recall(figures: Any) -> Verdict:
    rows = _operations(figures, "recall, warm")
    lists, unchanged, gets = (max(row[f"{name}_count"] for row in rows) for name in ("list", "get_unchanged", "get"))
    text = f"{number(lists)} LIST + {number(unchanged)} conditional GET + {number(gets)} GET for 10 hits"
    return Verdict(text, lists <= 1 and unchanged <= 1 and gets <= 10)


def _against_bm25s(count: str) -> Callable[[Any], Verdict]:
    def judge(figures: Any) -> Verdict:
        found = figures[count]
        ours, theirs = found["ours, 1 segment"]["query_p50_ms"], found["bm25s numba"]["query_p50_ms"]
        worst = max(one["query_p50_ms"] for name, one in found.items() if name.startswith("ours"))
        text = f"{number(ours)} ms ({number(worst)} in many segments), bm25s {number(theirs)} ms"
        return Verdict(text, ours <= theirs)

    return judge


def _hybrid(count: str, milliseconds: float) -> Callable[[Any], Verdict]:
    def judge(figures: Any) -> Verdict:
        found = figures[count]["hybrid"]
        text = f"{number(found['p50_ms'])} ms p50, {number(found['cpu_ms'])} ms of CPU"
        return Verdict(text, found["p50_ms"] <= milliseconds)

    return judge


def _against_single_file(figures: Any) -> Verdict:
    found = figures[HUNDRED_THOUSAND]
    ours = [one for name, one in found.items() if name.startswith("ours")]
    theirs = found["single JSON"]
    faster = theirs["query_p50_ms"] / max(one["search_p50_ms"] for one in ours)
    fewer = theirs["bytes_per_write"] / max(one["bytes_per_write"] for one in ours)
    return Verdict(f"recall {number(faster)}x as fast, {number(fewer)}x fewer bytes", faster >= 100 and fewer >= 500)


def _writers(figures: Any) -> Verdict:
    _need(figures["writers"] >= 32)
    text = f"{figures['writers']} writers, {figures['acknowledged']:,} writes: {figures['lost']} lost, "
    text += f"{figures['failed']} failed, {figures['swaps']} swaps on the write path"
    return Verdict(text, not figures["lost"] + figures["failed"] + figures["swaps"])


def _rebuild(figures: Any) -> Verdict:
    _need(figures["memory_count"] >= 100_000)
    return Verdict(f"{number(figures['seconds'])} s for {figures['memory_count']:,}", figures["seconds"] < 60)


def _quality_named(figures: Any) -> Verdict:
    row = next(
        one for one in figures if (one["corpus"], one["system"], one["type"]) == (_NAMED_AUTHORS, "default", "all")
    )
    text = f"{share(row['recall_at_10'])} on {_NAMED_AUTHORS} ({row['questions']:,} questions)"
    return Verdict(text, row["recall_at_10"] >= 0.82)


def _quality_others(figures: Any) -> Verdict:
    totals = {(row["corpus"], row["system"]): row["recall_at_10"] for row in figures if row["type"] == "all"}
    differences = {
        corpus: recall - totals[corpus, "plain 50/50 mix"] for (corpus, system), recall in totals.items()
        if system == "default"
    }  # fmt: skip
    text = ", ".join(f"{corpus} {difference:+.3f}" for corpus, difference in differences.items())
    return Verdict(text, all(difference >= -_NOISE for difference in differences.values()))


def _seeds(figures: Any) -> Verdict:
    _need(figures["seeds"] >= 10_000 or figures["failed"] > 0)
    return Verdict(f"{figures['seeds']:,} seeds, {figures['failed']} failed", figures["failed"] == 0)


def _mutations(figures: Any) -> Verdict:
    text = f"{figures['caught']} of {figures['mutations']} caught"
    return Verdict(text, figures["caught"] == figures["mutations"])


def _cost(figures: Any) -> Verdict:
    warm = figures["a product, warm"]["per_million"]
    remember, recall = (warm[name]["own_usd"] for name in ("remember", "recall"))
    cold = figures["a product"]["per_million"]["recall"]["own_usd"]
    with_all = ", ".join(f"{name} {dollars(warm[name]['total_usd'])}" for name in ("remember", "recall"))
    text = (
        f"remember {dollars(remember)}, recall {dollars(recall)}, or {dollars(cold)} where one process in ten reads "
        f"the index first (with index, HTTP API and all else: {with_all})"
    )
    return Verdict(text, remember <= 13 and recall <= 12)


def _idle(figures: Any) -> Verdict:
    total = figures["nothing happens"]["total"]
    return Verdict(f"{dollars(total)} a month", total == 0)


TARGETS: Final = (
    Target("remember", "2 PUT; at most 4 kB a write with all that follows, whatever the size", "requests", _remember),
    Target("recall, warm and strong", "1 LIST, 1 conditional GET, one GET a hit", "requests", _recall),
    Target("BM25 over 100,000 memories", "not slower than bm25s with numba", "bm25", _against_bm25s(HUNDRED_THOUSAND)),
    Target("BM25 over 1,000,000 memories", "not slower than bm25s with numba", "bm25", _against_bm25s(MILLION)),
    Target("whole search over 100,000", "at most 15 ms on one thread", "hybrid", _hybrid(HUNDRED_THOUSAND, 15)),
    Target("whole search over 1,000,000", "at most 80 ms on one thread", "hybrid", _hybrid(MILLION, 80)),
    Target(
        "against a single-file index, 100,000", "100x as fast, 500x fewer bytes a write", "bm25", _against_single_file
    ),
    Target("32 writers of one namespace", "nothing lost, no swap on the write path", "concurrency", _writers),
    Target("rebuild of 100,000 objects", "under 60 s", "rebuild", _rebuild),
    Target("recall@10 where authors have names", "at least 0.82 with defaults", "quality", _quality_named),
    Target(
        "recall@10 against the plain mix", f"not below it on any corpus (noise {_NOISE})", "quality", _quality_others
    ),
    Target("simulated schedules with faults", "10,000 seeds, nothing lost", "simulation", _seeds),
    Target("deliberate mistakes in the protocol", "all caught", "simulation", _mutations),
    Target("cost of a million", "remember at most $13, recall at most $12", "cost", _cost),
    Target("cost when idle", "$0", "cost", _idle),
)
