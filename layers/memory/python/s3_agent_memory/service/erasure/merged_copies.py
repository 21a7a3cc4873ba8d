"""The merged memories that say what some others said: erasing those by their ids must erase these as well."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from s3_agent_memory.domain.consolidation import MERGED_PREFIX
from s3_agent_memory.domain.keys import Namespace, TruthKey, memory_prefix, parse_truth_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.service.erasure.work import document_of, small_pages
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.storage.port import Get, ListedObject, StoredObject

_READ_COUNT: Final = 64


@dataclass(frozen=True, slots=True)
class Copies:
    """What was found among the merged memories of a namespace.

    Attributes:
        doomed: those that were made of one of the ids, directly or through another one; whoever names comes before whom
            it names, so that a process that dies in between leaves nothing that cannot be found again.
        unreadable_keys: those of which nobody knows what they were made of.
    """

    doomed: tuple[tuple[TruthKey, ListedObject], ...]
    unreadable_keys: tuple[str, ...]


def find_copies(runtime: Runtime, namespace: Namespace, ids: Collection[str]) -> Copies:
    """Return the merged memories that were made of some ids, by looking at the objects themselves."""
    named_by: dict[str, tuple[TruthKey, ListedObject, frozenset[str]]] = {}
    unreadable: list[str] = []
    for key, item, document in _merged_objects(runtime, namespace):
        named = _named_ids(document)
        if named is None:
            unreadable.append(item.key)
        else:
            named_by[item.key] = (key, item, named)
    doomed: list[tuple[TruthKey, ListedObject]] = []
    wanted = set(ids)
    # Each round takes at least one away.
    while found := [path for path, (_, _, named) in named_by.items() if not wanted.isdisjoint(named)]:
        for path in found:
            key, item, _ = named_by.pop(path)
            doomed.append((key, item))
            wanted.add(key.memory_id)
    return Copies(tuple(reversed(doomed)), tuple(unreadable))


def _merged_objects(runtime: Runtime, namespace: Namespace) -> Iterator[tuple[TruthKey, ListedObject, object]]:
    """Yield the objects of merged memories with their documents; None for one that is no document."""
    for kind in sorted(Kind):
        for page in small_pages(runtime.store, memory_prefix(namespace, kind) + MERGED_PREFIX, ""):
            for start in range(0, len(page), _READ_COUNT):
                part = page[start : start + _READ_COUNT]
                reads = [Get(item.key, runtime.limits.object_bytes_max) for item in part]
                for item, found in zip(part, runtime.store.read_many(reads), strict=True):
                    key = parse_truth_key(item.key)
                    if key is not None and found is not None:
                        yield key, item, document_of(found.body) if isinstance(found, StoredObject) else None


def _named_ids(document: object) -> frozenset[str] | None:
    """Return the ids that a memory was consolidated from, None if it does not say so in a way that can be read."""
    named = (document.get("consolidated_from") or []) if isinstance(document, Mapping) else None
    if not isinstance(named, list) or not all(isinstance(item, Mapping) for item in named):
        return None
    return frozenset(str(item.get("id")) for item in named)
