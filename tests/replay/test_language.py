"""Texts of many scripts are found by their words and parts; a query without terms finds nothing unrelated."""

import pytest

from s3_agent_memory.bootstrap import MemoryStore

TEXTS = {
    "zh": "用户身份已确认",
    "ja": "東京で寿司を食べました",
    "ko": "서울에서 만났어요",
    "th": "ฉันชอบอาหารไทย",
    "ru": "Сергей живёт в Москве",
    "de": "Anna wohnt in München",
    "fr nfc": "le caf\u00e9 du coin",
    "fr nfd": "un cafe\u0301 noir",
    "mixed": "Bought a NAS 设备 yesterday",
    "en": "The meeting is about quarterly planning",
}


@pytest.fixture
def polyglot(store: MemoryStore) -> MemoryStore:
    """A memory in each script."""
    for name, text in TEXTS.items():
        store.remember("n", text, source=name)
    return store


def found(store: MemoryStore, query: str) -> set[str | None]:
    return {hit.memory.source for hit in store.recall("n", query, limit=100)}


@pytest.mark.parametrize("is_folded", [False, True])
@pytest.mark.parametrize(
    ("query", "name"),
    [
        *[("用户身份", "zh"), ("身份", "zh"), ("用户", "zh"), ("東京で", "ja"), ("東京", "ja"), ("寿司", "ja")],
        *[("서울에서", "ko"), ("서울", "ko"), ("ฉันชอบ", "th"), ("อาหาร", "th"), ("Сергей", "ru"), ("москва", "ru")],
        *[("München", "de"), ("MÜNCHEN", "de"), ("munchen", "de"), ("Mu\u0308nchen", "de"), ("NAS 设备", "mixed")],
        *[("设备", "mixed"), ("nas", "mixed"), ("PLANNING", "en"), ("plans", "en"), ("ＰＬＡＮＮＩＮＧ", "en")],
    ],
)
def test_a_text_is_found_by_a_part_of_it(polyglot: MemoryStore, query: str, name: str, is_folded: bool) -> None:
    if is_folded:
        polyglot.sweep("n")
    assert name in found(polyglot, query)


@pytest.mark.parametrize("query", ["caf\u00e9", "cafe\u0301", "cafe", "CAFÉ"])
def test_both_normal_forms_find_both(polyglot: MemoryStore, query: str) -> None:
    assert found(polyglot, query) == {"fr nfc", "fr nfd"}


@pytest.mark.parametrize("query", ["the is about", "🙂", "🙂 👍🏽", "?!...", "the", "---", "\u200b", "を"])
def test_a_query_without_a_match_finds_nothing_unrelated(polyglot: MemoryStore, query: str) -> None:
    assert found(polyglot, query) <= {"ja"}


@pytest.mark.parametrize("query", ["the is about", "🙂", "?!..."])
def test_a_query_without_terms_finds_nothing(polyglot: MemoryStore, query: str) -> None:
    assert found(polyglot, query) == set()


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_an_empty_query_finds_everything(polyglot: MemoryStore, query: str) -> None:
    assert found(polyglot, query) == set(TEXTS)


@pytest.mark.parametrize("content", ["🙂", "?!", "the", "\u200b."])
def test_a_text_without_terms_can_be_stored_and_listed(store: MemoryStore, content: str) -> None:
    memory = store.remember("n", content)
    assert [item.id for item in store.list("n").memories] == [memory.id]
    assert [hit.memory.id for hit in store.recall("n", "")] == [memory.id]
