"""Requests and answers of the HTTP API about facts that change."""

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from s3_agent_memory.wire.answers import Answer, MemoryDocument
from s3_agent_memory.wire.requests import AttributionMessage, JsonObject, KindName, Message

_EXAMPLE: JsonDict = {"content": "Alice lives in Rome", "valid_from": "2026-05-01T00:00:00Z"}


class SupersedeRequest(Message):
    """What is true instead of a memory; what is absent is taken over from there, the source left out."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    # A factory leaves no default in the schema, where an absent field means "as before" and not an empty value.
    content: str = Field(description="The text; at most 16 KiB of UTF-8.")
    kind: KindName = Field(default_factory=lambda: "semantic", description="The kind, if it is another one.")
    tags: list[str] = Field(default_factory=list, description="Other tags.")
    importance: float = Field(default_factory=float)
    ttl: float | None = Field(default=None, description="Seconds from now; null keeps it for ever.")
    expires_at: str | None = Field(default=None, description="RFC 3339; null keeps it for ever.")
    source: str | None = Field(default=None, description="Where the new text comes from.")
    data: JsonObject | None = Field(default=None, description="In the place of the old one.")
    metadata: JsonObject | None = Field(default=None, description="In the place of the old one.")
    attribution: AttributionMessage = Field(default_factory=AttributionMessage)
    pinned: bool = Field(default_factory=bool, description="Keep it out of every consolidation.")
    valid_from: str | None = Field(default=None, description="RFC 3339; since when it is true, if not since now.")
    valid_to: str | None = Field(default=None, description="RFC 3339; no longer true from then on.")
    new_id: str | None = Field(default=None, description="An id of the caller's own for the new memory.")
    expected_version: int | None = Field(default=None, description="Refuse (409) unless the old memory is at it.")


class HistoryAnswer(Answer):
    """How a memory came to be."""

    versions: list[MemoryDocument] = Field(description="Oldest first; the last one is the present.")
    predecessors: list[MemoryDocument] = Field(description="What it took the place of, the nearest first.")
    successors: list[MemoryDocument] = Field(description="What took its place, the nearest first.")
