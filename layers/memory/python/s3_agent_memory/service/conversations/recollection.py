"""What conversation memory answers, as plain values, and facts as text for a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from s3_agent_memory import names
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.turns import Turn


class Tier(StrEnum):
    """The three tiers."""

    SHORT_TERM = "short_term"
    MEDIUM_TERM = "medium_term"
    LONG_TERM = "long_term"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledFact:
    """One long-term memory; a list has no scores."""

    memory: Memory
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """What is remembered; a tier that was not asked for is None.

    Attributes:
        facts: memories, best first.
        summary: what the turns that left the window were about.
        window: the latest turns, oldest first.
        degraded: True if something may be missing because a part of the store failed.
    """

    facts: tuple[RecalledFact, ...] | None = None
    summary: str | None = None
    window: tuple[Turn, ...] | None = None
    degraded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteReceipt:
    """What became of turns.

    Attributes:
        accepted: True if they are stored.
        scheduled: True if turns left the window and the digester was woken.
        degraded: True if the store failed.
    """

    accepted: bool
    scheduled: bool = False
    degraded: bool = False


def render_block(facts: Sequence[RecalledFact]) -> str:
    """Return facts as text to be put before a model: a heading and one line a fact; empty if there is none."""
    if not facts:
        return ""
    # A line break in a fact could make it look like something else than a fact.
    lines = [f"- {' '.join(fact.memory.content.split())}" for fact in facts]
    return "\n".join([names.RECALLED_HEADING, *lines])
