"""Measures of a ranking against known answers, and their table."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Final

from benchmarks.quality_corpora import Question

RESULT_COUNT: Final = 10
FIELDS: Final = ("recall_at_5", "recall_at_10", "ndcg_at_10", "hit_at_10")


@dataclass(frozen=True, slots=True)
class Measurement:
    """How well the hits of one question hold its answers.

    Attributes:
        type: of the question.
        recall_at_5, recall_at_10: share of the answers among the first hits.
        ndcg_at_10: with gain 1 for an answer (Järvelin and Kekäläinen 2002).
        hit_at_10: 1 if any answer is among the first ten hits.
    """

    type: str
    recall_at_5: float
    recall_at_10: float
    ndcg_at_10: float
    hit_at_10: float


def measure(question: Question, ids: Sequence[str]) -> Measurement:
    """Return the measures of the hits of a question, best first."""
    is_gold = [memory_id in question.gold for memory_id in ids[:RESULT_COUNT]]
    return Measurement(
        question.type,
        sum(is_gold[:5]) / len(question.gold),
        sum(is_gold) / len(question.gold),
        ndcg(is_gold, len(question.gold)),
        float(any(is_gold)),
    )


def ndcg(is_gold: Sequence[bool], gold_count: int) -> float:
    """Return the discounted cumulative gain of a ranking over that of the best possible one."""
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(gold_count, RESULT_COUNT)))
    return sum(1 / math.log2(rank + 2) for rank, is_answer in enumerate(is_gold) if is_answer) / ideal


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one system reached on one corpus, averaged over questions.

    Attributes:
        corpus, system: which.
        type: of the questions, or "all".
        questions: how many.
    """

    corpus: str
    system: str
    type: str
    questions: int
    recall_at_5: float
    recall_at_10: float
    ndcg_at_10: float
    hit_at_10: float

    def as_json(self) -> dict[str, Any]:
        """Return the row with figures of four digits."""
        return {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(self).items()}


def summarise(corpus: str, system: str, found: Sequence[Measurement]) -> list[Row]:
    """Return a row over all questions, then one for each type if there are several."""
    types = sorted({one.type for one in found})
    rows = [_row(corpus, system, "all", found)]
    if len(types) > 1:
        rows += [_row(corpus, system, name, [one for one in found if one.type == name]) for name in types]
    return rows


def _row(corpus: str, system: str, type_name: str, found: Sequence[Measurement]) -> Row:
    figures = {name: fmean(getattr(one, name) for one in found) for name in FIELDS}
    return Row(corpus=corpus, system=system, type=type_name, questions=len(found), **figures)


def table(rows: Iterable[Row], *, base: str) -> str:
    """Return the rows of one corpus as text, with what recall@10 differs from the system called ``base``."""
    listed = list(rows)
    reference = next((row.recall_at_10 for row in listed if row.system == base and row.type == "all"), None)
    head = f"{'':32} {'n':>5} {'R@5':>7} {'R@10':>7} {'nDCG':>7} {'hit':>7}  {'R@10 - ' + base if reference else ''}"
    return "\n".join([head, *(_line(row, reference) for row in listed)])


def _line(row: Row, reference: float | None) -> str:
    name = row.system if row.type == "all" else f"    {row.type}"
    figures = " ".join(f"{getattr(row, field):7.3f}" for field in FIELDS)
    difference = "" if reference is None or row.type != "all" else f"  {row.recall_at_10 - reference:+.3f}"
    return f"{name:32} {row.questions:5} {figures}{difference}"
