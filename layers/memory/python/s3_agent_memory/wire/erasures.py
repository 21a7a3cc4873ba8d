"""Requests and answers about erasures, as the OpenAPI document describes them."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from s3_agent_memory.wire.answers import Answer
from s3_agent_memory.wire.requests import Message


class ErasureRequest(Message):
    """What is to be erased: `confirm`, and exactly one of the others."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"confirm": "users/alice", "everything": True}]},
    )

    confirm: str = Field(description="The namespace by its name, such as `users/alice`.")
    everything: bool = Field(default=False, description="Erase the whole namespace.")
    user_id: str | None = Field(default=None, description="Erase what is attributed to this user.")
    agent_id: str | None = Field(default=None, description="Erase what is attributed to this agent.")
    session_id: str | None = Field(default=None, description="Erase what is attributed to this session.")
    ids: list[str] | None = Field(default=None, description="Erase these memories; at most 1,000.")


class ErasureScopeDocument(Answer):
    """What was to be erased: one of these."""

    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    ids: list[str] | None = None


class ErasureCountsDocument(Answer):
    """What was removed so far. After a crash in the middle the figures may be too low."""

    semantic: int
    episodic: int
    procedural: int
    leftovers: int = Field(description="Earlier contents and other objects beside the memories.")
    sessions: int
    index_files: int
    log_entries: int
    objects: int
    bytes: int
    versions: int = Field(description="Noncurrent versions.")
    delete_markers: int
    version_bytes: int
    kept_versions: int = Field(description="Versions that the store would not delete.")


class RemainderDocument(BaseModel):
    """Something that stays, and until when."""

    model_config = ConfigDict(extra="forbid")

    what: str
    until: str


class ErasureAnswer(Answer):
    """An erasure: how far it is, or its report."""

    id: str
    namespace: str
    scope: ErasureScopeDocument | Literal["namespace"]
    requested_by: str | None
    is_finished: bool
    phase: Literal["sessions", "memories", "leftovers", "index", "versions", "finished"]
    started_at: str
    finished_at: str | None
    memories: int
    counts: ErasureCountsDocument
    unreadable_keys: list[str] = Field(description="Objects of which nobody knows whose they are.")
    remains: list[RemainderDocument] = Field(description="What stays, and until when; empty until it is finished.")
