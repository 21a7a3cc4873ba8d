"""How a hit's score is put together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import ValidationError

HALF_LIFE_DAYS: Final[Mapping[Kind, float | None]] = {Kind.EPISODIC: 30.0, Kind.SEMANTIC: 180.0, Kind.PROCEDURAL: None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Weights of a score: ``relevance * r + recency * c + importance * i``.

    Relevance is BM25 divided by the best hit's; recency is ``0.5 ** (age / half_life)``; importance is the memory's own
    prior. An empty query ranks by recency and importance alone.

    Attributes:
        relevance, recency, importance: weights, each at least 0, not all 0.
        half_life_days: age at which recency has fallen to a half, for each kind; None never falls.
        k1: how fast repeated terms stop counting (BM25; Robertson and Zaragoza 2009). 0.9 suits short texts.
        b: how much the length of a text counts, 0 to 1 (BM25).
    """

    relevance: float = 0.7
    recency: float = 0.15
    importance: float = 0.15
    half_life_days: Mapping[Kind, float | None] = field(default_factory=lambda: dict(HALF_LIFE_DAYS))
    k1: float = 0.9
    b: float = 0.4

    def __post_init__(self) -> None:
        weights = (self.relevance, self.recency, self.importance)
        if min(weights) < 0 or sum(weights) <= 0:
            raise ValidationError("ranking weights must be at least 0 and not all 0")
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise ValidationError("k1 must be at least 0 and b from 0 to 1")
        if any(days is not None and days <= 0 for days in self.half_life_days.values()):
            raise ValidationError("a half-life must be a positive number of days, or None")
