"""The same text again is a new memory; nothing is ever deleted or merged unasked."""

import unicodedata

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.errors import ConflictError

TEXT = "Alice likes the Café Müller"
VARIANTS = [
    *[TEXT, TEXT.upper(), f"  {TEXT} ", TEXT.replace(" ", "  "), f"{TEXT}\n", f"{TEXT}.", TEXT.replace(" ", "\u00a0")],
    unicodedata.normalize("NFD", TEXT),
]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_duplicate_is_a_memory_of_its_own(store: MemoryStore, variant: str) -> None:
    first, second = store.remember("n", TEXT), store.remember("n", variant)
    assert first.id != second.id
    assert [store.get("n", memory.id).content for memory in (first, second)] == [TEXT, variant]
    assert store.stats("n").memories == 2


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_duplicate_is_found_with_the_first(store: MemoryStore, variant: str) -> None:
    ids = {store.remember("n", TEXT).id, store.remember("n", variant).id}
    assert {hit.memory.id for hit in store.recall("n", "cafe müller")} == ids


@pytest.mark.parametrize("variant", VARIANTS)
def test_forgetting_a_duplicate_keeps_the_other(store: MemoryStore, variant: str) -> None:
    first, second = store.remember("n", TEXT), store.remember("n", variant)
    store.forget("n", first.id)
    assert [memory.id for memory in store.list("n").memories] == [second.id]


def test_a_text_is_stored_as_it_came(store: MemoryStore) -> None:
    contents = {store.get("n", store.remember("n", variant).id).content for variant in VARIANTS}
    assert contents == set(VARIANTS)


def test_the_same_id_again_is_a_conflict_even_with_the_same_text(store: MemoryStore) -> None:
    store.remember("n", TEXT, id="cafe")
    with pytest.raises(ConflictError, match="the id cafe is in use"):
        store.remember("n", TEXT, id="cafe")
    assert store.get("n", "cafe").version == 1


def test_ids_differ_by_case(store: MemoryStore) -> None:
    store.remember("n", "lower", id="cafe")
    store.remember("n", "upper", id="CAFE")
    assert [store.get("n", memory_id).content for memory_id in ("cafe", "CAFE")] == ["lower", "upper"]
