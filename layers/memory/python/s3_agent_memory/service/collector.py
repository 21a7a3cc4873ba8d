"""Garbage collection of index files: replaced segments after their grace, and uploads nobody committed."""

from dataclasses import replace
from typing import Final

from s3_agent_memory import names
from s3_agent_memory.domain.keys import Namespace, segment_key, segment_prefix
from s3_agent_memory.index.manifest import Manifest, drop_trash, stamp_folds
from s3_agent_memory.service.grace import (
    ORPHAN_AGE_MS,
    TRASH_CROWDED_COUNT,
    TRASH_CROWDED_GRACE_MS,
    TRASH_GRACE_MS,
)
from s3_agent_memory.service.head import HeadStore
from s3_agent_memory.service.index_cache import IndexCache
from s3_agent_memory.service.runtime import Runtime

_PAGE_COUNT_MAX: Final = 1_000


class Collector:
    """Deletes index files of one namespace that nobody can need any more."""

    def __init__(self, runtime: Runtime, heads: HeadStore, cache: IndexCache) -> None:
        self._runtime = runtime
        self._heads = heads
        self._cache = cache

    def empty_trash(self, namespace: Namespace) -> int:
        """Delete replaced segments whose grace is over; return how many."""
        manifest = self._heads.load(namespace).manifest
        due = self._due(manifest)
        if not due:
            return 0
        self._runtime.store.delete_many([segment_key(namespace, segment_id) for segment_id in sorted(due)])
        self._cache.drop_segments(namespace, due)
        self._heads.commit(namespace, lambda fresh: stamp_folds(drop_trash(fresh, due), self._runtime.now_ms()))
        return len(due)

    def _due(self, manifest: Manifest) -> frozenset[str]:
        is_crowded = len(manifest.trash) > TRASH_CROWDED_COUNT
        grace_ms = TRASH_CROWDED_GRACE_MS if is_crowded else TRASH_GRACE_MS
        horizon_ms = self._runtime.now_ms() - grace_ms
        # The segment of a fold names the log entries that are still to be deleted.
        pending = {fold.segment_id for fold in manifest.folds}
        return frozenset(
            item.segment_id
            for item in manifest.trash
            if item.trashed_ms < horizon_ms and item.segment_id not in pending
        )

    def remove_orphans(self, namespace: Namespace) -> int:
        """Delete segments that no manifest answers for and that are too old to be uploads under way.

        The manifest is swapped first, unchanged but for its version: a writer that stalled between reading it and
        committing an old upload then loses its swap, reads the clock again, and gives up.
        """
        horizon_ms = self._runtime.now_ms() - ORPHAN_AGE_MS
        old = self._files_older_than(namespace, horizon_ms)
        if not old - self._heads.load(namespace).manifest.known_ids:
            return 0
        fenced = self._heads.commit(namespace, _bumped)
        orphans = old - (fenced.known_ids if fenced else old)
        self._runtime.store.delete_many([segment_key(namespace, segment_id) for segment_id in sorted(orphans)])
        return len(orphans)

    def _files_older_than(self, namespace: Namespace, horizon_ms: int) -> frozenset[str]:
        prefix = segment_prefix(namespace)
        found: set[str] = set()
        start_after = ""
        for _ in range(_PAGE_COUNT_MAX):
            page = self._runtime.store.list_page(prefix, start_after=start_after)
            found.update(
                item.key.removeprefix(prefix).removesuffix(names.SEGMENT_SUFFIX)
                for item in page.objects
                if item.modified_ms < horizon_ms and item.key.endswith(names.SEGMENT_SUFFIX)
            )
            if page.is_last or not page.objects:
                break
            start_after = page.objects[-1].key
        return frozenset(found)


def _bumped(manifest: Manifest) -> Manifest:
    """Return an equal manifest that is a new value, so that it is swapped in under the next version."""
    return replace(manifest)
