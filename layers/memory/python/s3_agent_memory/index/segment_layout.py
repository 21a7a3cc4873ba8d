"""How rows and postings become the columns of a segment file; building and merging both end here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from s3_agent_memory.errors import ValidationError
from s3_agent_memory.index.column_file import Column, encode_columns
from s3_agent_memory.index.id_table import IdTable
from s3_agent_memory.index.row import DIGEST_MODULUS
from s3_agent_memory.index.sparse_rows import SparseRows

MAGIC: Final = b"S3AMSEG\x01"
SCHEMA_VERSION: Final = 2

COLUMN_DTYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "id_offsets": ("u4",),
    "id_bytes": ("u1",),
    "id_hashes": ("u8",),
    "id_order": ("u4",),
    "kinds": ("u1",),
    "ranks": ("u8",),
    "etag_hashes": ("u8",),
    "created_us": ("i8",),
    "updated_us": ("i8",),
    "expires_us": ("i8",),
    "importances": ("f4",),
    "lengths": ("u1", "u2", "u4"),
    "sessions": ("u8",),
    "sequences": ("u8",),
    "flags": ("u1",),
    "text_keys": ("u8",),
    "term_hashes": ("u8",),
    "term_offsets": ("u4",),
    "postings": ("u4",),
}

# A posting is one number: 24 bits of position, 8 bits of frequency.
TF_BITS: Final = 8
ROW_COUNT_MAX: Final = 1 << 24
_POSTING_BITS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class RowColumns:
    """The columns of rows, one element a row; ``Segment`` says what each holds. ``ids`` are NUL-padded bytes."""

    ids: npt.NDArray[np.bytes_]
    id_hashes: npt.NDArray[np.uint64]
    kinds: npt.NDArray[np.uint8]
    ranks: npt.NDArray[np.uint64]
    etag_hashes: npt.NDArray[np.uint64]
    created_us: npt.NDArray[np.int64]
    updated_us: npt.NDArray[np.int64]
    expires_us: npt.NDArray[np.int64]
    importances: npt.NDArray[np.float32]
    lengths: npt.NDArray[np.unsignedinteger]
    sessions: npt.NDArray[np.uint64]
    sequences: npt.NDArray[np.uint64]
    flags: npt.NDArray[np.uint8]
    text_keys: npt.NDArray[np.uint64]

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of all parts, one part after the other."""
        return cls(**{item.name: np.concatenate([getattr(part, item.name) for part in parts]) for item in fields(cls)})

    def take(self, positions: npt.NDArray[np.integer]) -> Self:
        """Return the rows at some positions, in that order."""
        return type(self)(**{item.name: getattr(self, item.name)[positions] for item in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """Postings in any order: each is a term (index into ``vocabulary``, ascending hashes), a row and a frequency."""

    vocabulary: npt.NDArray[np.uint64]
    terms: npt.NDArray[np.integer]
    docs: npt.NDArray[np.integer]
    tfs: npt.NDArray[np.uint8]


def encode_segment(
    rows: RowColumns,
    postings: Postings,
    sparse: SparseRows,
    *,
    digest: int,
    analyzer_signature: str,
    folded_keys: Sequence[str],
) -> bytes:
    """Return the bytes of a segment; ``rows`` are sorted by (created, id), and hold each id once.

    Args:
        digest: sum of the digests of the live rows.

    Raises:
        ValidationError: there are more rows than a segment can hold.
    """
    if len(rows.ids) > ROW_COUNT_MAX:
        raise ValidationError(f"a segment holds at most {ROW_COUNT_MAX} rows")
    table = IdTable.of_hashed(rows.ids.tolist(), rows.id_hashes)
    columns: dict[str, Column] = {
        "id_offsets": table.offsets,
        "id_bytes": table.blob,
        "id_hashes": table.hashes,
        "id_order": table.order,
        "kinds": rows.kinds,
        "ranks": rows.ranks,
        "etag_hashes": rows.etag_hashes,
        "created_us": rows.created_us,
        "updated_us": rows.updated_us,
        "expires_us": rows.expires_us,
        "importances": rows.importances,
        "lengths": rows.lengths.astype(np.min_scalar_type(int(rows.lengths.max(initial=0)))),
        "sessions": rows.sessions,
        "sequences": rows.sequences,
        "flags": rows.flags,
        "text_keys": rows.text_keys,
        **_posting_columns(postings),
        **sparse.columns(),
    }
    header = {
        "schema": SCHEMA_VERSION,
        "analyzer": analyzer_signature,
        "folded_keys": list(folded_keys),
        "digest": f"{digest % DIGEST_MODULUS:032x}",
    }
    return encode_columns(MAGIC, header, columns)


def posting_docs(postings: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Return the positions of postings."""
    return postings >> np.uint32(TF_BITS)


def posting_tfs(postings: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    """Return how often the term of each posting occurs in its row."""
    return postings.astype(np.uint8)


def _posting_columns(postings: Postings) -> dict[str, Column]:
    packed = postings.terms.astype(np.uint64) << np.uint64(_POSTING_BITS)
    packed |= postings.docs.astype(np.uint64) << np.uint64(TF_BITS)
    packed |= postings.tfs
    # A merge gives one sorted run a segment, which a stable sort only has to merge.
    packed.sort(kind="stable")
    counts = np.bincount(postings.terms, minlength=len(postings.vocabulary))
    is_used = counts > 0
    offsets = np.zeros(int(is_used.sum()) + 1, np.uint32)
    np.cumsum(counts[is_used], out=offsets[1:])
    # The term is in the upper half, which the narrower type leaves out.
    return {
        "term_hashes": postings.vocabulary[is_used],
        "term_offsets": offsets,
        "postings": packed.astype(np.uint32),
    }
