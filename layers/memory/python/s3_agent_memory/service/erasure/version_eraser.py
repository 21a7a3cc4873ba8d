"""Erasing noncurrent versions: what a bucket with versioning keeps behind deleted and replaced objects."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from s3_agent_memory import names
from s3_agent_memory.domain.erasure import Erasure, ErasureCounts
from s3_agent_memory.domain.keys import namespace_prefix
from s3_agent_memory.domain.session_keys import session_prefix
from s3_agent_memory.service.erasure.work import HasTime, Piece, document_of
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.storage.versions import ObjectVersion, VersionedObjectStore, VersionMarker

# Whatever lies here may hold anybody's turns, or is a cache: earlier versions are of no use to anybody.
_MIXED_SESSION_FOLDERS: Final = (names.WINDOW_FOLDER, names.BATCH_FOLDER, names.ATTRIBUTION_NAME.partition("/")[0])
_CONTENT_FOLDERS: Final = (*names.KIND_FOLDERS, *names.LEFTOVER_FOLDERS)
_PAGE_COUNT_MAX: Final = 10_000_000
_BATCH_SIZE: Final = 500


class VersionEraser:
    """Erases the noncurrent versions and the delete markers of what is within a scope.

    Versions go before the markers in front of them, so that nothing comes into sight again in between.
    """

    def __init__(self, runtime: Runtime, versions: VersionedObjectStore) -> None:
        self._runtime = runtime
        self._versions = versions

    def can_list(self, erasure: Erasure) -> bool:
        """Return True if the store lists versions, were there any.

        Raises:
            AccessDeniedError: the credentials do not allow it.
        """
        return self._versions.list_versions(_prefixes(erasure)[0][0]) is not None

    def run(self, erasure: Erasure, has_time: HasTime) -> Iterator[Piece]:
        """Erase piece by piece, from the erasure's cursor on, until all is done or the time is up.

        Raises:
            AccessDeniedError: the credentials do not allow to see versions.
        """
        for prefix, is_content in _prefixes(erasure):
            if prefix + "\x7f" < erasure.cursor:
                continue
            after = erasure.cursor if erasure.cursor.startswith(prefix) else ""
            for group in self._groups(prefix, after):
                if not has_time():
                    return
                yield self._erase(erasure, group, is_content=is_content)
        yield Piece(cursor="")

    def _groups(self, prefix: str, after: str) -> Iterator[list[ObjectVersion]]:
        """Yield whole keys with all their versions, some hundred versions at a time."""
        pending: list[ObjectVersion] = []
        for _, found in groupby(self._listed(prefix, after), key=attrgetter("key")):
            pending += found
            if len(pending) >= _BATCH_SIZE:
                yield pending
                pending = []
        if pending:
            yield pending

    def _listed(self, prefix: str, after: str) -> Iterator[ObjectVersion]:
        marker = VersionMarker(after) if after else None
        for _ in range(_PAGE_COUNT_MAX):
            page = self._versions.list_versions(prefix, marker=marker)
            if page is None:
                return
            yield from page.versions
            marker = page.next_marker
            if marker is None:
                return

    def _erase(self, erasure: Erasure, group: Sequence[ObjectVersion], *, is_content: bool) -> Piece:
        doomed: list[ObjectVersion] = []
        markers: list[ObjectVersion] = []
        for _, found in groupby(group, key=attrgetter("key")):
            versions = list(found)
            gone = self._doomed(erasure, versions, is_content=is_content)
            doomed += gone
            left = [item for item in versions if item not in gone and not item.is_delete_marker]
            # With nothing behind it a marker hides nothing.
            markers += [] if any(not item.is_latest for item in left) else _markers(versions)
        staying = self._versions.delete_versions(doomed)
        kept_keys = {item.key for item in staying}
        freed = [item for item in markers if item.key not in kept_keys]
        staying += self._versions.delete_versions(freed)
        return Piece(cursor=group[-1].key, counts=_counts(doomed, freed, staying))

    def _doomed(self, erasure: Erasure, versions: Sequence[ObjectVersion], *, is_content: bool) -> list[ObjectVersion]:
        noncurrent = [item for item in versions if not item.is_latest and not item.is_delete_marker]
        if not is_content or erasure.scope.is_whole:
            return noncurrent
        # What was deleted lies behind a marker; what lies before it is the life of a memory that is there.
        deleted_ms = max((item.modified_ms for item in _markers(versions)), default=-1)
        return [item for item in noncurrent if item.modified_ms <= deleted_ms and self._covers(erasure, item)]

    def _covers(self, erasure: Erasure, version: ObjectVersion) -> bool:
        size_max = self._runtime.limits.object_bytes_max
        found = self._versions.get_version(version.key, version.version_id, size_max=size_max)
        return found is not None and erasure.scope.covers(document_of(found.body))


def _prefixes(erasure: Erasure) -> list[tuple[str, bool]]:
    """Return prefixes in the order of their keys, and whether the contents of memories lie there."""
    place = namespace_prefix(erasure.namespace)
    talks = session_prefix(erasure.namespace)
    found = [(f"{place}{folder}/", True) for folder in _CONTENT_FOLDERS]
    # The manifest holds names and figures only.
    found += [(f"{place}{folder}/", False) for folder in (names.LOG_FOLDER, names.SEGMENT_FOLDER, names.VECTOR_FOLDER)]
    if erasure.scope.ids is None:
        found += [(f"{talks}{folder}/", False) for folder in _MIXED_SESSION_FOLDERS]
    return sorted(found)


def _markers(versions: Sequence[ObjectVersion]) -> list[ObjectVersion]:
    return [item for item in versions if item.is_delete_marker]


def _counts(
    versions: Sequence[ObjectVersion], markers: Sequence[ObjectVersion], staying: Sequence[ObjectVersion]
) -> ErasureCounts:
    gone = [item for item in versions if item not in staying]
    return ErasureCounts(
        versions=len(gone),
        delete_markers=len(markers) - sum(item.is_delete_marker for item in staying),
        version_bytes=sum(item.size_bytes for item in gone),
        kept_versions=len(staying),
    )
