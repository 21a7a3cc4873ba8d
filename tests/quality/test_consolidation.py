"""Consolidation of a planted corpus: it merges what says the same, nothing else, and loses nothing in twenty nights."""

import json
from collections import Counter, defaultdict
from itertools import combinations

import pytest

from s3_agent_memory.bootstrap import MemoryStore, Parts, Settings
from s3_agent_memory.domain.consolidation import MergeState
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.embedding.onnx import OnnxEmbedder
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import SeededEntropy
from tests.layers.built_model import model_directory
from tests.quality.duplicate_corpus import How, Planted, plant

NAMESPACE = "planted"
SEED = 20_261_130
MEMORY_COUNT = 2_000
NIGHT_COUNT = 20
NIGHT_SECONDS = 86_400


def planted_store(corpus: list[Planted], embedder: OnnxEmbedder | None = None) -> tuple[MemoryStore, FakeClock]:
    clock = FakeClock()
    store = Parts(Settings(url="memory://"), embedder=embedder, clock=clock, entropy=SeededEntropy(SEED)).memories
    lines = (
        json.dumps({"id": f"m{number}", "kind": "semantic", "content": item.text, "created_at": "2026-01-01T00:00:00Z"})
        for number, item in enumerate(corpus)
    )
    assert store.import_(NAMESPACE, lines).imported == len(corpus)
    return store, clock


def everything(store: MemoryStore) -> list[Memory]:
    found: list[Memory] = []
    page = store.list(NAMESPACE, limit=100)
    found.extend(page.memories)
    while page.next_cursor:
        page = store.list(NAMESPACE, limit=100, cursor=page.next_cursor)
        found.extend(page.memories)
    return found


def merged_groups(store: MemoryStore) -> list[list[int]]:
    plan = store.plan_consolidation(NAMESPACE)
    return [[int(memory.id[1:]) for memory in item.originals] for item in plan.merges]


def check_precision(groups: list[list[int]], corpus: list[Planted]) -> None:
    wrong = [[corpus[number].text for number in group] for group in groups if len({corpus[n].fact for n in group}) > 1]
    assert wrong == [], f"seed {SEED}: different facts in one group"


def recall_by_kind(groups: list[list[int]], corpus: list[Planted]) -> dict[How, float]:
    """Return which share of the planted duplicates is in one group with another telling of its fact."""
    together = {pair for group in groups for pair in combinations(sorted(group), 2)}
    tellings: dict[int, list[int]] = defaultdict(list)
    for number, item in enumerate(corpus):
        tellings[item.fact].append(number)
    found: Counter[How] = Counter()
    planted: Counter[How] = Counter()
    for number, item in enumerate(corpus):
        others = [other for other in tellings[item.fact] if other != number]
        if item.how is not None and others:
            planted[item.how] += 1
            found[item.how] += any((min(number, other), max(number, other)) in together for other in others)
    return {how: found[how] / planted[how] for how in How}


@pytest.fixture(scope="module")
def corpus() -> list[Planted]:
    return plant(SEED, MEMORY_COUNT)


def test_with_vectors_what_says_the_same_is_merged_and_nothing_else(corpus: list[Planted]) -> None:
    store, _ = planted_store(corpus, OnnxEmbedder(model_directory()))
    groups = merged_groups(store)
    check_precision(groups, corpus)
    recall = recall_by_kind(groups, corpus)
    assert min(recall.values()) >= 0.9, f"seed {SEED}: {recall}"


def test_without_vectors_nothing_else_is_merged_either(corpus: list[Planted]) -> None:
    store, _ = planted_store(corpus)
    groups = merged_groups(store)
    check_precision(groups, corpus)
    recall = recall_by_kind(groups, corpus)
    assert min(recall[How.EXACT], recall[How.CASE]) >= 0.9, f"seed {SEED}: {recall}"


def test_undoing_a_run_restores_every_byte(corpus: list[Planted]) -> None:
    store, _ = planted_store(corpus)
    before = list(store.export(NAMESPACE))
    run = store.consolidate(NAMESPACE)
    assert len(run.in_state(MergeState.MERGED)) > 100
    store.undo_consolidation(NAMESPACE, run.id)
    assert list(store.export(NAMESPACE)) == before
    assert len(everything(store)) == len(corpus)


def test_twenty_nights_in_a_row_lose_no_fact(corpus: list[Planted]) -> None:
    store, clock = planted_store(corpus)
    facts = {item.text: item.fact for item in corpus}
    told = {item.fact for item in corpus}
    visible: list[int] = []
    for night in range(NIGHT_COUNT):
        store.consolidate(NAMESPACE, only_changes=night % 2 == 0)
        clock.advance(NIGHT_SECONDS)
        store.prune_expired(NAMESPACE)
        visible = [facts[memory.content] for memory in everything(store)]
        assert set(visible) == told, f"seed {SEED}, night {night}"
    assert len(list(store.export(NAMESPACE))) == len(visible), "what was merged is forgotten by now"
    assert store.sweep(NAMESPACE).repaired == 0
