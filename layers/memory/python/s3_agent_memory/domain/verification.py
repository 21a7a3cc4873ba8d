"""What a verification may find: what each finding means, and what to do about it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Remedy(StrEnum):
    """What puts a finding right."""

    SWEEP = "sweep"
    REINDEX = "reindex"
    ERASE = "erase"
    BY_HAND = "by hand"


class FindingKind(StrEnum):
    """What may be wrong."""

    MEMORY_UNREADABLE = "memory_unreadable"
    MEMORY_TWICE = "memory_twice"
    MEMORY_FORGOTTEN = "memory_forgotten"
    MEMORY_NOT_INDEXED = "memory_not_indexed"
    ROW_OUTDATED = "row_outdated"
    ROW_WITHOUT_OBJECT = "row_without_object"
    TOMBSTONE_UNREADABLE = "tombstone_unreadable"
    CLAIM_UNREADABLE = "claim_unreadable"
    CLAIM_CONTRADICTED = "claim_contradicted"
    HISTORY_ORPHANED = "history_orphaned"
    FOREIGN_OBJECT = "foreign_object"
    MANIFEST_UNREADABLE = "manifest_unreadable"
    SEGMENT_UNREADABLE = "segment_unreadable"
    VECTORS_UNREADABLE = "vectors_unreadable"
    LOG_ENTRY_UNREADABLE = "log_entry_unreadable"
    FILE_ORPHANED = "file_orphaned"
    ERASURE_UNFINISHED = "erasure_unfinished"


_MEANINGS: Final[Mapping[FindingKind, tuple[str, Remedy]]] = {
    FindingKind.MEMORY_UNREADABLE: (
        "the object is no memory, or not the one of its key; nobody is shown it",
        Remedy.BY_HAND,
    ),
    FindingKind.MEMORY_TWICE: ("the id has living objects of several kinds; one of them is found", Remedy.BY_HAND),
    FindingKind.MEMORY_FORGOTTEN: ("a forgotten memory is still there; nobody is shown it", Remedy.SWEEP),
    FindingKind.MEMORY_NOT_INDEXED: ("searches do not find the memory; a get by its id does", Remedy.SWEEP),
    FindingKind.ROW_OUTDATED: ("the index knows another version; searches go by its old words", Remedy.SWEEP),
    FindingKind.ROW_WITHOUT_OBJECT: (
        "the index knows a memory that has neither object nor tombstone: somebody removed it by hand",
        Remedy.SWEEP,
    ),
    FindingKind.TOMBSTONE_UNREADABLE: ("the id can be neither used nor forgotten", Remedy.BY_HAND),
    FindingKind.CLAIM_UNREADABLE: ("the id can be used by nobody", Remedy.BY_HAND),
    FindingKind.CLAIM_CONTRADICTED: ("the id is bound to another kind than its memory has", Remedy.BY_HAND),
    FindingKind.HISTORY_ORPHANED: ("earlier versions of a memory that is gone", Remedy.SWEEP),
    FindingKind.FOREIGN_OBJECT: ("no object of this store; it is passed over", Remedy.BY_HAND),
    FindingKind.MANIFEST_UNREADABLE: ("there is no usable index; the next search rebuilds it", Remedy.REINDEX),
    FindingKind.SEGMENT_UNREADABLE: ("a part of the index is lost or damaged", Remedy.REINDEX),
    FindingKind.VECTORS_UNREADABLE: (
        "some memories are found by their words alone; a sweep with an embedder makes their vectors anew",
        Remedy.SWEEP,
    ),
    FindingKind.LOG_ENTRY_UNREADABLE: ("a write may not be found until it is looked for", Remedy.SWEEP),
    FindingKind.FILE_ORPHANED: ("an index file that no manifest names", Remedy.SWEEP),
    FindingKind.ERASURE_UNFINISHED: ("an erasure has begun and is not finished", Remedy.ERASE),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong.

    Attributes:
        key: of the object concerned.
        detail: more about it, without any text of a memory.
    """

    kind: FindingKind
    key: str
    detail: str = ""

    @property
    def meaning(self) -> str:
        """What it means."""
        return _MEANINGS[self.kind][0]

    @property
    def remedy(self) -> Remedy:
        """What puts it right."""
        return _MEANINGS[self.kind][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What a verification looked at, and what it found.

    Attributes:
        memories, tombstones, claims, segments, vector_shards, log_entries: how many were looked at.
        findings: in no particular order; of many alike the first ones.
        counts: how many there are of each kind.
    """

    memories: int
    tombstones: int
    claims: int
    segments: int
    vector_shards: int
    log_entries: int
    findings: tuple[Finding, ...]
    counts: Counter[FindingKind]

    @property
    def is_sound(self) -> bool:
        """True if nothing is wrong."""
        return not self.counts


def verification_to_json(verification: Verification) -> dict[str, object]:
    """Return what a caller is told of a verification."""
    names = ("memories", "tombstones", "claims", "segments", "vector_shards", "log_entries")
    return {
        "is_sound": verification.is_sound,
        **{name: getattr(verification, name) for name in names},
        "counts": {kind.value: count for kind, count in sorted(verification.counts.items())},
        "findings": [
            {
                "kind": item.kind.value,
                "key": item.key,
                "detail": item.detail,
                "meaning": item.meaning,
                "remedy": item.remedy.value,
            }
            for item in verification.findings
        ],
    }
