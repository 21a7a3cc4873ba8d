"""Turns of a conversation, and what becomes of them when they leave the window."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import IMPORTANCE_DEFAULT
from s3_agent_memory.domain.scopes import Contributor
from s3_agent_memory.domain.token_count import estimate_tokens
from s3_agent_memory.errors import LimitExceededError, ValidationError

ROLE_LENGTH_MAX: Final = 64
TURN_BYTES_MAX: Final = 256 * 1024
TURN_COUNT_MAX: Final = 2_000
# What a model's chat format spends on a turn besides its text.
_TOKENS_PER_TURN: Final = 4


class LongTerm(StrEnum):
    """What long-term memory gets of a turn that leaves the window: nothing, the turn as it is, or what it tells."""

    NONE = "none"
    VERBATIM = "verbatim"
    EXTRACT = "extract"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn, never changed.

    Attributes:
        role: who speaks, such as ``user`` or ``assistant``.
        at: when it was written, an aware UTC datetime.
        token_count: what it costs of a window's budget.
    """

    role: str
    content: str
    at: datetime
    contributor: Contributor
    long_term: LongTerm
    token_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedMemory:
    """One thing that is worth keeping of some turns.

    Attributes:
        author: who said it, if it is a turn as it was.
        at: when it was said; None means the time of the last turn.
    """

    content: str
    kind: Kind = Kind.SEMANTIC
    importance: float = IMPORTANCE_DEFAULT
    tags: tuple[str, ...] = ()
    author: str | None = None
    at: datetime | None = None


def make_turn(role: str, content: str, *, at: datetime, contributor: Contributor, long_term: LongTerm) -> Turn:
    """Return a checked turn.

    Raises:
        ValidationError: the role is blank or too long, or a text is not valid Unicode.
        LimitExceededError: the content is too large.
    """
    if not role.strip() or len(role) > ROLE_LENGTH_MAX:
        raise ValidationError(f"role must be text of 1 to {ROLE_LENGTH_MAX} characters that is not blank")
    try:
        size_bytes = len(content.encode()) + len(role.encode())
    except UnicodeEncodeError:
        raise ValidationError("role and content must be valid Unicode text") from None
    if size_bytes > TURN_BYTES_MAX:
        raise LimitExceededError(
            f"a turn is {size_bytes} bytes; at most {TURN_BYTES_MAX} are allowed",
            limit="turn_bytes_max",
            maximum=TURN_BYTES_MAX,
        )
    token_count = _TOKENS_PER_TURN + estimate_tokens(content)
    return Turn(
        role=role, content=content, at=at, contributor=contributor, long_term=long_term, token_count=token_count
    )


def token_count_of(turns: Sequence[Turn]) -> int:
    """Return what turns cost of a budget."""
    return sum(turn.token_count for turn in turns)


def newest_within(turns: Sequence[Turn], token_budget: int) -> tuple[Turn, ...]:
    """Return the newest turns that together cost at most ``token_budget``, oldest first."""
    left, start = token_budget, len(turns)
    while start and turns[start - 1].token_count <= left:
        start -= 1
        left -= turns[start].token_count
    return tuple(turns[start:])


def by_contributor(turns: Sequence[Turn]) -> Iterator[tuple[Contributor, LongTerm, tuple[Turn, ...]]]:
    """Yield the turns that long-term memory is to have, grouped by who wrote them and how they are kept.

    What one user said never gets into a memory of another.
    """
    groups: dict[tuple[Contributor, LongTerm], list[Turn]] = {}
    for turn in turns:
        if turn.long_term is not LongTerm.NONE:
            groups.setdefault((turn.contributor, turn.long_term), []).append(turn)
    for (contributor, long_term), members in groups.items():
        yield contributor, long_term, tuple(members)
