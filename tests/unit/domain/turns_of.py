"""Turns for tests."""

from datetime import UTC, datetime

from s3_agent_memory.domain.scopes import Contributor
from s3_agent_memory.domain.turns import LongTerm, Turn

AT = datetime(2026, 10, 23, 12, tzinfo=UTC)
ALICE = Contributor(principal="alice", agent_client_id="chef")
BOB = Contributor(principal="bob", agent_client_id="chef")


def turn(
    content: str,
    *,
    tokens: int = 10,
    by: Contributor = ALICE,
    role: str = "user",
    long_term: LongTerm = LongTerm.EXTRACT,
) -> Turn:
    """Return a turn that costs so many tokens."""
    return Turn(role=role, content=content, at=AT, contributor=by, long_term=long_term, token_count=tokens)
