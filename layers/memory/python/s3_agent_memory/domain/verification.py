"""What a verification may find: what each finding means, and what to do about it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from s3_agent_memory import names
from s3_agent_memory.domain.keys import Namespace, namespace_prefix, parse_namespace
from s3_agent_memory.errors import ValidationError

# Whatever lies in these is looked at one by one.
_FOLDERS: Final = (
    *names.KIND_FOLDERS,
    names.TOMBSTONE_FOLDER,
    names.CLAIM_FOLDER,
    names.HISTORY_FOLDER,
    names.CONSOLIDATION_FOLDER,
    names.LOG_FOLDER,
    names.SEGMENT_FOLDER,
    names.VECTOR_FOLDER,
)


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
    HISTORY_UNREADABLE = "history_unreadable"
    HISTORY_ORPHANED = "history_orphaned"
    CONSOLIDATION_UNREADABLE = "consolidation_unreadable"
    FOREIGN_OBJECT = "foreign_object"
    MARKER_MISSING = "marker_missing"
    MANIFEST_UNREADABLE = "manifest_unreadable"
    SEGMENT_UNREADABLE = "segment_unreadable"
    VECTORS_UNREADABLE = "vectors_unreadable"
    LOG_ENTRY_UNREADABLE = "log_entry_unreadable"
    FILE_ORPHANED = "file_orphaned"
    ERASURE_UNFINISHED = "erasure_unfinished"
    ERASURE_UNREADABLE = "erasure_unreadable"


_MEANINGS: Final[Mapping[FindingKind, tuple[str, Remedy]]] = {
    FindingKind.MEMORY_UNREADABLE: (
        "no memory, or not the one of its key; nobody is shown it; delete it or put a good copy there, then sweep",
        Remedy.BY_HAND,
    ),
    FindingKind.MEMORY_TWICE: (
        "the id has living objects of several kinds; one of them is found; delete the other one, then sweep",
        Remedy.BY_HAND,
    ),
    FindingKind.MEMORY_FORGOTTEN: ("a forgotten memory is still there; nobody is shown it", Remedy.SWEEP),
    FindingKind.MEMORY_NOT_INDEXED: ("searches do not find the memory; a get by its id does", Remedy.SWEEP),
    FindingKind.ROW_OUTDATED: (
        (
            "the index knows another version; searches go by its old words; in a copied directory this is so of every "
            "memory, because the ETags of files change: one sweep clears it"
        ),
        Remedy.SWEEP,
    ),
    FindingKind.ROW_WITHOUT_OBJECT: (
        "the index knows a memory that has neither object nor tombstone: somebody removed it by hand",
        Remedy.SWEEP,
    ),
    FindingKind.TOMBSTONE_UNREADABLE: (
        "the id can be neither used nor forgotten; delete the object, then forget the id again if it has a memory",
        Remedy.BY_HAND,
    ),
    FindingKind.CLAIM_UNREADABLE: (
        "the id can be used by nobody; delete the object: the next who uses the id makes another",
        Remedy.BY_HAND,
    ),
    FindingKind.CLAIM_CONTRADICTED: (
        "the id is bound to another kind than its memory has; delete the object: the next who uses it makes another",
        Remedy.BY_HAND,
    ),
    FindingKind.HISTORY_UNREADABLE: (
        "an earlier version is no memory, or not the one of its key; the history leaves it out; delete the object",
        Remedy.BY_HAND,
    ),
    FindingKind.HISTORY_ORPHANED: ("earlier versions of a memory that is gone", Remedy.SWEEP),
    FindingKind.CONSOLIDATION_UNREADABLE: (
        "the record of a consolidation cannot be read: it can be neither undone nor settled; delete the object",
        Remedy.BY_HAND,
    ),
    FindingKind.FOREIGN_OBJECT: (
        "no object of this store; it is passed over and does no harm; delete it if nobody needs it",
        Remedy.BY_HAND,
    ),
    FindingKind.MARKER_MISSING: ("scheduled rounds do not find the namespace", Remedy.SWEEP),
    FindingKind.MANIFEST_UNREADABLE: ("there is no usable index; the next search rebuilds it", Remedy.REINDEX),
    FindingKind.SEGMENT_UNREADABLE: ("a part of the index is lost or damaged", Remedy.REINDEX),
    FindingKind.VECTORS_UNREADABLE: (
        "some memories are found by their words alone; a sweep with an embedder makes their vectors anew",
        Remedy.SWEEP,
    ),
    FindingKind.LOG_ENTRY_UNREADABLE: (
        "a write may not be found; one sweep looks for it, and another one some minutes later deletes the entry",
        Remedy.SWEEP,
    ),
    FindingKind.FILE_ORPHANED: ("an index file that no manifest names", Remedy.SWEEP),
    FindingKind.ERASURE_UNFINISHED: ("an erasure has begun and is not finished", Remedy.ERASE),
    FindingKind.ERASURE_UNREADABLE: (
        "nobody can go on with it or report on it; delete the object and, unless it was finished, erase once more",
        Remedy.BY_HAND,
    ),
}


def own_folder(namespace: Namespace, key: str) -> str:
    """Return the folder of a key below a namespace, with a slash at its end; "" if nothing of the store lies there.

    It is one that is looked at one by one, or the place of a namespace below.

    Example:
        >>> own_folder(Namespace(("users",)), "memory/users/alice/semantic/units.json")
        'memory/users/alice/'
    """
    base = namespace_prefix(namespace)
    name = key.removeprefix(base)
    found = next((folder for folder in _FOLDERS if name.startswith(f"{folder}/")), "")
    if not found:
        found, separator, _ = name.partition("/")
        try:
            parse_namespace((*namespace, found))
        except ValidationError:
            return ""
        if not separator:
            return ""
    return f"{base}{found}/"


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
