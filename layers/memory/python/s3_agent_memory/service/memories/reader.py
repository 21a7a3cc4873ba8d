"""Reading memories: get, recall and list. The index proposes; the object itself decides.

Every winner is read again before it is returned: an object that is gone, older than its row, expired, or no longer
within the filter is dropped and the next candidate takes its place. Reading never writes.
"""

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

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
from s3_agent_memory.service.memories.selection import ProposedRow, Selection, Verifier
from s3_agent_memory.service.results import Consistency, Hit, MemoryPage, RecallResult
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.index_reader import IndexReader, View
from s3_agent_memory.service.truth import Truth, decode_present

_REFILL_MAX: Final = 256
_READ_AGAIN_COUNT_MAX: Final = 3


_R = TypeVar("_R", bound=ProposedRow)
_T = TypeVar("_T")


@dataclass(slots=True)
class _Dropped:
    """Candidates that came to nothing: objects that cannot be read, and whether any was gone."""

    corrupt_keys: list[str] = field(default_factory=list)
    has_gone: bool = False


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

        def read(view: View, dropped: _Dropped) -> RecallResult:
            return self._recall_in(view, namespace, query, selection, limit=limit, explain=explain, dropped=dropped)

        return self._read_up_to_date(namespace, consistency, read)

    def _read_up_to_date(
        self, namespace: Namespace, consistency: Consistency, read: Callable[[View, _Dropped], _T]
    ) -> _T:
        """Read, and once more if an object was gone of which the index has news by now.

        A consolidation that is taken back, or settled, between the two looks makes one memory go and others come: an
        answer with neither would lack what was there all the time.
        """
        view = self._index.view(namespace, consistency)
        result = read(view, dropped := _Dropped())
        for _ in range(_READ_AGAIN_COUNT_MAX):
            seen = view.contents
            if not dropped.has_gone:
                break
            view = self._index.view(namespace, consistency)
            if view.contents is seen:
                break
            result = read(view, dropped := _Dropped())
        return result

    def _recall_in(
        self,
        view: View,
        namespace: Namespace,
        query: str,
        selection: Selection,
        *,
        limit: int,
        explain: bool,
        dropped: _Dropped,
    ) -> RecallResult:
        now_us = self._runtime.clock.now_us()
        understood = self._read_query(query, view, selection, now_us)
        if understood is not None and not understood.terms:
            # Everything would be about as near to it as anything else.
            return RecallResult(hits=(), degraded=view.degraded)
        meaning, failed = self._embed(understood, view)
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
                true_at=selection.moment(now_us),
                is_exhaustive=is_exhaustive,
            )
            verifier = Verifier(view.snapshot, selection, now_us)
            hits = self._hits(namespace, ranked, verifier, limit=limit, explain=explain, dropped=dropped)
            # Where most of the best turned out not to be within the filter, the others get their turn.
            if len(hits) >= limit or not ranked.is_capped:
                break
        return RecallResult(
            hits=tuple(hits[:limit]),
            degraded=_merged(view.degraded, failed),
            corrupt_keys=tuple(dict.fromkeys(dropped.corrupt_keys)),
        )

    def _hits(
        self,
        namespace: Namespace,
        ranked: Ranked,
        verifier: Verifier,
        *,
        limit: int,
        explain: bool,
        dropped: _Dropped,
    ) -> list[Hit]:
        """Return at least ``limit`` candidates that are what their rows say, best first, or all there are."""
        hits: list[Hit] = []
        start, size = 0, limit
        while len(hits) < limit and start < ranked.count:
            candidates = ranked.top(start, start + size)
            for candidate, memory in self._verified(namespace, candidates, verifier, dropped):
                parts = candidate.explain() if explain else None
                hits.append(Hit(score=candidate.score, memory=memory, explain=parts))
            start += len(candidates)
            size = min(_REFILL_MAX, 2 * size)
        return hits

    def _read_query(self, query: str, view: View, selection: Selection, now_us: int) -> Query | None:
        if not query.strip():
            return None
        eligibility = Eligibility(
            kind=selection.kind,
            tags=selection.tags,
            conditions=selection.conditions,
            now_us=now_us,
            true_at=selection.moment(now_us),
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

        def read(view: View, dropped: _Dropped) -> MemoryPage:
            return self._list_in(view, namespace, selection, limit=limit, position=position, dropped=dropped)

        return self._read_up_to_date(namespace, consistency, read)

    def _list_in(
        self,
        view: View,
        namespace: Namespace,
        selection: Selection,
        *,
        limit: int,
        position: tuple[int, str] | None,
        dropped: _Dropped,
    ) -> MemoryPage:
        scope = _scope_of(namespace, selection)
        memories: list[Memory] = []
        is_exhausted = False
        # One moment for the whole page: what is true must not change under way.
        now_us = self._runtime.clock.now_us()
        verifier = Verifier(view.snapshot, selection, now_us)
        while len(memories) < limit and not is_exhausted:
            wanted = limit - len(memories)
            candidates = latest(
                view.snapshot,
                kind=selection.kind,
                tags=selection.tags,
                conditions=selection.conditions,
                now_us=now_us,
                before=position,
                limit=wanted + 1,
                true_at=selection.moment(now_us),
            )
            is_exhausted = len(candidates) <= wanted
            page = candidates[:wanted]
            memories.extend(memory for _, memory in self._verified(namespace, page, verifier, dropped))
            if page:
                position = (page[-1].updated_us, page[-1].id)
        next_cursor = None if is_exhausted or position is None else _encode_cursor(position, scope)
        return MemoryPage(
            memories=tuple(memories),
            next_cursor=next_cursor,
            degraded=view.degraded,
            corrupt_keys=tuple(dropped.corrupt_keys),
        )

    def _verified(
        self, namespace: Namespace, candidates: Sequence[_R], verifier: Verifier, dropped: _Dropped
    ) -> Iterator[tuple[_R, Memory]]:
        requests = [self._truth.get_request(namespace, row.kind, row.id) for row in candidates]
        results = self._runtime.store.read_many(requests)
        now_us = self._runtime.clock.now_us()
        for row, result in zip(candidates, results, strict=True):
            try:
                present = decode_present(result, TruthKey(namespace, row.kind, row.id))
            except CorruptError as error:
                dropped.corrupt_keys.append(error.key)
                continue
            dropped.has_gone |= present is None
            if present is None or present.memory.version < row.version or present.memory.is_expired(now_us):
                continue
            if verifier.accepts(row, present.memory):
                yield row, present.memory


def _merged(*names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in names for name in part))


def _scope_of(namespace: Namespace, selection: Selection) -> str:
    """Return a digest of what a cursor belongs to, so that it cannot be used elsewhere by mistake."""
    conditions = [[list(item.path), item.operator, item.value] for item in selection.conditions]
    document = [list(namespace), selection.kind, list(selection.tags), conditions, selection.as_of_us]
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
