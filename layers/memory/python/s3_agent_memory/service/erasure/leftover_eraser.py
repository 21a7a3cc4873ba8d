"""Erasing what lies beside the memories of a namespace: replaced contents, and objects of other folders."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from s3_agent_memory import names
from s3_agent_memory.domain.erasure import Erasure, ErasureCounts
from s3_agent_memory.domain.keys import history_prefix, namespace_prefix
from s3_agent_memory.errors import AccessDeniedError
from s3_agent_memory.service.erasure.work import HasTime, Piece, document_of, is_later, small_pages
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.storage.port import Get, ListedObject, StoredObject

# Beside these nothing in a folder of the system is needed once its memories are gone.
_KEPT_FOLDERS: Final = (names.TOMBSTONE_FOLDER, names.CLAIM_FOLDER)
_INDEX_FILES: Final = (names.HEAD_NAME, names.LOG_FOLDER, names.SEGMENT_FOLDER, names.VECTOR_FOLDER)


class LeftoverEraser:
    """Erases the objects in the system folders of a namespace that are within a scope; those of the index it leaves."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def run(self, erasure: Erasure, has_time: HasTime) -> Iterator[Piece]:
        """Erase piece by piece, from the erasure's cursor on, until all is done or the time is up."""
        for prefix in _prefixes(erasure):
            for page in small_pages(self._runtime.store, prefix, erasure.cursor):
                if not has_time():
                    return
                yield self._erase(erasure, page)
        yield Piece(cursor="")

    def _erase(self, erasure: Erasure, page: Sequence[ListedObject]) -> Piece:
        base = namespace_prefix(erasure.namespace)
        items = [
            item
            for item in page
            if not item.key.removeprefix(base).startswith((*_KEPT_FOLDERS, *_INDEX_FILES))
            and not is_later(item, erasure.since_ms)
        ]
        doomed, unreadable = (items, []) if erasure.scope.is_whole else self._select(erasure, items)
        try:
            # One folder after the other: the store looks for earlier versions below what all keys have in common.
            for _, found in groupby(doomed, key=lambda item: item.key.removeprefix(base).partition("/")[0]):
                self._runtime.store.delete_many([item.key for item in found])
        except AccessDeniedError:
            # A folder that this version does not know is not among what its role may delete.
            return Piece(cursor=page[-1].key, unreadable_keys=(*unreadable, *(item.key for item in doomed)))
        counts = ErasureCounts(
            leftovers=len(doomed), objects=len(doomed), bytes=sum(item.size_bytes for item in doomed)
        )
        return Piece(cursor=page[-1].key, counts=counts, unreadable_keys=tuple(unreadable))

    def _select(self, erasure: Erasure, items: Sequence[ListedObject]) -> tuple[list[ListedObject], list[str]]:
        """Return what is within the scope, and the keys of earlier contents of which nobody knows whose they are."""
        reads = [Get(item.key, self._runtime.limits.object_bytes_max) for item in items]
        contents = history_prefix(erasure.namespace)
        doomed: list[ListedObject] = []
        unreadable: list[str] = []
        for item, found in zip(items, self._runtime.store.read_many(reads), strict=True):
            if not isinstance(found, StoredObject):
                continue
            document = document_of(found.body)
            if _is_memory(document):
                doomed += [item] if erasure.scope.covers(document) else []
            elif item.key.startswith(contents):
                # Of a scope of ids only their own folders are looked at.
                if erasure.scope.ids is None:
                    unreadable.append(item.key)
                else:
                    doomed.append(item)
        return doomed, unreadable


def _prefixes(erasure: Erasure) -> list[str]:
    """Return where to look, in the order of the keys."""
    place, ids = namespace_prefix(erasure.namespace), erasure.scope.ids
    if erasure.scope.is_whole:
        # No namespace below this one begins with an underscore.
        return [place + "_"]
    if ids is not None:
        return sorted(f"{place}{folder}/{item}/" for folder in names.LEFTOVER_FOLDERS for item in ids)
    return sorted(f"{place}{folder}/" for folder in names.LEFTOVER_FOLDERS)


def _is_memory(document: object) -> bool:
    """Return True if a document has the content of a memory; records of the system have none."""
    return isinstance(document, Mapping) and "content" in document
