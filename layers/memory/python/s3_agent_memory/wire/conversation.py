"""The conversation-memory contract: messages of ``/v1/recall``, ``/v1/list``, ``/v1/write`` and ``/v1/forget``.

Blank strings count as absent. Whether a scope is complete is decided where it is used, not where it is read, because an
incomplete one has an answer of its own (400).
"""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

LevelName = Literal["session", "agent", "user", "store"]
TierName = Literal["short_term", "medium_term", "long_term"]
FailureModeName = Literal["soft", "strict"]

ALL_TIERS: Final[tuple[TierName, ...]] = ("short_term", "medium_term", "long_term")
TURN_COUNT_MAX: Final = 2_000
TOP_K_MAX: Final = 100
WRITE_ID_PATTERN: Final = "^[0-9]{13}-[0-9a-f]{16}$"


def _absent_if_blank(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


Identity = Annotated[str | None, BeforeValidator(_absent_if_blank)]


class ConversationMessage(BaseModel):
    """A part of the contract; fields that are not known are ignored, so that newer clients go on working."""

    # The input is left out of errors because it is what people said.
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)


class Scope(ConversationMessage):
    """What is read or erased; a misspelt field is refused, because it would widen the scope."""

    model_config = ConfigDict(extra="forbid")

    level: LevelName
    principal: Identity = Field(default=None, description="The user.")
    agent_client_id: Identity = Field(default=None, description="The agent.")
    session_id: Identity = None


class Attribution(ConversationMessage):
    """Who writes; a user or an agent must be named."""

    model_config = ConfigDict(extra="forbid")

    principal: Identity = Field(default=None, description="The user.")
    agent_client_id: Identity = Field(default=None, description="The agent.")
    session_id: Identity = None


class Turn(ConversationMessage):
    """What one side said."""

    role: str = Field(description="Who speaks, such as `user` or `assistant`.")
    content: str


class RecallRequest(ConversationMessage):
    """What is asked for, and how much of it."""

    scope: Scope
    query: str
    top_k: int | None = Field(default=None, ge=1, le=TOP_K_MAX)
    include: tuple[TierName, ...] = ALL_TIERS
    short_term_token_budget: int | None = Field(default=None, ge=1)


class ListRequest(ConversationMessage):
    """Everything that is visible at a scope."""

    scope: Scope
    include: tuple[TierName, ...] = ALL_TIERS
    short_term_token_budget: int | None = Field(default=None, ge=1)


class WriteRequest(ConversationMessage):
    """Turns of one writer, oldest first."""

    attribution: Attribution
    turns: tuple[Turn, ...] = Field(default=(), max_length=TURN_COUNT_MAX)
    role: str | None = Field(default=None, description="Together with `content`, one turn after `turns`.")
    content: str | None = None
    infer: bool = Field(default=True, description="Whether memories are extracted from the turns one day.")
    failure_mode: FailureModeName | None = None
    write_id: str | None = Field(
        default=None,
        pattern=WRITE_ID_PATTERN,
        description="Of the caller's own, by which this write is recognised if it comes again: the milliseconds since "
        "1970 in 13 digits, a hyphen, and 16 random hexadecimal digits. Sessions remember their latest 64 writes.",
    )

    @model_validator(mode="after")
    def _has_turns(self) -> Self:
        if (self.role is None) != (self.content is None):
            raise ValueError("role and content come together")
        if not self.turns and self.content is None:
            raise ValueError("there are no turns")
        return self

    def all_turns(self) -> tuple[Turn, ...]:
        """Return the turns to write, oldest first."""
        if self.role is None or self.content is None:
            return self.turns
        return (*self.turns, Turn(role=self.role, content=self.content))


class ForgetRequest(ConversationMessage):
    """What is erased."""

    scope: Scope
    failure_mode: FailureModeName | None = None


class Fact(ConversationMessage):
    """One long-term memory that was found."""

    id: str
    memory: str
    score: float | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    user_id: str | None = None
    agent_id: str | None = None
    created_at: str | None = None
    updated_at: str | None = None


class LongTerm(ConversationMessage):
    """Memories of all conversations."""

    facts: tuple[Fact, ...] = ()
    block: str = Field(default="", description="Ready to be put before a model; empty when there is nothing.")


class MediumTerm(ConversationMessage):
    """What left the window of the session, summed up."""

    summary: str = ""


class ShortTerm(ConversationMessage):
    """The latest turns of the session, word for word, oldest first."""

    window: tuple[tuple[str, str], ...] = Field(default=(), description="Pairs of role and content.")


class RecallAnswer(ConversationMessage):
    """The tiers that were asked for."""

    long_term: LongTerm | None = None
    medium_term: MediumTerm | None = None
    short_term: ShortTerm | None = None
    degraded: bool = Field(default=False, description="Whether a tier failed, so that something may be missing.")


class WriteAnswer(ConversationMessage):
    """What became of the turns."""

    accepted: bool
    scheduled: bool = Field(default=False, description="Whether turns left the window and are being digested.")
    degraded: bool = False


class ForgetAnswer(ConversationMessage):
    """What became of the erasure."""

    forgotten: bool
    degraded: bool = False
