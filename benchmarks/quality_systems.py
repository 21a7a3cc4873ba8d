"""The systems that are compared: a ranking, with or without vectors, knowing more or less about each memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from benchmarks.quality_corpora import Item
from s3_agent_memory.domain.ranking import Ranking, Signals

DEFAULT: Final = "default"
NO_MODEL: Final = "default without model"
TEXT_ONLY: Final = "default, text only"
BM25: Final = "BM25 alone"
DENSE: Final = "dense alone"
CLASSIC: Final = "plain 50/50 mix"

_PLAIN: Final = Signals.classic()


@dataclass(frozen=True, slots=True)
class System:
    """One way to search.

    Attributes:
        ranking: how scores are made.
        has_vectors: whether memories have vectors.
        is_text_only: whether memories are stored without author, session and date.
    """

    ranking: Ranking = field(default_factory=Ranking)
    has_vectors: bool = True
    is_text_only: bool = False


SYSTEMS: Final[Mapping[str, System]] = {
    DEFAULT: System(),
    NO_MODEL: System(has_vectors=False),
    TEXT_ONLY: System(is_text_only=True),
    BM25: System(Ranking(signals=replace(_PLAIN, bm25=1.0, cosine=0.0)), has_vectors=False),
    DENSE: System(Ranking(signals=replace(_PLAIN, bm25=0.0, cosine=1.0))),
    CLASSIC: System(Ranking.classic()),
}


def _without(**changes: float) -> System:
    return System(Ranking(signals=replace(Signals(), **changes)))  # type: ignore[arg-type]


# Each takes one part of the default away; what stays is not tuned again.
ABLATIONS: Final[Mapping[str, System]] = {
    "- bm25": _without(bm25=0.0),
    "- cosine": _without(cosine=0.0),
    "- author": _without(author=0.0),
    "- self_reference": _without(self_reference=0.0),
    "- speaker": _without(speaker=0.0),
    "- date": _without(date=0.0),
    "- answer": _without(answer=0.0),
    "- session": _without(session=0.0),
    "- window": _without(window_radius=0),
    "- common words left out": _without(common_share=1.0),
    "- recency, importance": System(Ranking(relevance=1.0, recency=0.0, importance=0.0)),
}


def stored_form(item: Item, *, is_text_only: bool) -> dict[str, object]:
    """Return a memory of a corpus as a line of an import; text alone means no author, session or date."""
    document: dict[str, object] = {"id": item.id, "kind": item.kind, "content": item.text}
    if is_text_only:
        return document
    attribution = {"author": item.author, "session_id": item.session}
    return {
        **document,
        "created_at": item.created_at,
        "attribution": {name: value for name, value in attribution.items() if value is not None},
    }
