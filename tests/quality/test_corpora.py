"""Corpora are read into one form; the samples are made up in the forms of the public ones."""

import json
from pathlib import Path

import pytest

from benchmarks.quality_corpora import LOCOMO, NOTES_NAME, Corpus, pool, read_corpora, read_locomo, thin

DIALOGUE = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ann",
        "session_10": [{"speaker": "Bo", "dia_id": "D10:1", "text": "Bye", "blip_caption": "a red kite"}],
        "session_10_date_time": "12:05 am on 3 June, 2024",
        "session_2": [
            {"speaker": "Ann", "dia_id": "D2:1", "text": "Hello"},
            {"speaker": "Bo", "dia_id": "D2:2", "text": "I fly kites"},
        ],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
    },
    "qa": [
        {"question": "What does Bo fly?", "category": 4, "evidence": ["D2:02; D10:1", "D99:1"]},
        {"question": "Nothing in the dialogue?", "category": 1, "evidence": ["D99:1"]},
        {"question": "A trap?", "category": 5, "evidence": ["D2:1"]},
    ],
}


@pytest.fixture
def locomo(tmp_path: Path) -> Corpus:
    path = tmp_path / "locomo10.json"
    path.write_text(json.dumps([DIALOGUE]), "utf-8")
    return read_locomo(path)


def test_turns_come_in_the_order_of_the_conversations(locomo: Corpus) -> None:
    assert [item.id for item in locomo.spaces[0].items] == ["D2.1", "D2.2", "D10.1"]


def test_a_turn_has_its_author_conversation_and_time(locomo: Corpus) -> None:
    item = locomo.spaces[0].items[1]
    assert (item.author, item.session, item.created_at) == ("Bo", "conv-1/session_2", "2023-05-08T13:56:01+00:00")


def test_the_caption_of_an_image_follows_the_text(locomo: Corpus) -> None:
    assert locomo.spaces[0].items[2].text == "Bye [image: a red kite]"


def test_evidence_is_read_whatever_its_form_and_kept_if_the_dialogue_has_it(locomo: Corpus) -> None:
    assert [(one.text, one.gold, one.type) for one in locomo.spaces[0].questions] == [
        ("What does Bo fly?", frozenset({"D2.2", "D10.1"}), "single-hop")
    ]


def test_pooled_ids_name_their_dialogue(locomo: Corpus) -> None:
    (space,) = pool(locomo, "pooled").spaces
    assert space.items[0].id == "conv-1.D2.1"
    assert space.questions[0].gold == {"conv-1.D2.2", "conv-1.D10.1"}


def test_a_directory_without_corpora_leaves_the_notes_of_this_project(tmp_path: Path) -> None:
    assert [corpus.name for corpus in read_corpora(tmp_path)] == [NOTES_NAME]


def test_a_directory_with_a_corpus_adds_it(tmp_path: Path) -> None:
    (tmp_path / "locomo10.json").write_text(json.dumps([DIALOGUE]), "utf-8")
    assert [corpus.name for corpus in read_corpora(tmp_path)] == [LOCOMO, NOTES_NAME]


def test_a_thin_corpus_keeps_its_memories_and_some_questions() -> None:
    (notes,) = read_corpora(None)
    (space,) = thin(notes, step=5).spaces
    assert (len(space.items), len(space.questions)) == (300, 20)
