"""Rules that read, and compare the whole answer with the dictionary's."""

from collections.abc import Mapping, Sequence
from typing import Final

import pytest
from hypothesis.stateful import rule
from hypothesis.strategies import integers, none, sampled_from

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.errors import NotFoundError
from s3_agent_memory.service.results import Hit
from tests.model import inputs
from tests.model.scorer import RELEVANCE, best_first, bm25_scores, scores
from tests.model.selections import Selection
from tests.model.world import World, ids, processes

SCORE_TOLERANCE: Final = 1e-6
LIMIT_MAX: Final = 100


class Reading(World):
    """Every rule asks the store and the dictionary the same."""

    @rule(process=processes, memory_id=ids, kind=none() | sampled_from(list(Kind)))
    def get(self, process: int, memory_id: str, kind: Kind | None) -> None:
        expected = self.model.visible(memory_id, self.now_us)
        if expected is None or kind not in (None, expected.kind):
            with pytest.raises(NotFoundError):
                self.memories(process).get(self.namespace, memory_id, kind=kind)
        else:
            assert self.memories(process).get(self.namespace, memory_id, kind=kind) == expected

    @rule(process=processes, selection=inputs.selections, limit=integers(1, 6))
    def list_all_pages(self, process: int, selection: Selection, limit: int) -> None:
        expected = sorted(
            self.model.matching(selection, self.now_us).values(),
            key=lambda memory: (memory.updated_at, memory.id),
            reverse=True,
        )
        listed: list[Memory] = []
        cursor: str | None = None
        for number in range(len(expected) // limit + 2):
            # A cursor is as good in one process as in another.
            memories = self.memories((process + number) % 2)
            page = memories.list(self.namespace, limit=limit, cursor=cursor, **selection.arguments())
            listed += page.memories
            cursor = page.next_cursor
            if cursor is None:
                break
        assert cursor is None
        assert listed == expected

    @rule(process=processes, query=inputs.queries, selection=inputs.selections, limit=integers(1, 12))
    def recall(self, process: int, query: str, selection: Selection, limit: int) -> None:
        returned = self.model.matching(selection, self.now_us)
        result = self.memories(process).recall(
            self.namespace, query, limit=limit, explain=True, **selection.arguments()
        )
        bm25 = bm25_scores(self.model.memories.values(), query)
        best = self.best_of(result.hits, bm25, selection)
        found = scores(returned.values(), bm25, best=best, is_empty_query=not query.strip(), now_us=self.now_us)
        assert [hit.memory for hit in result] == [returned[hit.memory.id] for hit in result]
        assert (result.degraded, result.corrupt_keys) == ((), ())
        assert len(result) == min(limit, len(found))
        totals = [found[memory_id].total for memory_id in best_first(found, returned)]
        assert [hit.score for hit in result] == pytest.approx(totals[:limit], abs=SCORE_TOLERANCE)
        assert_in_order(result.hits)
        for hit in result:
            score = found[hit.memory.id]
            parts = {"relevance": score.relevance, "recency": score.recency, "importance": score.importance}
            assert hit.explain is not None
            assert {name: hit.explain[name] for name in parts} == pytest.approx(parts, abs=SCORE_TOLERANCE)

    @rule(query=inputs.queries)
    def recall_everything(self, query: str) -> None:
        """Ask both processes for all there is; a rule of its own, so that it happens often."""
        for process in (0, 1):
            self.recall(process=process, query=query, selection=Selection(), limit=LIMIT_MAX)

    @rule(process=processes, query=inputs.queries, selection=inputs.selections)
    def recall_eventually(self, process: int, query: str, selection: Selection) -> None:
        """Only what is there may be found, and all of it that has not changed since the last fold must be."""
        arguments = {"limit": LIMIT_MAX, **selection.arguments()}
        strong = {hit.memory.id for hit in self.memories(process).recall(self.namespace, query, **arguments)}
        result = self.memories(process).recall(self.namespace, query, consistency="eventual", **arguments)
        expected = self.model.matching(selection, self.now_us)
        found = {hit.memory.id: hit.memory for hit in result}
        assert found.items() <= expected.items()
        assert strong - self.model.unfolded_ids <= found.keys()

    @rule(process=processes)
    def stats(self, process: int) -> None:
        stats = self.memories(process).stats(self.namespace)
        kinds = [memory.kind for memory in self.model.memories.values()]
        assert stats.memories == len(kinds)
        assert stats.by_kind == {kind.value: kinds.count(kind) for kind in Kind}
        assert stats.expired == len(self.model.expired_ids(self.now_us))
        assert stats.digest == self.memories(1 - process).stats(self.namespace).digest

    def best_of(self, hits: Sequence[Hit], bm25: Mapping[str, float], selection: Selection) -> float:
        """Return the BM25 score that has the relevance 1: the best of those that are ranked.

        Equality narrows a search down before it is ranked. What else a filter asks for may be seen on the memory only,
        so the best one may be a memory that is not returned; then the hits say which score it was.
        """
        alive = [memory for memory in self.model.memories.values() if not memory.is_expired(self.now_us)]
        least, most = (
            max((bm25.get(memory.id, 0.0) for memory in alive if is_included(memory)), default=0.0)
            for is_included in (selection.includes, selection.includes_before_ranking)
        )
        explained = hits[0].explain if hits else None
        if not explained or not explained["relevance"]:
            return most or 1.0
        best = RELEVANCE * bm25[hits[0].memory.id] / explained["relevance"]
        assert least - SCORE_TOLERANCE * least <= best <= most + SCORE_TOLERANCE * most
        return best


def assert_in_order(hits: Sequence[Hit]) -> None:
    """Fail unless hits are sorted by score, of equal scores the older first, then the lower id."""
    keys = [(-hit.score, hit.memory.created_at, hit.memory.id) for hit in hits]
    assert keys == sorted(keys)
