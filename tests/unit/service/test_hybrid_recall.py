"""Recall by meaning: found without a shared word, at once, and answered by words alone when vectors fail."""

import numpy as np
import pytest

from s3_agent_memory.domain.memory import Attribution
from s3_agent_memory.index import relevance
from tests.fakes.embedder import FakeEmbedder
from tests.unit.service.vector_worlds import open_world
from tests.unit.service.worlds import NAMESPACE

TEXT = "the ferry leaves at noon"


class SynonymEmbedder(FakeEmbedder):
    """Takes one question for the text that answers it."""

    def embed_query(self, text):
        return super().embed_query(TEXT if text == "when does the boat go" else text)


class OppositeEmbedder(FakeEmbedder):
    """Takes every query for the opposite of whatever is stored."""

    def embed(self, texts):
        return np.tile(np.eye(1, self.dimension, dtype=np.float32), (len(texts), 1))

    def embed_query(self, text):
        return -self.embed([text])[0]


def memories_with(embedder):
    world = open_world()
    return world, world.another_process(embedder=embedder).memories


@pytest.mark.parametrize("is_folded", [False, True])
def test_a_paraphrase_of_a_memory_written_a_moment_ago_is_found(is_folded):
    world, memories = memories_with(SynonymEmbedder())
    memories.remember(NAMESPACE, TEXT)
    memories.remember(NAMESPACE, "something else")
    if is_folded:
        world.fold()
    found = memories.recall(NAMESPACE, "when does the boat go")
    assert (found[0].memory.content, found.degraded) == (TEXT, ())


def test_without_the_model_words_still_find_and_the_answer_says_so():
    embedder = FakeEmbedder()
    _, memories = memories_with(embedder)
    memories.remember(NAMESPACE, TEXT)
    embedder.failing = {"ferry"}
    found = memories.recall(NAMESPACE, "ferry")
    assert ([hit.memory.content for hit in found], found.degraded) == ([TEXT], ("vectors",))


def test_a_model_that_changed_its_dimension_under_its_name_is_answered_by_words():
    world, memories = memories_with(FakeEmbedder(dimension=24))
    memories.remember(NAMESPACE, TEXT)
    found = world.another_process(embedder=FakeEmbedder(dimension=16)).memories.recall(NAMESPACE, "ferry")
    assert ([hit.memory.content for hit in found], found.degraded) == ([TEXT], ("vectors",))


def test_a_process_without_a_model_is_not_degraded():
    world, memories = memories_with(FakeEmbedder())
    memories.remember(NAMESPACE, TEXT)
    found = world.another_process().memories.recall(NAMESPACE, "ferry")
    assert ([hit.memory.content for hit in found], found.degraded) == ([TEXT], ())


def test_a_forgotten_memory_is_not_found_by_meaning():
    _, memories = memories_with(SynonymEmbedder())
    written = memories.remember(NAMESPACE, TEXT)
    memories.forget(NAMESPACE, written.id)
    assert list(memories.recall(NAMESPACE, "when does the boat go")) == []


def test_a_filter_applies_to_what_is_near():
    _, memories = memories_with(SynonymEmbedder())
    memories.remember(NAMESPACE, TEXT, tags=["boats"])
    found = memories.recall(NAMESPACE, "when does the boat go", tags=["trains"])
    assert list(found) == []


def test_explain_adds_up():
    _, memories = memories_with(FakeEmbedder())
    memories.remember(NAMESPACE, TEXT)
    (hit,) = memories.recall(NAMESPACE, "ferry at noon", explain=True)
    parts = dict(hit.explain)
    total = [parts.pop(name) for name in ("relevance", "recency", "importance")]
    assert (hit.score, total[0]) == pytest.approx((sum(total), sum(parts.values())))


def test_a_filter_that_only_the_object_can_decide_does_not_starve_a_search(monkeypatch):
    monkeypatch.setattr(relevance, "WORD_CANDIDATE_COUNT", 20)
    world = open_world()
    memories = world.another_process().memories
    for number in range(40):
        memories.remember(NAMESPACE, "coffee", data={"price": number % 2})
    memories.remember(NAMESPACE, "coffee with a great many other words around it", data={"price": 200})
    found = memories.recall(NAMESPACE, "coffee", filter={"data.price": {"$gt": 100}})
    assert [hit.memory.data for hit in found] == [{"price": 200}]


def test_turns_that_a_filter_leaves_out_still_say_what_a_conversation_is_about():
    _, memories = memories_with(OppositeEmbedder())
    turns = [("Ann", "Where did you travel in summer?"), ("Bob", "To Lisbon."), ("Ann", "nice"), ("Bob", "indeed")]
    for author, text in turns:
        memories.remember(NAMESPACE, text, attribution=Attribution(author=author, session_id="s"))
    found = memories.recall(NAMESPACE, "travel summer", filter={"author": "Bob"})
    assert [hit.memory.content for hit in found] == ["To Lisbon.", "indeed"]


def test_a_memory_with_the_word_is_found_however_its_meaning_is_judged():
    _, memories = memories_with(OppositeEmbedder())
    memories.remember(NAMESPACE, "zebra walk at noon")
    assert [hit.memory.content for hit in memories.recall(NAMESPACE, "zebra")] == ["zebra walk at noon"]


def test_vectors_of_another_model_degrade_the_answer():
    world, memories = memories_with(FakeEmbedder("fake/1"))
    memories.remember(NAMESPACE, TEXT)
    world.fold()
    found = world.another_process(embedder=FakeEmbedder("fake/2")).memories.recall(NAMESPACE, "ferry")
    assert found.degraded == ("vectors",)
