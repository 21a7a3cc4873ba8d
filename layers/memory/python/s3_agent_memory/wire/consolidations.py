"""Requests and answers about consolidations."""

from typing import Literal

from pydantic import Field

from s3_agent_memory.wire.answers import Answer, MemoryVersionDocument
from s3_agent_memory.wire.requests import KindName, Message


class ConsolidationRequest(Message):
    """How memories that say the same are to be merged."""

    kind: KindName | None = Field(default=None, description="Only memories of this kind.")
    threshold: float | None = Field(
        default=None, description="How alike texts must be in their words or by their vectors, 0 to 1."
    )
    undo_days: float | None = Field(
        default=None, description="How long it can be undone; then the originals are forgotten. 0 forgets at once."
    )
    merge_count_max: int | None = Field(default=None, description="At most so many merges, 1 to 1,000.")
    dry_run: bool = Field(default=False, description="Answer what would be merged, and change nothing.")


class MergeDocument(Answer):
    """One merge: what it is made of, how alike that is, and what became of it."""

    id: str
    kind: KindName
    originals: list[MemoryVersionDocument]
    words: float
    meaning: float | None
    state: Literal["planned", "merged", "withdrawn", "skipped"]
    why: str | None


class MergeCounts(Answer):
    """Merges by state."""

    planned: int
    merged: int
    withdrawn: int
    skipped: int


class RunAnswer(Answer):
    """The record of a run; one that is `running` goes on with the next request or schedule."""

    schema_: Literal[1] = Field(alias="schema")
    id: str
    state: Literal["running", "applied", "undone", "settling", "settled"]
    kind: KindName | None
    threshold: float
    summariser: str
    started_at: str
    settle_at: str
    finished_at: str | None
    undone_at: str | None
    settled_at: str | None
    examined: int
    is_complete: bool
    merges: list[MergeDocument]
    counts: MergeCounts


class OriginalDocument(Answer):
    """A memory that would be merged."""

    id: str
    version: int
    content: str


class SimilarityDocument(Answer):
    """How alike the least alike of a group are to its first."""

    words: float
    meaning: float | None


class GroupDocument(Answer):
    """Memories that say the same."""

    kind: KindName
    similarity: SimilarityDocument
    originals: list[OriginalDocument]


class PlanAnswer(Answer):
    """What a run would merge."""

    dry_run: Literal[True]
    groups: list[GroupDocument]
    memories_before: int
    memories_after: int
    examined: int
    compared: int
    is_complete: bool


class UndoAnswer(Answer):
    """What an undo did."""

    run_id: str
    restored: int
    kept: list[str]


class ConsolidationAnswer(Answer):
    """The record of the run, or with `dry_run` the plan."""

    run: RunAnswer | None = None
    plan: PlanAnswer | None = None
