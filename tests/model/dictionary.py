"""What a namespace must hold, as a dictionary: the rules of the documentation, written a second time."""

from dataclasses import replace
from typing import Any

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.errors import ConflictError, ForgottenError
from tests.model.selections import Selection


class Dictionary:
    """The memories of one namespace.

    Attributes:
        memories: what is stored, expired ones included until they are forgotten.
        kinds: the kind of every id that was ever used; an id stays with its kind for ever.
        deleted_versions: up to which version an id is forgotten.
        unfolded_ids: ids that changed since the log was last folded for certain.
    """

    def __init__(self) -> None:
        self.memories: dict[str, Memory] = {}
        self.kinds: dict[str, Kind] = {}
        self.deleted_versions: dict[str, int] = {}
        self.unfolded_ids: set[str] = set()

    def put(self, memory: Memory) -> None:
        """Store a memory."""
        self.memories[memory.id] = memory
        self.kinds[memory.id] = memory.kind
        self.unfolded_ids.add(memory.id)

    def forget(self, memory_id: str) -> None:
        """Forget a memory; the present version and all before it are dead for ever."""
        memory = self.memories.pop(memory_id, None)
        if memory is not None:
            self.deleted_versions[memory_id] = memory.version
        self.unfolded_ids.add(memory_id)

    def visible(self, memory_id: str, now_us: int) -> Memory | None:
        """Return a memory that may be returned now."""
        memory = self.memories.get(memory_id)
        return None if memory is None or memory.is_expired(now_us) else memory

    def expired_ids(self, now_us: int) -> set[str]:
        """Return the ids of memories that are stored but must not be returned."""
        return {memory.id for memory in self.memories.values() if memory.is_expired(now_us)}

    def matching(self, selection: Selection, now_us: int) -> dict[str, Memory]:
        """Return the memories that a read with this selection may return."""
        return {
            memory.id: memory
            for memory in self.memories.values()
            if not memory.is_expired(now_us) and selection.includes(memory)
        }

    def refusal(self, memory_id: str, kind: Kind, *, resurrect: bool, now_us: int) -> type[Exception] | None:
        """Return the error that a memory under a chosen id must be refused with, or None if it must be stored."""
        if self.kinds.get(memory_id, kind) is not kind or self.visible(memory_id, now_us) is not None:
            return ConflictError
        return None if resurrect or memory_id not in self.kinds else ForgottenError

    def next_version(self, memory_id: str) -> int:
        """Return the version of the next memory under an id that is free; one that has expired is forgotten first."""
        expired = self.memories.get(memory_id)
        return 1 + (self.deleted_versions.get(memory_id, 0) if expired is None else expired.version)


def changed(memory: Memory, change: dict[str, Any]) -> Memory:
    """Return a memory with some fields changed; ``data`` and ``metadata`` merge, and None empties them."""
    fields = dict(change)
    for name, empty in (("data", None), ("metadata", {})):
        if name in fields:
            patch = fields[name]
            fields[name] = empty if patch is None else merge_patch(getattr(memory, name), patch)
    if "tags" in fields:
        fields["tags"] = tuple(dict.fromkeys(fields["tags"]))
    return replace(memory, **fields)


def merge_patch(target: Any, patch: Any) -> Any:
    """Return ``target`` changed by ``patch``: the pseudo code of RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
