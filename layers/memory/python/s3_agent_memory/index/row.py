"""What the index knows about one memory: the columns it ranks and filters by, and its terms."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from s3_agent_memory.domain.clock import to_us
from s3_agent_memory.domain.codec import Tombstone
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.timestamps import parse_timestamp
from s3_agent_memory.index.analyzer import Analyzer
from s3_agent_memory.index.terms import BODY, filter_terms, term_hash

KINDS: Final = (Kind.SEMANTIC, Kind.EPISODIC, Kind.PROCEDURAL)
"""Kinds in the order of their stored codes 0, 1, 2."""

KIND_CODES: Final[Mapping[Kind, int]] = {kind: code for code, kind in enumerate(KINDS)}
TERM_FREQUENCY_MAX: Final = 255
_DIGEST_BYTES: Final = 16
DIGEST_MODULUS: Final = 1 << (8 * _DIGEST_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMeta:
    """The columns of one memory, or of the deletion of one.

    Attributes:
        version: the version that was seen; of a deletion, the version it deletes.
        etag_hash: 64 bits of the object's ETag, 0 if it is not known.
        created_us, updated_us: microseconds since the epoch; of a deletion, 0 and when it was forgotten.
        expires_us: when it expires, 0 for never.
        length: words of the text, as BM25 counts them.
    """

    id: str
    kind: Kind
    version: int
    is_deleted: bool = False
    etag_hash: int = 0
    created_us: int = 0
    updated_us: int = 0
    expires_us: int = 0
    importance: float = 0.0
    length: int = 0

    @property
    def rank(self) -> int:
        """Which of two rows of one id counts: the higher one; a deletion is just above what it deletes."""
        return self.version * 2 + self.is_deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(RowMeta):
    """A row as it enters a segment.

    Attributes:
        terms: term hash -> how often it occurs, 1 to 255.
    """

    terms: Mapping[int, int]


def row_of_memory(memory: Memory, *, etag: str, analyzer: Analyzer) -> Row:
    """Return the row of a memory read (or written) with this ETag."""
    words = analyzer.words(memory.content)
    counts = Counter(term_hash(BODY, term) for word in words for term in word.terms)
    terms = {term: min(count, TERM_FREQUENCY_MAX) for term, count in counts.items()}
    terms.update(dict.fromkeys(filter_terms(memory), 1))
    return Row(
        id=memory.id,
        kind=memory.kind,
        version=memory.version,
        etag_hash=etag_hash(etag),
        created_us=to_us(memory.created_at),
        updated_us=to_us(memory.updated_at),
        # 0 is taken for "never"; what expired at the epoch itself has expired all the same a microsecond later.
        expires_us=0 if memory.expires_at is None else max(1, to_us(memory.expires_at)),
        importance=memory.importance,
        length=sum(word.length for word in words),
        terms=terms,
    )


def row_of_tombstone(tombstone: Tombstone, *, etag: str) -> Row:
    """Return the row of a deletion; it has no terms and is never found."""
    return Row(
        id=tombstone.id,
        kind=tombstone.kind,
        version=tombstone.deletes_version,
        is_deleted=True,
        etag_hash=etag_hash(etag),
        updated_us=to_us(parse_timestamp(tombstone.forgotten_at, field="forgotten_at")),
        terms={},
    )


def etag_hash(etag: str) -> int:
    """Return 64 bits of an ETag, never 0 (which stands for unknown)."""
    return int.from_bytes(blake2b(etag.encode(), digest_size=8).digest(), "little") or 1


def row_digest(memory_id: str, kind_code: int, version: int, etag_hash: int) -> int:
    """Return 128 bits that stand for what a live row says about its memory; sums of them do not depend on order."""
    text = f"{memory_id}\0{kind_code}\0{version}\0{etag_hash}".encode()
    return int.from_bytes(blake2b(text, digest_size=_DIGEST_BYTES).digest(), "little")
