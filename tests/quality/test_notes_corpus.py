"""The notes that guard against tuning to chat are what they claim to be."""

from collections import Counter

import pytest

from benchmarks.quality_corpora import LANGUAGES, NOTES, Corpus, read_document

CORPORA = [read_document(NOTES, "notes"), read_document(LANGUAGES, "languages")]


@pytest.fixture(scope="module")
def notes() -> Corpus:
    return CORPORA[0]


def test_the_notes_are_300_memories_and_100_questions(notes: Corpus) -> None:
    (space,) = notes.spaces
    assert (len(space.items), len(space.questions)) == (300, 100)


def test_a_note_has_5_to_60_words(notes: Corpus) -> None:
    lengths = {item.id: len(item.text.split()) for item in notes.spaces[0].items}
    assert {name: length for name, length in lengths.items() if not 5 <= length <= 60} == {}


def test_notes_are_of_every_kind_and_belong_to_no_conversation(notes: Corpus) -> None:
    items = notes.spaces[0].items
    assert {item.kind for item in items} == {"semantic", "episodic", "procedural"}
    assert {(item.author, item.session) for item in items} == {(None, None)}


def test_at_least_half_of_the_questions_use_other_words_than_the_note(notes: Corpus) -> None:
    types = Counter(question.type for question in notes.spaces[0].questions)
    assert types["paraphrase"] >= 50, types


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_every_answer_is_a_memory_of_its_space(corpus: Corpus) -> None:
    for space in corpus.spaces:
        ids = {item.id for item in space.items}
        assert [question.text for question in space.questions if not question.gold <= ids] == []
        assert {len(question.gold) for question in space.questions} <= {1, 2, 3}


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_ids_and_texts_are_unique(corpus: Corpus) -> None:
    for space in corpus.spaces:
        assert len({item.id for item in space.items}) == len({item.text for item in space.items}) == len(space.items)
