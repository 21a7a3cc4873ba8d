"""Reading memories: get, recall and list. The index proposes; the object itself decides.

Every winner is read again before it is returned: an object that is gone, older than its row, expired, or no longer
within the filter is dropped and the next candidate takes its place. Reading never writes.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from s3_agent_memory.domain.filters import Condition, matches
from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.domain.keys import Namespace, TruthKey
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.ranking import Ranking
from s3_agent_memory.embedding.port import Embedder
from s3_agent_memory.errors import CorruptError, EmbeddingError, NotFoundError, ValidationError
from s3_agent_memory.index.eligibility import Eligibility
from s3_agent_memory.index.query import Query, read_query
from s3_agent_memory.index.relevance import Meaning
from s3_agent_memory.index.searcher import Ranked, latest, search
from s3_agent_memory.service.index_reader import IndexReader, View
from s3_agent_memory.service.results import Consistency, Hit, MemoryPage, RecallResult
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.truth import Truth, decode_present

_REFILL_MAX: Final = 256


class _Row(Protocol):
    """What both kinds of candidate have in common."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def version(self) -> int: ...


_R = TypeVar("_R", bound=_Row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which memories a read may return: of one kind, with all these tags, within the filter."""

    kind: Kind | None = None
    tags: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()

    def includes(self, memory: Memory) -> bool:
        """Return True if the memory as stored now is among them."""
        is_kind = self.kind is None or memory.kind is self.kind
        return is_kind and set(self.tags) <= set(memory.tags) and matches(memory, self.conditions)


class MemoryReader:
    """Reads memories of any namespace."""

    def __init__(
        self, runtime: Runtime, truth: Truth, index: IndexReader, *, ranking: Ranking, embedder: Embedder | None = None
    ) -> None:
        self._runtime = runtime
        self._truth = truth
        self._index = index
        self._ranking = ranking
        self._embedder = embedder

    def get(self, namespace: Namespace, memory_id: str, kind: Kind | None = None) -> Memory:
        """Return a memory by id.

        Raises:
            NotFoundError: there is none, or it has expired or was forgotten.
            CorruptError: its object cannot be read.
        """
        memory = self._truth.live(namespace, memory_id, kind)
        if memory is None or memory.is_expired(self._runtime.clock.now_us()):
            raise NotFoundError(f"there is no memory {memory_id}")
        return memory

    def recall(
        self,
        namespace: Namespace,
        query: str,
        selection: Selection,
        *,
        limit: int,
        consistency: Consistency,
        explain: bool,
    ) -> RecallResult:
        """Return the best memories for a query; see ``MemoryService.recall``."""
        view = self._index.view(namespace, consistency)
        now_us = self._runtime.clock.now_us()
        understood = self._read_query(query, view, selection, now_us)
        meaning, failed = self._embed(understood, view)
        corrupt: list[str] = []
        hits: list[Hit] = []
        for is_exhaustive in (False, True):
            ranked = search(
                view.snapshot,
                understood,
                meaning=meaning,
                kind=selection.kind,
                tags=selection.tags,
                conditions=selection.conditions,
                ranking=self._ranking,
                now_us=now_us,
                is_exhaustive=is_exhaustive,
            )
            hits = self._hits(namespace, ranked, selection, limit=limit, explain=explain, corrupt=corrupt)
            # Where most of the best turned out not to be within the filter, the others get their turn.
            if len(hits) >= limit or not ranked.is_capped:
                break
        return RecallResult(
            hits=tuple(hits[:limit]),
            degraded=_merged(view.degraded, failed),
            corrupt_keys=tuple(dict.fromkeys(corrupt)),
        )

    def _hits(
        self,
        namespace: Namespace,
        ranked: Ranked,
        selection: Selection,
        *,
        limit: int,
        explain: bool,
        corrupt: list[str],
    ) -> list[Hit]:
        """Return at least ``limit`` candidates that are what their rows say, best first, or all there are."""
        hits: list[Hit] = []
        start, size = 0, limit
        while len(hits) < limit and start < ranked.count:
            candidates = ranked.top(start, start + size)
            for candidate, memory in self._verified(namespace, candidates, selection, corrupt):
                parts = candidate.explain() if explain else None
                hits.append(Hit(score=candidate.score, memory=memory, explain=parts))
            start += len(candidates)
            size = min(_REFILL_MAX, 2 * size)
        return hits

    def _read_query(self, query: str, view: View, selection: Selection, now_us: int) -> Query | None:
        if not query.strip():
            return None
        eligibility = Eligibility(
            kind=selection.kind, tags=selection.tags, conditions=selection.conditions, now_us=now_us
        )
        return read_query(
            query,
            view.snapshot,
            analyzer=view.analyzer,
            signals=self._ranking.signals,
            eligibility=eligibility,
        )

    def _embed(self, query: Query | None, view: View) -> tuple[Meaning | None, tuple[str, ...]]:
        """Return the vector of a query beside those of the memories; and what the answer has to do without."""
        if query is None or view.vectors is None or self._embedder is None:
            return None, ()
        if not view.vectors.vector_count:
            # Vectors of another model are none that this process could use.
            return None, ("vectors",) if view.head.manifest.model not in ("", self._embedder.name) else ()
        try:
            vector = self._embedder.embed_query(query.text)
        except EmbeddingError:
            return None, ("vectors",)
        if vector.shape != (view.vectors.dimension,):
            # Somebody gave another model the same name.
            return None, ("vectors",)
        return Meaning(vector, view.vectors), ()

    def list_page(
        self, namespace: Namespace, selection: Selection, *, limit: int, cursor: str | None, consistency: Consistency
    ) -> MemoryPage:
        """Return one page of memories, most recently updated first; see ``MemoryService.list``."""
        scope = _scope_of(namespace, selection)
        position = None if cursor is None else _decode_cursor(cursor, scope)
        view = self._index.view(namespace, consistency)
        memories: list[Memory] = []
        corrupt: list[str] = []
        is_exhausted = False
        while len(memories) < limit and not is_exhausted:
            wanted = limit - len(memories)
            candidates = latest(
                view.snapshot,
                kind=selection.kind,
                tags=selection.tags,
                conditions=selection.conditions,
                now_us=self._runtime.clock.now_us(),
                before=position,
                limit=wanted + 1,
            )
            is_exhausted = len(candidates) <= wanted
            page = candidates[:wanted]
            memories.extend(memory for _, memory in self._verified(namespace, page, selection, corrupt))
            if page:
                position = (page[-1].updated_us, page[-1].id)
        next_cursor = None if is_exhausted or position is None else _encode_cursor(position, scope)
        return MemoryPage(
            memories=tuple(memories),
            next_cursor=next_cursor,
            degraded=view.degraded,
            corrupt_keys=tuple(corrupt),
        )

    def _verified(
        self, namespace: Namespace, candidates: Sequence[_R], selection: Selection, corrupt: list[str]
    ) -> Iterator[tuple[_R, Memory]]:
        requests = [self._truth.get_request(namespace, row.kind, row.id) for row in candidates]
        results = self._runtime.store.read_many(requests)
        now_us = self._runtime.clock.now_us()
        for row, result in zip(candidates, results, strict=True):
            try:
                present = decode_present(result, TruthKey(namespace, row.kind, row.id))
            except CorruptError as error:
                corrupt.append(error.key)
                continue
            if present is None or present.memory.version < row.version or present.memory.is_expired(now_us):
                continue
            if selection.includes(present.memory):
                yield row, present.memory


def _merged(*names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in names for name in part))


def _scope_of(namespace: Namespace, selection: Selection) -> str:
    """Return a digest of what a cursor belongs to, so that it cannot be used elsewhere by mistake."""
    conditions = [[list(item.path), item.operator, item.value] for item in selection.conditions]
    document = [list(namespace), selection.kind, list(selection.tags), conditions]
    return hashlib.blake2b(encode_json(document), digest_size=8).hexdigest()


def _encode_cursor(position: tuple[int, str], scope: str) -> str:
    return base64.urlsafe_b64encode(encode_json([*position, scope])).decode().rstrip("=")


def _decode_cursor(cursor: str, scope: str) -> tuple[int, str]:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        document = decode_json(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (UnicodeEncodeError, binascii.Error, ValueError, ValidationError):
        document = None
    if isinstance(document, list) and len(document) == 3:
        updated_us, memory_id, cursor_scope = document
        is_position = type(updated_us) is int and 0 <= updated_us < 2**63 and isinstance(memory_id, str)
        if is_position and cursor_scope == scope:
            return updated_us, memory_id
    raise ValidationError("cursor must be the next_cursor of a page of the same list, with the same filters")
