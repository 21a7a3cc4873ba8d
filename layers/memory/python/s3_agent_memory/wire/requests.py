"""Requests of the HTTP API.

Types are strict and unknown fields are refused: a misspelt field must not silently widen a search or drop a tag. What a
value may be (lengths, ranges, names) is the service's business. No request has a field that chooses a namespace or an
identity: both come from the token.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SkipValidation
from pydantic.config import JsonDict

OPERATION_COUNT_MAX = 100

KindName = Literal["semantic", "episodic", "procedural"]
ConsistencyName = Literal["strong", "eventual"]
JsonObject = dict[str, Any]


class Message(BaseModel):
    """A request: strict types, no unknown fields."""

    # The input is left out of errors because it is memory text.
    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


def _example(document: JsonDict) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [document]})


_REMEMBER_EXAMPLE: JsonDict = {"content": "Alice is vegetarian", "tags": ["food"], "importance": 0.8}
_UPDATE_EXAMPLE: JsonDict = {"content": "Alice is vegan", "metadata": {"confirmed": True}}
_SEARCH_EXAMPLE: JsonDict = {"query": "what can Alice eat?", "tags": ["food"], "limit": 5}


class AttributionMessage(Message):
    """Who a memory is about or from, as the caller's own code states it; never grants access to anything."""

    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    author: str | None = Field(default=None, description="Who said it, as a name or a role.")


class RememberRequest(Message):
    """A memory to store."""

    model_config = _example(_REMEMBER_EXAMPLE)

    content: str = Field(description="The text; at most 16 KiB of UTF-8.")
    kind: KindName = Field(default="semantic", description="A fact, an event, or an instruction or preference.")
    tags: list[str] = Field(default_factory=list, description="At most 32 short labels.")
    importance: float = Field(default=0.5, description="A prior from 0 to 1 that ranking uses.")
    ttl: float | None = Field(default=None, description="Time to live in seconds; not together with `expires_at`.")
    expires_at: str | None = Field(default=None, description="RFC 3339; a time without offset is UTC.")
    source: str | None = Field(default=None, description="Where it came from.")
    data: JsonObject | None = Field(default=None, description="Any JSON object; at most 32 KiB; filters see it.")
    metadata: JsonObject | None = Field(default=None, description="Small JSON object; at most 4 KiB; never identity.")
    attribution: AttributionMessage | None = None
    valid_from: str | None = Field(default=None, description="RFC 3339; true from then on, if not from now.")
    valid_to: str | None = Field(default=None, description="RFC 3339; no longer true from then on.")
    pinned: bool = Field(default=False, description="Keep it out of every consolidation.")
    id: str | None = Field(default=None, description="An id of the caller's own; made by the service if absent.")
    resurrect: bool = Field(default=False, description="Use an id again that was forgotten.")


class UpdateRequest(Message):
    """Changes to a memory; a field that is absent stays as it is."""

    model_config = _example(_UPDATE_EXAMPLE)

    # A factory leaves no default in the schema, where an absent field means "unchanged" and not an empty value.
    content: str = Field(default_factory=str, description="The new text.")
    source: str | None = Field(default=None, description="The new source; null removes it.")
    importance: float = Field(default_factory=float)
    tags: list[str] = Field(default_factory=list, description="Replace all tags.")
    ttl: float | None = Field(default=None, description="Seconds from now; null keeps the memory for ever.")
    expires_at: str | None = Field(default=None, description="RFC 3339; null keeps the memory for ever.")
    data: JsonObject | None = Field(default=None, description="Merged (RFC 7396): null removes a key.")
    metadata: JsonObject | None = Field(default=None, description="Merged (RFC 7396): null removes a key.")
    valid_from: str | None = Field(default=None, description="RFC 3339; null is the time it was stored.")
    valid_to: str | None = Field(default=None, description="RFC 3339; null is true for ever.")
    pinned: bool = Field(default_factory=bool, description="Keep it out of every consolidation.")
    expected_version: int | None = Field(default=None, description="Refuse (409) unless this is the present version.")


class SearchRequest(Message):
    """A question to the memories of a namespace."""

    model_config = _example(_SEARCH_EXAMPLE)

    query: str = Field(description="At most 2,000 characters; empty ranks by recency and importance.")
    kind: KindName | None = None
    tags: list[str] = Field(default_factory=list, description="Only memories that carry all of these.")
    filter: JsonObject | None = Field(
        default=None,
        description='Conditions that must all hold, such as `{"data.price": {"$lt": 10}, "author": "Ann"}`.',
    )
    as_of: str | None = Field(default=None, description="RFC 3339: what was true then; absent: what is true now.")
    limit: int = Field(default=10, description="1 to 100.")
    consistency: ConsistencyName = Field(
        default="strong", description="`strong` sees every acknowledged write; `eventual` may miss the latest."
    )
    explain: bool = Field(default=False, description="Return the parts of each score.")


class RememberOperation(RememberRequest):
    """`POST /v1/memories` inside a batch."""

    model_config = _example({"op": "remember", **_REMEMBER_EXAMPLE})

    op: Literal["remember"]


class GetOperation(Message):
    """`GET /v1/memories/{id}` inside a batch."""

    op: Literal["get"]
    id: str


class UpdateOperation(UpdateRequest):
    """`PATCH /v1/memories/{id}` inside a batch."""

    model_config = _example({"op": "update", "id": "diet", **_UPDATE_EXAMPLE})

    op: Literal["update"]
    id: str


class ForgetOperation(Message):
    """`DELETE /v1/memories/{id}` inside a batch."""

    op: Literal["forget"]
    id: str
    reason: str | None = None
    expected_version: int | None = Field(default=None, description="Only if the memory is at this version.")


class SearchOperation(SearchRequest):
    """`POST /v1/memories/search` inside a batch."""

    model_config = _example({"op": "search", **_SEARCH_EXAMPLE})

    op: Literal["search"]


Operation = Annotated[
    RememberOperation | GetOperation | UpdateOperation | ForgetOperation | SearchOperation, Field(discriminator="op")
]


class BatchRequest(Message):
    """Operations that are done one after the other; each has a result of its own and none undoes another."""

    # Each operation is validated by itself later, so that a wrong one does not refuse the others.
    operations: list[SkipValidation[Operation]] = Field(min_length=1, max_length=OPERATION_COUNT_MAX)
