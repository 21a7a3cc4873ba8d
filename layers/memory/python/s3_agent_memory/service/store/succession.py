"""What a caller can do with facts that change: put a new one in the place of an old one, and look back."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.domain.kinds import Kind, check_kind
from s3_agent_memory.domain.memory import Attribution, Memory, check_tags, check_version
from s3_agent_memory.domain.memory_change import UNSET, Unset, changed_expiry
from s3_agent_memory.domain.succession import Successor
from s3_agent_memory.domain.validity import check_moment
from s3_agent_memory.service.memories.historian import MemoryHistory
from s3_agent_memory.service.memories.superseder import Supersession
from s3_agent_memory.service.store.base import NamespaceLike, StoreBase


class StoreSuccession(StoreBase):
    """Memories that follow one another."""

    def supersede(
        self,
        namespace: NamespaceLike,
        id: str,
        content: str,
        *,
        kind: Kind | str | Unset = UNSET,
        tags: Iterable[str] | Unset = UNSET,
        importance: float | Unset = UNSET,
        ttl: float | None | Unset = UNSET,
        expires_at: datetime | str | None | Unset = UNSET,
        source: str | None = None,
        data: Mapping[str, object] | None | Unset = UNSET,
        metadata: Mapping[str, object] | None | Unset = UNSET,
        attribution: Attribution | Unset = UNSET,
        pinned: bool | Unset = UNSET,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        new_id: str | None = None,
        expected_version: int | None = None,
    ) -> Memory:
        """Store what is true instead of a memory; that one stays, and is found with ``as_of`` a time before.

        The new memory takes over what is not given, the source left out. The old one is not touched: if it is changed
        later, it counts again beside the new one. Of several that supersede one version, each is true until the next
        one begins.

        Args:
            id: the memory that is no longer true.
            valid_from: since when the new one is true; None for now. If something later has taken the place of the old
                one already, the new one ends when that begins.
            new_id: an id of your own for the new memory; by default a time-ordered one is made.
            expected_version: refuse if the old memory is at another version.

        Returns:
            The new memory as stored.

        Raises:
            NotFoundError: there is no such memory, or it was forgotten.
            ConflictError: it is not at ``expected_version``, or ``new_id`` is in use.
            ValidationError: an argument is wrong; nothing was stored.
            UnknownOutcomeError: the storage gave no answer; the new memory may be stored.

        Example:
            >>> home = store.remember("users/alice", "Alice lives in Oslo")  # doctest: +SKIP
            >>> store.supersede("users/alice", home.id, "Alice lives in Rome")  # doctest: +SKIP
        """
        place = parse_namespace(namespace)
        memory_id = check_id(id)
        wanted = Supersession(
            successor=Successor(
                content=content,
                kind=kind if isinstance(kind, Unset) else check_kind(kind),
                source=source,
                importance=importance,
                tags=tags if isinstance(tags, Unset) else check_tags(tags, self.limits),
                expires_at=changed_expiry(self._runtime.clock.now_us(), ttl, expires_at),
                data=data,
                metadata=metadata,
                attribution=attribution,
                pinned=pinned,
                valid_from=check_moment(valid_from, field="valid_from"),
                valid_to=check_moment(valid_to, field="valid_to"),
            ),
            new_id=None if new_id is None else check_id(new_id),
            expected_version=None if expected_version is None else check_version(expected_version),
        )
        self._check_room(place)
        stored = self._with_index(place, lambda: self._services.superseder.supersede(place, memory_id, wanted))
        self._services.housekeeper.note_write(place)
        return stored

    def history(self, namespace: NamespaceLike, id: str) -> MemoryHistory:
        """Return the versions of a memory, what it took the place of, and what took its place.

        Raises:
            NotFoundError: there is no such memory, or it has expired or was forgotten; then no version is left either.
        """
        place = parse_namespace(namespace)
        memory_id = check_id(id)
        return self._with_index(place, lambda: self._services.historian.history(place, memory_id))
