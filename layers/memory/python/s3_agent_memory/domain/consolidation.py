"""Consolidation: several memories that say the same become one, and what is known of each run.

The merged memory names the versions it was made of, and that alone hides them. A run is one object,
``_consolidations/<run id>.json``: it says what was merged and why, and every change of its state is a swap of that
object, so that whoever settles, undoes or resumes a run has won a race for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Final

from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.domain.kinds import Kind, check_kind
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.memory import Memory, check_memory
from s3_agent_memory.domain.timestamps import format_timestamp, parse_timestamp
from s3_agent_memory.domain.validity import MemoryVersion, named_from_json, named_to_json
from s3_agent_memory.errors import AgentMemoryError, CorruptError, ValidationError

SOURCE_PREFIX: Final = "consolidation:"
MERGED_PREFIX: Final = "merged-"
THRESHOLD_DEFAULT: Final = 0.5
UNDO_DAYS_DEFAULT: Final = 7.0
UNDO_DAYS_MAX: Final = 365.0
MERGE_COUNT_MAX: Final = 1_000
GROUP_SIZE_MIN: Final = 2
GROUP_SIZE_MAX: Final = 64
WHY_FORGOTTEN: Final = "the same merge was undone or forgotten before"
_SCHEMA_VERSION: Final = 1
_ID_BYTES: Final = 12


class RunState(StrEnum):
    """Where a run is: being applied, applied, taken back, being settled (past undoing), or settled."""

    RUNNING = "running"
    APPLIED = "applied"
    UNDONE = "undone"
    SETTLING = "settling"
    SETTLED = "settled"


class MergeState(StrEnum):
    """What became of one merge: not tried yet, done, or not done; a withdrawn one was done and taken back at once."""

    PLANNED = "planned"
    MERGED = "merged"
    WITHDRAWN = "withdrawn"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """One merge of a run.

    Attributes:
        id: of the merged memory; it follows from the originals, so that a repeat writes the same one.
        kind: of all of them.
        originals: the versions that say the same.
        words: the smallest share of common words between the first original and another, 0 to 1.
        meaning: the smallest cosine in the same way; None without vectors.
        state: what became of it.
        why: why it was not done.
    """

    id: str
    kind: Kind
    originals: tuple[MemoryVersion, ...]
    words: float
    meaning: float | None = None
    state: MergeState = MergeState.PLANNED
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRun:
    """What is known of one run.

    Attributes:
        id: time-ordered.
        state: where it is.
        kind: the only kind it looked at; None for all.
        threshold: how alike originals had to be, 0 to 1.
        summariser: what wrote the merged texts.
        started_at: when it looked at the index.
        settle_at: from when on the originals may be forgotten.
        finished_at, undone_at, settled_at: when that happened.
        examined: memories whose texts were compared.
        is_complete: False if there was more to merge than one run may.
        merges: what was merged, or was to be.
    """

    id: str
    state: RunState
    kind: Kind | None
    threshold: float
    summariser: str
    started_at: datetime
    settle_at: datetime
    finished_at: datetime | None = None
    undone_at: datetime | None = None
    settled_at: datetime | None = None
    examined: int = 0
    is_complete: bool = True
    merges: tuple[Merge, ...] = ()

    @property
    def source(self) -> str:
        """What the merged memories name as their source."""
        return SOURCE_PREFIX + self.id

    @property
    def planned(self) -> tuple[Merge, ...]:
        """The merges that are still to be tried."""
        return self.in_state(MergeState.PLANNED)

    def in_state(self, state: MergeState) -> tuple[Merge, ...]:
        """Return the merges of which that became."""
        return tuple(merge for merge in self.merges if merge.state is state)

    @property
    def has_open_ends(self) -> bool:
        """True if a later run might merge what this one did not."""
        failed = (*self.in_state(MergeState.SKIPPED), *self.in_state(MergeState.WITHDRAWN))
        return not self.is_complete or any(merge.why != WHY_FORGOTTEN for merge in failed)

    def with_results(self, results: Mapping[str, Merge]) -> "ConsolidationRun":
        """Return the run with merges replaced, by id; what somebody else has settled before stays as it is."""
        merges = tuple(
            results.get(merge.id, merge) if merge.state is MergeState.PLANNED else merge for merge in self.merges
        )
        return replace(self, merges=merges)


def merged_id(kind: Kind, originals: Sequence[MemoryVersion]) -> str:
    """Return the id of the memory that takes the place of some versions, in whatever order they are given."""
    text = "\0".join([kind, *(f"{item.id}\0{item.version}" for item in sorted(originals))])
    return f"{MERGED_PREFIX}{blake2b(text.encode(), digest_size=_ID_BYTES).hexdigest()}"


def may_merge(memory: Memory, *, settle_at: datetime) -> bool:
    """Return True if a memory may be merged at all.

    Not one that is pinned, that takes the place of others, that expires before the run is settled, or that somebody
    looks up by an id of their own because it holds data.
    """
    is_expiring = memory.expires_at is not None and memory.expires_at <= settle_at
    is_record = memory.data is not None and not _is_generated(memory.id)
    return not (memory.pinned or memory.supersedes or is_expiring or is_record)


def merge_key(memory: Memory) -> tuple[object, ...]:
    """Return what memories must have in common, besides what they say, to be merged."""
    return (memory.kind, memory.attribution, memory.valid_from, memory.valid_to, memory.expires_at)


def merged_memory(
    originals: Sequence[Memory], content: str, *, run: ConsolidationRun, now: datetime, limits: Limits
) -> Memory:
    """Return the memory that takes the place of others, checked.

    Raises:
        ValidationError: two of them have different values under one key of ``data`` or ``metadata``.
        LimitExceededError: together they have too much.
    """
    first = min(originals, key=lambda memory: (memory.created_at, memory.id))
    versions = tuple(sorted(memory.named_version for memory in originals))
    return check_memory(
        Memory(
            id=merged_id(first.kind, versions),
            namespace=first.namespace,
            kind=first.kind,
            content=content,
            source=run.source,
            importance=max(memory.importance for memory in originals),
            tags=tuple(dict.fromkeys(tag for memory in originals for tag in memory.tags)),
            created_at=first.created_at,
            updated_at=max(now, *(memory.updated_at for memory in originals)),
            expires_at=first.expires_at,
            data=_union([memory.data for memory in originals], "data"),
            metadata=_union([memory.metadata for memory in originals], "metadata") or {},
            attribution=first.attribution,
            valid_from=first.valid_from,
            valid_to=first.valid_to,
            consolidated_from=versions,
        ),
        limits,
    )


def is_mergeable(originals: Sequence[Memory], *, run: ConsolidationRun, limits: Limits) -> bool:
    """Return True if there is a memory that has everything that some have, apart from their texts."""
    try:
        merged_memory(originals, originals[0].content, run=run, now=originals[0].updated_at, limits=limits)
    except AgentMemoryError:
        return False
    return True


def _union(values: Sequence[Mapping[str, object] | None], field: str) -> dict[str, object] | None:
    merged: dict[str, object] = {}
    for value in values:
        for key, item in (value or {}).items():
            # Encoded, because Python takes True for 1.
            if key in merged and encode_json(merged[key]) != encode_json(item):
                raise ValidationError(f"memories with different values of {field}.{key} are not merged")
            merged[key] = item
    return None if all(value is None for value in values) else merged


def _is_generated(memory_id: str) -> bool:
    return len(memory_id) == 24 and set(memory_id) <= set("0123456789abcdef")


# --- stored form ------------------------------------------------------------------------------------------------------


def run_to_json(run: ConsolidationRun) -> dict[str, object]:
    """Return a run as it is stored and shown; it holds no text of a memory."""
    moments = {name: getattr(run, name) for name in _MOMENTS}
    return {
        "schema": _SCHEMA_VERSION,
        "id": run.id,
        "state": run.state.value,
        "kind": None if run.kind is None else run.kind.value,
        "threshold": run.threshold,
        "summariser": run.summariser,
        **{name: None if moment is None else format_timestamp(moment) for name, moment in moments.items()},
        "examined": run.examined,
        "is_complete": run.is_complete,
        "merges": [_merge_to_json(merge) for merge in run.merges],
    }


_MOMENTS: Final = ("started_at", "settle_at", "finished_at", "undone_at", "settled_at")


def _merge_to_json(merge: Merge) -> dict[str, object]:
    return {
        "id": merge.id,
        "kind": merge.kind.value,
        "originals": named_to_json(merge.originals),
        "words": merge.words,
        "meaning": merge.meaning,
        "state": merge.state.value,
        "why": merge.why,
    }


def encode_run(run: ConsolidationRun) -> bytes:
    """Return the bytes of a run."""
    return encode_json(run_to_json(run))


def decode_run(body: bytes, key: str) -> ConsolidationRun:
    """Return the run stored in ``body``.

    Raises:
        CorruptError: the bytes are no run.
    """
    try:
        document = decode_json(body)
        if not isinstance(document, Mapping) or document.get("schema") != _SCHEMA_VERSION:
            raise ValidationError("no run of this schema")
        return _run_from_json(document)
    except (ValidationError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise CorruptError(f"{key} is no record of a consolidation", key=key) from error


def _run_from_json(document: Mapping[str, object]) -> ConsolidationRun:
    moments = {
        name: None if document[name] is None else parse_timestamp(document[name], field=name) for name in _MOMENTS
    }
    merges = document["merges"]
    started_at, settle_at = moments.pop("started_at"), moments.pop("settle_at")
    if started_at is None or settle_at is None or not isinstance(merges, list):
        raise ValidationError("a run has a beginning, an end of its undo window, and merges")
    return ConsolidationRun(
        id=str(document["id"]),
        state=RunState(str(document["state"])),
        kind=None if document["kind"] is None else check_kind(document["kind"]),
        threshold=float(str(document["threshold"])),
        summariser=str(document["summariser"]),
        started_at=started_at,
        settle_at=settle_at,
        examined=int(str(document["examined"])),
        is_complete=document["is_complete"] is True,
        merges=tuple(_merge_from_json(item) for item in merges),
        **moments,
    )


def _merge_from_json(document: Mapping[str, object]) -> Merge:
    meaning, why = document["meaning"], document["why"]
    return Merge(
        id=str(document["id"]),
        kind=check_kind(document["kind"]),
        originals=named_from_json(document["originals"], field="originals"),
        words=float(str(document["words"])),
        meaning=None if meaning is None else float(str(meaning)),
        state=MergeState(str(document["state"])),
        why=None if why is None else str(why),
    )
