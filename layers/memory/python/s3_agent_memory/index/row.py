"""What the index knows about one memory: the columns it ranks and filters by, and its terms."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from s3_agent_memory.domain.clock import to_us
from s3_agent_memory.domain.codec import Tombstone
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Attribution, Memory
from s3_agent_memory.domain.timestamps import parse_timestamp
from s3_agent_memory.domain.validity import MemoryVersion
from s3_agent_memory.index.terms import AUTHOR_WORD, BODY, filter_terms, term_hash
from s3_agent_memory.index.text.analyzer import Analyzer

KINDS: Final = (Kind.SEMANTIC, Kind.EPISODIC, Kind.PROCEDURAL)
"""Kinds in the order of their stored codes 0, 1, 2."""

KIND_CODES: Final[Mapping[Kind, int]] = {kind: code for code, kind in enumerate(KINDS)}
TERM_FREQUENCY_MAX: Final = 255
_GENERATED_ID: Final = re.compile("[0-9a-f]{24}")
_DIGITS: Final = re.compile("[0-9]+")
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
        length: words of the text and its author's name, as BM25 counts them.
        session: 64 bits that stand for the conversation the memory is a turn of, 0 if it is none.
        sequence: order of turns that were created at the same moment.
        flags: what kinds of expression the text has; bits of ``TextFlag``.
        text_key: 64 bits that stand for id and embedded text; a vector with another key is not this memory's.
        valid_from_us, valid_to_us: when it is true, if it says so itself.
        supersedes, consolidated_from: the versions of other memories that it names.
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
    session: int = 0
    sequence: int = 0
    flags: int = 0
    text_key: int = 0
    valid_from_us: int | None = None
    valid_to_us: int | None = None
    supersedes: tuple[MemoryVersion, ...] = ()
    consolidated_from: tuple[MemoryVersion, ...] = ()

    @property
    def begin_us(self) -> int:
        """From when the memory is true."""
        return self.created_us if self.valid_from_us is None else self.valid_from_us

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
    author = analyzer.words(memory.attribution.author or "")
    words = author + analyzer.words(memory.content)
    counts = Counter(term_hash(BODY, term) for word in words for term in word.terms)
    terms = {term: min(count, TERM_FREQUENCY_MAX) for term, count in counts.items()}
    terms.update(dict.fromkeys(filter_terms(memory), 1))
    terms.update((term_hash(AUTHOR_WORD, term), 1) for word in author for term in word.terms)
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
        session=session_hash(memory.attribution),
        sequence=sequence_of(memory.id),
        flags=analyzer.flags(memory.content),
        text_key=text_key(memory.id, embedded_text(memory)),
        valid_from_us=None if memory.valid_from is None else to_us(memory.valid_from),
        valid_to_us=None if memory.valid_to is None else to_us(memory.valid_to),
        supersedes=memory.supersedes,
        consolidated_from=memory.consolidated_from,
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


def embedded_text(memory: Memory) -> str:
    """Return the text a memory's vector is made of: its own, with its author.

    Never that of a neighbour: a memory that is forgotten leaves no trace in the vectors of others.
    """
    author = memory.attribution.author
    return f"{author}: {memory.content}" if author else memory.content


def text_key(memory_id: str, text: str) -> int:
    """Return 64 bits that stand for an id and the text that is embedded for it, never 0."""
    return _hash64(f"{memory_id}\0{text}")


def session_hash(attribution: Attribution) -> int:
    """Return 64 bits that stand for the conversation a memory is a turn of, or 0.

    A turn has a speaker: a memory that was merely filed under a session says nothing about its neighbours there. Turns
    of two users are never neighbours, whatever they call their sessions.
    """
    if attribution.session_id is None or attribution.author is None:
        return 0
    return _hash64(f"{attribution.user_id or ''}\0{attribution.session_id}")


def sequence_of(memory_id: str) -> int:
    """Return a number that orders ids as they were meant: by time if they were generated, else by their numbers.

    ``turn-9`` comes before ``turn-10``; of the last two numbers in an id the first counts more.
    """
    if _GENERATED_ID.fullmatch(memory_id):
        return int(memory_id[:16], 16)
    numbers = [min(int(digits[:20]), 2**32 - 1) for digits in _DIGITS.findall(memory_id)[-2:]]
    return sum(number << (32 * place) for place, number in enumerate(reversed(numbers)))


def etag_hash(etag: str) -> int:
    """Return 64 bits of an ETag, never 0 (which stands for unknown)."""
    return _hash64(etag)


def row_digest(memory_id: str, kind_code: int, version: int, etag_hash: int) -> int:
    """Return 128 bits that stand for what a live row says about its memory; sums of them do not depend on order."""
    text = f"{memory_id}\0{kind_code}\0{version}\0{etag_hash}".encode()
    return int.from_bytes(blake2b(text, digest_size=_DIGEST_BYTES).digest(), "little")


def _hash64(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little") or 1
