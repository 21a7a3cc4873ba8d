"""Garbage collection of index files: replaced ones after their grace, and uploads nobody committed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from s3_agent_memory import names
from s3_agent_memory.domain.keys import Namespace, segment_key, segment_prefix, vector_key, vector_prefix
from s3_agent_memory.index.manifest import Manifest, TrashRef, drop_folds, drop_trash, stamp
from s3_agent_memory.service.grace import (
    ORPHAN_AGE_MS,
    TRASH_CROWDED_COUNT,
    TRASH_CROWDED_GRACE_MS,
    TRASH_GRACE_MS,
)
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.head import HeadStore
from s3_agent_memory.service.stored_index.index_cache import IndexCache

_PAGE_COUNT_MAX: Final = 1_000


class Collector:
    """Deletes index files of one namespace that nobody can need any more."""

    def __init__(self, runtime: Runtime, heads: HeadStore, cache: IndexCache) -> None:
        self._runtime = runtime
        self._heads = heads
        self._cache = cache

    def empty_trash(self, namespace: Namespace, *, at_once: bool = False) -> int:
        """Delete replaced files whose grace is over, and let the grace of others begin; return how many went.

        Args:
            at_once: grant no grace. A fold whose segment is replaced is dropped; its log entries are folded once more.
        """
        manifest = self._heads.load(namespace).manifest
        if at_once:
            manifest = self._heads.commit(namespace, _without_lost_folds) or manifest
        # The segment of a fold names the log entries that are still to be deleted.
        segments = self._due(manifest.trash, at_once=at_once) - {fold.segment_id for fold in manifest.folds}
        vectors = self._due(manifest.vector_trash, at_once=at_once)
        due = segments | vectors
        if due:
            self._delete(namespace, segments=segments, vectors=vectors)
            self._cache.segments.drop(namespace, segments)
            self._cache.vectors.drop(namespace, vectors)
        elif all(item.stamped_ms is not None for item in (*manifest.trash, *manifest.vector_trash)):
            return 0
        self._heads.commit(namespace, lambda fresh: stamp(drop_trash(fresh, due), self._runtime.now_ms()))
        return len(due)

    def _due(self, trash: Sequence[TrashRef], *, at_once: bool) -> frozenset[str]:
        if at_once:
            return frozenset(item.file_id for item in trash)
        is_crowded = len(trash) > TRASH_CROWDED_COUNT
        horizon_ms = self._runtime.now_ms() - (TRASH_CROWDED_GRACE_MS if is_crowded else TRASH_GRACE_MS)
        return frozenset(item.file_id for item in trash if item.stamped_ms is not None and item.stamped_ms < horizon_ms)

    def remove_orphans(self, namespace: Namespace) -> int:
        """Delete index files that no manifest answers for and that are too old to be uploads under way.

        The manifest is swapped first, unchanged but for its version: a writer that stalled between reading it and
        committing an old upload then loses its swap, reads the clock again, and gives up.
        """
        horizon_ms = self._runtime.now_ms() - ORPHAN_AGE_MS
        segments = self._files_older_than(segment_prefix(namespace), names.SEGMENT_SUFFIX, horizon_ms)
        vectors = self._files_older_than(vector_prefix(namespace), names.VECTOR_SUFFIX, horizon_ms)
        manifest = self._heads.load(namespace).manifest
        if segments <= manifest.known_ids and vectors <= manifest.known_vector_ids:
            return 0
        fenced = self._heads.commit(namespace, _bumped)
        if fenced is None:
            return 0
        segments, vectors = segments - fenced.known_ids, vectors - fenced.known_vector_ids
        self._delete(namespace, segments=segments, vectors=vectors)
        return len(segments) + len(vectors)

    def _delete(self, namespace: Namespace, *, segments: frozenset[str], vectors: frozenset[str]) -> None:
        keys = [segment_key(namespace, item) for item in segments] + [vector_key(namespace, item) for item in vectors]
        self._runtime.store.delete_many(sorted(keys))

    def _files_older_than(self, prefix: str, suffix: str, horizon_ms: int) -> frozenset[str]:
        found: set[str] = set()
        start_after = ""
        for _ in range(_PAGE_COUNT_MAX):
            page = self._runtime.store.list_page(prefix, start_after=start_after)
            found.update(
                item.key.removeprefix(prefix).removesuffix(suffix)
                for item in page.objects
                if item.modified_ms < horizon_ms and item.key.endswith(suffix)
            )
            if page.is_last or not page.objects:
                break
            start_after = page.objects[-1].key
        return frozenset(found)


def _bumped(manifest: Manifest) -> Manifest:
    """Return an equal manifest that is a new value, so that it is swapped in under the next version."""
    return replace(manifest)


def _without_lost_folds(manifest: Manifest) -> Manifest:
    """Return the manifest without the folds whose segment is no longer in use: nobody goes by what they took in."""
    return drop_folds(manifest, {fold.segment_id for fold in manifest.folds} - manifest.segment_ids)
