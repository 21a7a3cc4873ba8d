"""The memory store: everything a caller can do with memories, as one object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from s3_agent_memory.domain.clock import to_datetime, to_us
from s3_agent_memory.domain.filters import parse_filter
from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.domain.kinds import Kind, check_kind
from s3_agent_memory.domain.memory import (
    Attribution,
    Memory,
    check_label,
    check_memory,
    check_tags,
    check_version,
    new_expiry,
)
from s3_agent_memory.domain.memory_change import UNSET, MemoryChange, Unset, changed_expiry
from s3_agent_memory.domain.validity import check_moment
from s3_agent_memory.errors import ConflictError, ValidationError
from s3_agent_memory.service.memories.selection import Selection
from s3_agent_memory.service.results import Consistency, MemoryPage, RecallResult
from s3_agent_memory.service.store.base import NamespaceLike
from s3_agent_memory.service.store.maintenance import StoreMaintenance
from s3_agent_memory.service.store.succession import StoreSuccession


class MemoryService(StoreMaintenance, StoreSuccession):
    """Memories of any namespace. Safe for many threads; as many processes as you like may use one store at once.

    A namespace is written ``"users/alice"`` or ``("users", "alice")``. Two namespaces never see each other.
    """

    def remember(
        self,
        namespace: NamespaceLike,
        content: str,
        *,
        kind: Kind | str = Kind.SEMANTIC,
        tags: Iterable[str] = (),
        importance: float = 0.5,
        ttl: float | None = None,
        expires_at: datetime | str | None = None,
        source: str | None = None,
        data: Mapping[str, object] | None = None,
        metadata: Mapping[str, object] | None = None,
        attribution: Attribution | None = None,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        pinned: bool = False,
        id: str | None = None,  # The field is called id everywhere.
        resurrect: bool = False,
    ) -> Memory:
        """Store one memory; when this returns, the next recall anywhere finds it.

        The same text stored again is a new memory. Two PUTs, whatever the size of the namespace.

        Args:
            kind: ``semantic`` (facts), ``episodic`` (events) or ``procedural`` (instructions, preferences).
            importance: 0 to 1.
            ttl: seconds until the memory expires; or give ``expires_at``.
            data: any JSON object; ``recall`` can filter by it.
            valid_from, valid_to: when it is true, if not from now for ever; outside it is found only with ``as_of``.
            pinned: keep it out of every consolidation.
            id: an id of your own; by default a time-ordered one is made.
            resurrect: allow an ``id`` that was forgotten.

        Returns:
            The memory as stored.

        Raises:
            ValidationError: an argument is wrong; nothing was stored.
            ConflictError: the ``id`` is in use.
            UnknownOutcomeError: the storage gave no answer; the memory may be stored.

        Example:
            >>> store = MemoryStore.from_url("memory://")  # doctest: +SKIP
            >>> store.remember("users/alice", "Alice is vegetarian", tags=["food"])  # doctest: +SKIP
        """
        now_us = self._runtime.clock.now_us()
        now = to_datetime(now_us)
        place = parse_namespace(namespace)
        memory = check_memory(
            Memory(
                id=self._runtime.ids.new_id() if id is None else id,
                namespace=place,
                kind=check_kind(kind),
                content=content,
                source=source,
                importance=importance,
                tags=check_tags(tags, self.limits),
                created_at=now,
                updated_at=now,
                expires_at=new_expiry(now_us, ttl, expires_at),
                data=data,
                metadata={} if metadata is None else metadata,
                attribution=attribution or Attribution(),
                valid_from=check_moment(valid_from, field="valid_from"),
                valid_to=check_moment(valid_to, field="valid_to"),
                pinned=pinned,
            ),
            self.limits,
        )
        self._check_room(place)
        if id is None:
            stored = self._services.writer.create(memory)
        else:
            stored = self._services.writer.remember_as(memory, resurrect=resurrect)
        self._services.housekeeper.note_write(place)
        return stored

    def get(self, namespace: NamespaceLike, id: str, *, kind: Kind | str | None = None) -> Memory:
        """Return a memory by id.

        Args:
            kind: saves requests if you know it.

        Raises:
            NotFoundError: there is none, or it has expired or was forgotten.
        """
        return self._services.reader.get(
            parse_namespace(namespace), check_id(id), None if kind is None else check_kind(kind)
        )

    def update(
        self,
        namespace: NamespaceLike,
        id: str,
        *,
        content: str | Unset = UNSET,
        source: str | None | Unset = UNSET,
        importance: float | Unset = UNSET,
        tags: Iterable[str] | Unset = UNSET,
        ttl: float | None | Unset = UNSET,
        expires_at: datetime | str | None | Unset = UNSET,
        data: Mapping[str, object] | None | Unset = UNSET,
        metadata: Mapping[str, object] | None | Unset = UNSET,
        valid_from: datetime | str | None | Unset = UNSET,
        valid_to: datetime | str | None | Unset = UNSET,
        pinned: bool | Unset = UNSET,
        expected_version: int | None = None,
    ) -> Memory:
        """Change a memory; what is not given stays as it is, and so does ``created_at``.

        ``data`` and ``metadata`` merge by RFC 7396: a null removes a key, untouched keys survive; None for the whole
        empties it. ``ttl=None`` or ``expires_at=None`` makes the memory stay for ever.

        Args:
            expected_version: refuse the change if the memory is at another version. Without it a concurrent change
                is kept and this one is applied on top.

        Returns:
            The memory as stored, one version higher.

        Raises:
            NotFoundError: there is no such memory.
            ConflictError: it is not at ``expected_version``.
            ValidationError: nothing is to change, or a value is wrong.
            UnknownOutcomeError: the storage gave no answer; the update may have happened.
        """
        now_us = self._runtime.clock.now_us()
        change = MemoryChange(
            content=content,
            source=source,
            importance=importance,
            tags=UNSET if tags is UNSET else check_tags(tags, self.limits),
            expires_at=changed_expiry(now_us, ttl, expires_at),
            data=data,
            metadata=metadata,
            valid_from=_changed_moment(valid_from, "valid_from"),
            valid_to=_changed_moment(valid_to, "valid_to"),
            pinned=pinned,
        )
        if change.is_empty():
            raise ValidationError("nothing to update: give at least one field")
        if expected_version is not None:
            check_version(expected_version)
        place = parse_namespace(namespace)
        stored = self._services.writer.update(place, check_id(id), change, expected_version=expected_version)
        self._services.housekeeper.note_write(place)
        return stored

    def forget(
        self, namespace: NamespaceLike, id: str, *, reason: str | None = None, expected_version: int | None = None
    ) -> None:
        """Delete a memory; what remains is a tombstone without content. Forgetting twice is the same as once.

        What it superseded does not become true again, and what it was consolidated from is forgotten with it.

        Args:
            reason: kept in the tombstone.
            expected_version: refuse to forget the memory if it is at another version.

        Raises:
            NotFoundError: there never was such a memory.
            ConflictError: it is not at ``expected_version``.
            UnknownOutcomeError: the storage gave no answer; the memory may be gone.
        """
        place = parse_namespace(namespace)
        checked = check_label(reason, self.limits, field_name="reason")
        memory_id = check_id(id)
        version = None if expected_version is None else check_version(expected_version)
        is_forgotten = self._with_sound_index(
            place,
            lambda: self._services.forgetter.forget(
                place, memory_id, reason=checked, only_if=lambda memory: version in (None, memory.version)
            ),
        )
        if not is_forgotten:
            raise ConflictError(f"the memory is not at version {version}; read it again")
        self._services.housekeeper.note_write(place)

    def recall(
        self,
        namespace: NamespaceLike,
        query: str,
        *,
        kind: Kind | str | None = None,
        tags: Iterable[str] = (),
        filter: Mapping[str, object] | None = None,  # noqa: A002
        as_of: datetime | str | None = None,
        limit: int = 10,
        consistency: Consistency | str = Consistency.STRONG,
        explain: bool = False,
    ) -> RecallResult:
        """Return the memories that answer a query best.

        An empty query ranks all memories by recency and importance. A query without a single searchable term (stop
        words, emoji) finds nothing.

        Args:
            kind, tags, filter: only memories of this kind, with all these tags, within this filter (see
                ``domain.filters``); applied before ranking.
            as_of: what was true then; by default what is true now, without what was superseded or consolidated.
            limit: at most so many hits, 1 to 100.
            consistency: ``strong`` sees every acknowledged write; ``eventual`` saves one LIST.
            explain: give each hit the parts of its score.

        Raises:
            ValidationError: an argument is wrong; the message says what is allowed.

        Example:
            >>> for hit in store.recall("users/alice", "what can Alice eat?"):  # doctest: +SKIP
            ...     print(hit.score, hit.memory.content, hit.key)
        """
        place = parse_namespace(namespace)
        text = self._check_query(query)
        selection = self._selection(kind, tags, filter, as_of)
        count = self._check_limit(limit)
        level = _check_consistency(consistency)

        def read() -> RecallResult:
            return self._services.reader.recall(place, text, selection, limit=count, consistency=level, explain=explain)

        return self._with_index(place, read)

    def list(
        self,
        namespace: NamespaceLike,
        *,
        kind: Kind | str | None = None,
        tags: Iterable[str] = (),
        filter: Mapping[str, object] | None = None,  # noqa: A002
        as_of: datetime | str | None = None,
        limit: int = 50,
        cursor: str | None = None,
        consistency: Consistency | str = Consistency.STRONG,
    ) -> MemoryPage:
        """Return one page of memories, most recently updated first.

        Paging to the end meets every memory that does not change meanwhile exactly once.

        Args:
            as_of: what was true then; by default what is true now.
            limit: memories a page, 1 to 100.
            cursor: ``next_cursor`` of the page before.

        Raises:
            ValidationError: an argument is wrong, or the cursor belongs to another list.
        """
        place = parse_namespace(namespace)
        selection = self._selection(kind, tags, filter, as_of)
        count = self._check_limit(limit)
        level = _check_consistency(consistency)
        if cursor is not None and not isinstance(cursor, str):
            raise ValidationError("cursor must be text")

        def read() -> MemoryPage:
            return self._services.reader.list_page(place, selection, limit=count, cursor=cursor, consistency=level)

        return self._with_index(place, read)

    def _selection(
        self,
        kind: Kind | str | None,
        tags: Iterable[str],
        conditions: Mapping[str, object] | None,
        as_of: datetime | str | None,
    ) -> Selection:
        moment = check_moment(as_of, field="as_of")
        return Selection(
            kind=None if kind is None else check_kind(kind),
            tags=check_tags(tags, self.limits),
            conditions=parse_filter(conditions),
            as_of_us=None if moment is None else to_us(moment),
        )

    def _check_query(self, query: object) -> str:
        if not isinstance(query, str):
            raise ValidationError("query must be text")
        self.limits.check("query_length_max", len(query), f"query has {len(query)} characters")
        return query

    def _check_limit(self, limit: object) -> int:
        maximum = self.limits.result_count_max
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= maximum:
            raise ValidationError(f"limit must be a whole number from 1 to {maximum}")
        return limit


def _changed_moment(value: datetime | str | None | Unset, field: str) -> datetime | None | Unset:
    return value if isinstance(value, Unset) else check_moment(value, field=field)


def _check_consistency(value: object) -> Consistency:
    try:
        return Consistency(str(value))
    except ValueError:
        raise ValidationError("consistency must be strong or eventual") from None
