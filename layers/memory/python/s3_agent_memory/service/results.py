"""What the services answer, as plain values."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from s3_agent_memory.domain.memory import Memory

# Called with (items done, items in all or None if unknown) while long work goes on.
Progress = Callable[[int, int | None], None]


def no_progress(_done: int, _total: int | None) -> None:
    """Report nothing."""


class Consistency(StrEnum):
    """``strong`` sees every acknowledged change; ``eventual`` saves one LIST and may miss those not folded yet."""

    STRONG = "strong"
    EVENTUAL = "eventual"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One memory found by a recall.

    Attributes:
        score: the weighted sum that ranked it, highest first.
        memory: the memory as stored now.
        explain: the parts of the score, if they were asked for.
    """

    score: float
    memory: Memory
    explain: Mapping[str, float] | None = None

    @property
    def key(self) -> str:
        """The object key of the memory below the root of the store."""
        return self.memory.key


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult(Sequence[Hit]):
    """The hits of a recall, best first; use it like a list.

    Attributes:
        hits: the memories found.
        degraded: what could not be used for this answer, by name; empty if all went well.
        corrupt_keys: objects that were found but cannot be read.
    """

    hits: tuple[Hit, ...]
    degraded: tuple[str, ...] = ()
    corrupt_keys: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]  # one signature for int and slice
        return self.hits[index]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPage:
    """One page of a list, most recently updated first.

    Attributes:
        memories: the page.
        next_cursor: pass it to get the next page; None at the end.
        degraded: what could not be used for this answer, by name; empty if all went well.
        corrupt_keys: objects of this page that cannot be read.
    """

    memories: tuple[Memory, ...]
    next_cursor: str | None
    degraded: tuple[str, ...] = ()
    corrupt_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Figures about one namespace.

    Attributes:
        memories: live memories, expired ones included until they are pruned.
        by_kind: live memories of each kind.
        expired: live memories that are past their expiry.
        log_entries: changes that are not folded into a segment yet (or folded and not cleaned up yet).
        segments: immutable index files in use.
        index_bytes: their size.
        head_version: how often the manifest was swapped.
        digest: order-independent digest of the live rows; equal digests mean equal indexes.
        analyzer: the text analysis of the index.
        vectors: live memories that have a vector of ``embedding_model``; the others are found by their words.
        embedding_model: the model that the namespace is embedded with, empty if it is not.
    """

    memories: int
    by_kind: Mapping[str, int]
    expired: int
    log_entries: int
    segments: int
    index_bytes: int
    head_version: int
    digest: str
    analyzer: str
    vectors: int = 0
    embedding_model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldReport:
    """What a fold did.

    Attributes:
        rows: rows written.
        log_length: log entries it found unfolded.
        lag_ms: how long ago the oldest of them was written.
        entries_folded, entries_deleted: log entries taken in, and old ones deleted.
        corrupt_keys, unreadable_ids: objects it could not read, and the ids they belong to.
        absent_ids: ids it was told about that have neither object nor tombstone.
    """

    rows: int = 0
    log_length: int = 0
    lag_ms: int = 0
    entries_folded: int = 0
    entries_deleted: int = 0
    corrupt_keys: tuple[str, ...] = ()
    unreadable_ids: tuple[str, ...] = ()
    absent_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingReport:
    """What an embedding run did.

    Attributes:
        model: the model it embedded with.
        embedded: rows that got a vector.
        failed: texts the model could not take.
        missing: rows that still have none: the time was up, the model failed on them, or they are changing right now.
            None if nothing was looked at, because somebody else is at work or the namespace has another model.
    """

    model: str
    embedded: int = 0
    failed: int = 0
    missing: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """What a sweep found.

    Attributes:
        checked: objects compared with the index.
        repaired: ids whose index row differed from the object.
        vanished: ids whose object was removed by hand, without a tombstone; the index was rebuilt without them.
        embedded: memories that had no vector and got one.
        corrupt_keys: objects that cannot be read.
    """

    checked: int
    repaired: int
    vanished: int = 0
    embedded: int = 0
    corrupt_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexReport:
    """What a rebuild did.

    Attributes:
        memories: live memories indexed.
        digest_before, digest_after: digests of the live rows; equal if the index was complete.
        embedded: memories that had no vector and got one.
        corrupt_keys: objects that cannot be read and are left out.
    """

    memories: int
    digest_before: str
    digest_after: str
    embedded: int = 0
    corrupt_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReport:
    """What a prune forgot.

    Attributes:
        forgotten: memories that had expired.
        consolidated: originals of merged memories, whose undo window is over.
    """

    forgotten: int
    consolidated: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPage:
    """Some lines of an export.

    Attributes:
        lines: memories as JSON, without line ends.
        next_cursor: pass it to get the next lines; None at the end.
        corrupt_keys: objects that cannot be read and are left out.
    """

    lines: tuple[str, ...]
    next_cursor: str | None
    corrupt_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LineError:
    """A line of an import that was refused: its number from 1, a stable code, and why."""

    line: int
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did, in lines.

    Attributes:
        imported: new memories.
        overwritten: existing memories replaced (with ``overwrite``).
        skipped: ids that exist already.
        refused: ids that were forgotten (without ``resurrect``).
        failed: lines that could not be read or stored, and checksum lines that do not hold.
        errors: why, for the first 100 of them.
        checksum: what the checksum lines say: ``verified``, all lines are as they were written; ``mismatch``, some were
            lost, added or changed; ``absent``, there was none behind the last line, so the end may be missing.
    """

    imported: int = 0
    overwritten: int = 0
    skipped: int = 0
    refused: int = 0
    failed: int = 0
    errors: tuple[LineError, ...] = field(default_factory=tuple)
    checksum: str = "absent"
