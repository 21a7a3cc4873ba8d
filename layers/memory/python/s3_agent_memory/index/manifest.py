"""The manifest (HEAD): one small JSON object that says which immutable index files are in use.

It is the only object that several writers change, and only by compare-and-swap: a change is a function from manifest to
manifest that is applied again to the fresh manifest whenever the swap is lost. The functions here are pure.

Log entries are cleaned up in two phases. A fold names its segment in ``folds``; the segment itself holds the keys of
the log entries it folded. A later commit, which already sees that fold, stamps it; entries stamped longer ago than the
grace may be deleted, then the fold is dropped. A stamp made by the fold's own commit would be wrong: the swap may land
minutes after the stamp was taken. Replaced files go the same way: a later commit stamps them, and their grace begins.

Vector shards are named beside the segments, each with its model. The namespace has one embedding model at a time;
shards of other models stay until its own have caught up, so that a change of the model never leaves a search without.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.errors import CorruptError, ValidationError

SCHEMA_VERSION: Final = 2
MANIFEST_BYTES_MAX: Final = 256 * 1024
MODEL_LENGTH_MAX: Final = 256
_NAME: Final = re.compile(r"[0-9a-z][0-9a-z-]{0,63}")


@dataclass(frozen=True, slots=True)
class SegmentRef:
    """A segment in use: its id, how many rows it holds (deletions included) and its size."""

    id: str
    row_count: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class FoldRef:
    """A segment whose log entries still exist; ``stamped_ms`` is when a later commit first saw it, or None."""

    segment_id: str
    stamped_ms: int | None


@dataclass(frozen=True, slots=True)
class TrashRef:
    """A replaced file that slow readers may still need; ``stamped_ms`` is when a later commit first saw it, or None."""

    file_id: str
    stamped_ms: int | None = None


_Ref = TypeVar("_Ref", FoldRef, TrashRef)


@dataclass(frozen=True, slots=True)
class VectorRef:
    """A vector shard in use: its id, how many vectors it holds, its size, and the model they come from."""

    id: str
    row_count: int
    size_bytes: int
    model: str


@dataclass(frozen=True, slots=True)
class EmbeddingRef:
    """The embedding model of a namespace, and since when it is that."""

    model: str
    since_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One generation of the index.

    Attributes:
        version: how often the manifest was swapped.
        nonce: by which a writer recognises its own swap.
        analyzer: signature of the text analysis all segments share; empty until the first segment.
        segments: the files a reader must load, oldest first.
        folds: segments whose log entries are not cleaned up yet.
        trash: replaced segments.
        embedding: the model that this namespace is embedded with; None until the first vectors.
        vectors: vector shards in use, of any model, oldest first.
        vector_trash: replaced vector shards.
        fence: what was read under a manifest of a lower version may hold what was erased, and is never committed.
    """

    version: int = 0
    nonce: str = ""
    analyzer: str = ""
    segments: tuple[SegmentRef, ...] = ()
    folds: tuple[FoldRef, ...] = ()
    trash: tuple[TrashRef, ...] = ()
    embedding: EmbeddingRef | None = None
    vectors: tuple[VectorRef, ...] = ()
    vector_trash: tuple[TrashRef, ...] = ()
    fence: int = 0

    @property
    def segment_ids(self) -> frozenset[str]:
        """The ids of the segments in use."""
        return frozenset(segment.id for segment in self.segments)

    @property
    def known_ids(self) -> frozenset[str]:
        """The ids of all segments this manifest still answers for: in use, in the trash, or awaiting log clean-up."""
        return (
            self.segment_ids
            | frozenset(item.file_id for item in self.trash)
            | frozenset(item.segment_id for item in self.folds)
        )

    @property
    def vector_ids(self) -> frozenset[str]:
        """The ids of the vector shards in use."""
        return frozenset(shard.id for shard in self.vectors)

    @property
    def known_vector_ids(self) -> frozenset[str]:
        """The ids of all vector shards this manifest still answers for: in use or in the trash."""
        return self.vector_ids | frozenset(item.file_id for item in self.vector_trash)

    @property
    def model(self) -> str:
        """The embedding model of the namespace, empty if it has none yet."""
        return self.embedding.model if self.embedding else ""

    def vectors_of(self, model: str) -> tuple[VectorRef, ...]:
        """Return the shards of one model."""
        return tuple(shard for shard in self.vectors if shard.model == model)


def raise_fence(manifest: Manifest) -> Manifest:
    """Return the manifest that shuts out whoever began reading before it was swapped in, under the next version."""
    return replace(manifest, fence=manifest.version + 1)


def is_fenced(manifest: Manifest, base_version: int) -> bool:
    """Return True if what was read under the manifest of ``base_version`` must not be committed any more."""
    return base_version < manifest.fence


def stamp(manifest: Manifest, now_ms: int) -> Manifest:
    """Stamp all folds and all trash that this manifest shows and no earlier commit has stamped.

    Grace periods run from here. A swap may land long after its clock was read, so it never stamps what it brings.
    """
    stamped = replace(
        manifest,
        folds=_stamped(manifest.folds, now_ms),
        trash=_stamped(manifest.trash, now_ms),
        vector_trash=_stamped(manifest.vector_trash, now_ms),
    )
    # The same value, not an equal one, says that there is nothing to swap in.
    return manifest if stamped == manifest else stamped


def _stamped(refs: tuple[_Ref, ...], now_ms: int) -> tuple[_Ref, ...]:
    return tuple(ref if ref.stamped_ms is not None else replace(ref, stamped_ms=now_ms) for ref in refs)


def drop_folds(manifest: Manifest, segment_ids: Collection[str]) -> Manifest:
    """Drop folds whose log entries are deleted."""
    folds = tuple(fold for fold in manifest.folds if fold.segment_id not in segment_ids)
    return manifest if len(folds) == len(manifest.folds) else replace(manifest, folds=folds)


def add_fold(manifest: Manifest, segment: SegmentRef, *, analyzer: str, has_log_entries: bool) -> Manifest | None:
    """Add the segment of a fold; a fold that is there already changes nothing, one of another analyzer is refused."""
    if segment.id in manifest.known_ids:
        return manifest
    if manifest.analyzer not in ("", analyzer):
        return None
    folds = (*manifest.folds, FoldRef(segment.id, None)) if has_log_entries else manifest.folds
    return replace(manifest, analyzer=analyzer, segments=(*manifest.segments, segment), folds=folds)


def note_fold(manifest: Manifest, segment_id: str) -> Manifest:
    """Note that a segment in use names log entries that still exist; a fold that is noted already changes nothing."""
    if segment_id not in manifest.segment_ids or any(fold.segment_id == segment_id for fold in manifest.folds):
        return manifest
    return replace(manifest, folds=(*manifest.folds, FoldRef(segment_id, None)))


def rename_fold(manifest: Manifest, segment_id: str, new_segment_id: str) -> Manifest:
    """Let a fold name another segment, which has taken over the keys of its log entries."""
    folds = tuple(
        replace(item, segment_id=new_segment_id) if item.segment_id == segment_id else item for item in manifest.folds
    )
    return replace(manifest, folds=folds)


def replace_segments(
    manifest: Manifest, inputs: Collection[str], outputs: tuple[SegmentRef, ...], *, analyzer: str
) -> Manifest | None:
    """Swap ``inputs`` for ``outputs``; None if an input is no longer in use (somebody else replaced it first)."""
    known = manifest.known_ids
    if outputs and all(segment.id in known for segment in outputs):
        return manifest
    if not manifest.segment_ids.issuperset(inputs):
        return None
    kept = tuple(segment for segment in manifest.segments if segment.id not in inputs)
    if kept and manifest.analyzer != analyzer:
        return None
    trash = (*manifest.trash, *map(TrashRef, sorted(inputs)))
    return replace(manifest, analyzer=analyzer, segments=(*outputs, *kept), trash=trash)


def set_embedding(manifest: Manifest, model: str, now_ms: int) -> Manifest:
    """Make ``model`` the embedding model of the namespace; if it is that already nothing changes."""
    return manifest if manifest.model == model else replace(manifest, embedding=EmbeddingRef(model, now_ms))


def add_vectors(manifest: Manifest, shard: VectorRef, now_ms: int) -> Manifest:
    """Add a vector shard; one that is known already changes nothing. The first one decides on the model."""
    if shard.id in manifest.known_vector_ids:
        return manifest
    decided = manifest if manifest.embedding else set_embedding(manifest, shard.model, now_ms)
    return replace(decided, vectors=(*manifest.vectors, shard))


def replace_vectors(
    manifest: Manifest,
    inputs: Collection[str],
    outputs: tuple[VectorRef, ...],
    *,
    witnesses: Collection[str] = (),
) -> Manifest | None:
    """Swap ``inputs`` for ``outputs``; None if an input is no longer in use.

    Args:
        witnesses: shards that must be in use as well, because ``outputs`` leave out what these hold.
    """
    known = manifest.known_vector_ids
    if outputs and all(shard.id in known for shard in outputs):
        return manifest
    if not manifest.vector_ids.issuperset((*inputs, *witnesses)):
        return None
    kept = tuple(shard for shard in manifest.vectors if shard.id not in inputs)
    trash = (*manifest.vector_trash, *map(TrashRef, sorted(inputs)))
    return replace(manifest, vectors=(*outputs, *kept), vector_trash=trash)


def drop_trash(manifest: Manifest, file_ids: Collection[str]) -> Manifest:
    """Drop trash, of segments and of vector shards, whose files are deleted."""
    trash = tuple(item for item in manifest.trash if item.file_id not in file_ids)
    vector_trash = tuple(item for item in manifest.vector_trash if item.file_id not in file_ids)
    if (len(trash), len(vector_trash)) == (len(manifest.trash), len(manifest.vector_trash)):
        return manifest
    return replace(manifest, trash=trash, vector_trash=vector_trash)


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the bytes of a manifest."""
    return encode_json(
        {
            "schema": SCHEMA_VERSION,
            "version": manifest.version,
            "nonce": manifest.nonce,
            "analyzer": manifest.analyzer,
            "segments": [[item.id, item.row_count, item.size_bytes] for item in manifest.segments],
            "folds": [[item.segment_id, item.stamped_ms] for item in manifest.folds],
            "trash": [[item.file_id, item.stamped_ms] for item in manifest.trash],
            "embedding": [manifest.embedding.model, manifest.embedding.since_ms] if manifest.embedding else None,
            "vectors": [[item.id, item.row_count, item.size_bytes, item.model] for item in manifest.vectors],
            "vector_trash": [[item.file_id, item.stamped_ms] for item in manifest.vector_trash],
            **({"fence": manifest.fence} if manifest.fence else {}),
            "totals": {
                "rows": sum(item.row_count for item in manifest.segments),
                "bytes": sum(item.size_bytes for item in manifest.segments),
            },
        }
    )


def decode_manifest(body: bytes, key: str) -> Manifest:
    """Return the manifest stored in ``body``.

    Raises:
        CorruptError: the bytes are no manifest.
    """
    try:
        document = decode_json(body)
        if not isinstance(document, dict) or document.get("schema") != SCHEMA_VERSION:
            raise ValidationError(f"not a manifest of schema {SCHEMA_VERSION}")
        return Manifest(
            version=_integer(document.get("version")),
            nonce=_text(document.get("nonce")),
            analyzer=_text(document.get("analyzer")),
            segments=tuple(
                SegmentRef(_name(item[0]), _integer(item[1]), _integer(item[2]))
                for item in _rows(document.get("segments"), 3)
            ),
            folds=tuple(FoldRef(_name(item[0]), _stamp(item[1])) for item in _rows(document.get("folds"), 2)),
            trash=_trash(document.get("trash")),
            embedding=_embedding(document.get("embedding")),
            vectors=tuple(
                VectorRef(_name(item[0]), _integer(item[1]), _integer(item[2]), _model(item[3]))
                for item in _rows(document.get("vectors"), 4)
            ),
            vector_trash=_trash(document.get("vector_trash")),
            fence=_integer(document.get("fence", 0)),
        )
    except ValidationError as error:
        raise CorruptError(f"{key} holds no readable manifest: {error}", key=key) from error


def _rows(value: object, width: int) -> list[list[object]]:
    if not isinstance(value, list) or not all(isinstance(item, list) and len(item) == width for item in value):
        raise ValidationError("a list is missing or has the wrong shape")
    return value


def _trash(value: object) -> tuple[TrashRef, ...]:
    return tuple(TrashRef(_name(item[0]), _stamp(item[1])) for item in _rows(value, 2))


def _stamp(value: object) -> int | None:
    return None if value is None else _integer(value)


def _embedding(value: object) -> EmbeddingRef | None:
    if value is None:
        return None
    (item,) = _rows([value], 2)
    return EmbeddingRef(_model(item[0]), _integer(item[1]))


def _model(value: object) -> str:
    if not 1 <= len(_text(value)) <= MODEL_LENGTH_MAX:
        raise ValidationError("the name of a model is missing or too long")
    return _text(value)


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValidationError("a number is missing")
    return value


def _name(value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValidationError("the name of a file is missing or malformed")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValidationError("a text is missing")
    return value
