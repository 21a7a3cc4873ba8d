"""How a hit's score is put together."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final, Self

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import ValidationError

HALF_LIFE_DAYS: Final[Mapping[Kind, float | None]] = {Kind.EPISODIC: 30.0, Kind.SEMANTIC: 180.0, Kind.PROCEDURAL: None}
RADIUS_MAX: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What relevance is made of: weights of signals, in units of the best BM25 score of a query.

    A signal whose input a memory lacks (a conversation, an author, a vector) adds 0 for it, and one that most memories
    of a namespace would get adds little. The defaults were chosen on several public corpora of chats and notes
    together; a factor of two in any of them changes little.

    Attributes:
        bm25: words of the query, in the memory and, less, in the turns around it in the same conversation.
        cosine: similarity of meaning, if there are vectors.
        author: the query names the author.
        self_reference: and the author speaks of himself.
        speaker: the query is in the first person ("my"), and the memory is a turn of the user.
        date: the query names a month or a year, and the memory was created then.
        answer: the query asks when, who, where or how many, and the text has such an expression.
        session: the best BM25 score among the turns of the memory's conversation.
        window_radius: how many turns before and after count for a turn's words, 0 to 8; 0 counts only its own.
        window_decay: what a turn's words count for the next one, and so on, 0 to 1.
        common_share: words that more than this share of all memories have are left out of a query, if others are
            left; 1 leaves none out.
        full_coverage: share of the query's information (the sum of inverse document frequencies) that the best match
            must score for ``bm25`` and ``session`` to count fully beside vectors, 0 to 1. Below it they count less:
            where no memory has the words of a query, the best of them says little.
    """

    bm25: float = 1.0
    cosine: float = 2.0
    author: float = 0.5
    self_reference: float = 0.2
    speaker: float = 0.3
    date: float = 1.1
    answer: float = 0.6
    session: float = 0.4
    window_radius: int = 3
    window_decay: float = 0.5
    common_share: float = 0.12
    full_coverage: float = 0.4

    def __post_init__(self) -> None:
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        if any(value < 0 for value in values.values()) or self.bm25 + self.cosine <= 0:
            raise ValidationError("signal weights must be at least 0, and bm25 or cosine above 0")
        if self.window_radius > RADIUS_MAX:
            raise ValidationError(f"window_radius is at most {RADIUS_MAX}")
        if max(self.window_decay, self.common_share, self.full_coverage) > 1:
            raise ValidationError("window_decay, common_share and full_coverage are at most 1")

    @classmethod
    def classic(cls) -> Self:
        """Return the plain mix: BM25 of each memory's own text and cosine similarity, half and half."""
        return cls(
            bm25=0.5,
            cosine=0.5,
            author=0,
            self_reference=0,
            speaker=0,
            date=0,
            answer=0,
            session=0,
            window_radius=0,
            common_share=1,
            full_coverage=0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Weights of a score: ``relevance * r + recency * c + importance * i``.

    Relevance is the sum of the signals divided by the best hit's; recency is ``0.5 ** (age / half_life)``; importance
    is the memory's own prior. An empty query ranks by recency and importance alone.

    Attributes:
        relevance, recency, importance: weights, each at least 0, not all 0.
        half_life_days: age at which recency has fallen to a half, for each kind; None never falls.
        k1: how fast repeated terms stop counting (BM25; Robertson and Zaragoza 2009). 0.9 suits short texts.
        b: how much the length of a text counts, 0 to 1 (BM25).
        signals: what relevance is made of.
    """

    relevance: float = 0.7
    recency: float = 0.15
    importance: float = 0.15
    half_life_days: Mapping[Kind, float | None] = field(default_factory=lambda: dict(HALF_LIFE_DAYS))
    k1: float = 0.9
    b: float = 0.4
    signals: Signals = field(default_factory=Signals)

    def __post_init__(self) -> None:
        weights = (self.relevance, self.recency, self.importance)
        if min(weights) < 0 or sum(weights) <= 0:
            raise ValidationError("ranking weights must be at least 0 and not all 0")
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise ValidationError("k1 must be at least 0 and b from 0 to 1")
        if any(days is not None and days <= 0 for days in self.half_life_days.values()):
            raise ValidationError("a half-life must be a positive number of days, or None")

    @classmethod
    def classic(cls) -> Self:
        """Return the plain mix of BM25 and cosine similarity as relevance, without any other signal."""
        return cls(signals=Signals.classic())
