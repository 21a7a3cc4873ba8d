"""Texts and queries become the same terms, in every language."""

import threading
import unicodedata

import pytest

from s3_agent_memory.errors import ValidationError
from s3_agent_memory.index.text.analyzer import Analyzer

ENGLISH = Analyzer()


def finds(query: str, text: str, language: str = "english") -> bool:
    analyzer = Analyzer(language)
    return bool(set(analyzer.terms(query)) & set(analyzer.terms(text)))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The quick brown foxes", ["quick", "brown", "fox"]),
        ("running RUNS runner", ["run", "run", "runner"]),
        ("Sergey's dog, the dogs' bowl", ["sergey", "dog", "dog", "bowl"]),
        ("Sergey\u2019s don't", ["sergey"]),
        ("room 101, v2 and 3.14", ["room", "101", "v2", "3", "14"]),
        ("snake_case user@example.com", ["snake", "case", "user", "exampl", "com"]),
        ("ＦＵＬＬ width ½ m²", ["full", "width", "1", "2", "m2"]),
        ("٣٤ ४", ["34", "4"]),
        ("co\u00adoperate", ["cooper"]),
        ("用户身份", ["用户", "户身", "身份"]),
        ("茶", ["茶"]),
        ("NAS设备", ["nas", "设备"]),
        ("東京で買う", ["東京", "で", "買", "う"]),
        ("ケーキ iPhone", ["ケー", "ーキ", "iphon"]),
        ("서울에서", ["서울", "울에", "에서"]),
    ],
)
def test_terms_of_a_text(text, terms):
    assert ENGLISH.terms(text) == terms


@pytest.mark.parametrize("text", ["", "   ", "!?… —", "😀🎉❤️", "the of and", "I am", "'s"])
def test_text_without_meaning_has_no_terms(text):
    assert ENGLISH.terms(text) == []


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("münchen", "München ist schön"),
        ("MUNCHEN", "Ich war in München"),
        ("München", "a flat in Munchen"),
        ("cafe", "the café"),
        ("café", "two cafes"),
        ("СЕРГЕЙ", "меня зовут Сергей"),
        ("книга", "читает книги"),
        ("елка", "ёлка"),
        ("ชอบ", "ฉันชอบกินข้าว"),
        ("กินข้าว", "ฉันชอบกินข้าว"),
        ("東京", "東京で働く"),
        ("東京", "私は東京タワーが好き"),
        ("身份", "用户身份"),
        ("設備", "網路設備清單"),
        ("설비", "공장설비를"),
        ("서울", "서울에서 만나요"),
        ("NAS 设备", "我的NAS设备在家里"),
        ("ភាសា", "ភាសាខ្មែរ"),
        ("မြန်မာ", "မြန်မာစာ"),
        ("ລາວ", "ພາສາລາວ"),
        ("kitap", "KİTAP"),
        ("strasse", "Hauptstrasse 5, Straße"),
        ("łódź", "Lodz"),
        ("كتب", "كَتَبَ الدرس"),
        ("हिन्दी", "मुझे हिन्दी आती है"),
    ],
)
def test_query_finds_text(query, text):
    assert finds(query, text)


@pytest.mark.parametrize(
    ("language", "query", "text"),
    [
        ("german", "haus", "Die Häuser am See"),
        ("german", "Muenchen", "in München"),
        ("french", "élève", "l'école des élèves"),
        ("french", "eleves", "des élèves"),
        ("spanish", "cancion", "las canciones"),
        ("italian", "città", "della citta"),
        ("portuguese", "livro", "os livros"),
        ("dutch", "huis", "de huizen en het huis"),
        ("russian", "running", "he runs"),
        ("russian", "собака", "две собаки"),
    ],
)
def test_query_finds_text_in_another_language(language, query, text):
    assert finds(query, text, language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("german", "und das ist nicht"),
        ("french", "l'un de nous n'est pas"),
        ("spanish", "de la que está"),
        ("italian", "c'è dell'"),
        ("portuguese", "não é o"),
        ("dutch", "het is niet de"),
        ("russian", "и это не то"),
        ("english", "и это не то"),
    ],
)
def test_stop_words_of_a_language_are_left_out(language, text):
    assert Analyzer(language).terms(text) == []


@pytest.mark.parametrize(("query", "text"), [("身份", "用户"), ("ano", "anno"), ("мой", "мои дома"), ("설비", "서울")])
def test_query_does_not_find_another_word(query, text):
    assert not finds(query, text)


@pytest.mark.parametrize("text", ["café naïve", "München", "ёлка й", "서울", "がぎ", "हिन्दी"])
def test_normal_forms_give_the_same_terms(text):
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert ENGLISH.terms(composed) == ENGLISH.terms(decomposed)


def test_accented_word_counts_once():
    assert [word.length for word in ENGLISH.words("café noir")] == [1, 1]


def test_accented_word_has_its_plain_form_as_a_second_term():
    assert ENGLISH.terms("café") == ["café", "cafe"]


def test_plain_form_that_is_a_stop_word_is_left_out():
    assert ENGLISH.terms("thé") == ["thé"]


def test_russian_short_i_stays_a_letter():
    assert ENGLISH.terms("йод") == ["йод"]


def test_long_word_is_cut():
    assert ENGLISH.terms("x" * 1_000) == ["x" * 64]


def test_long_run_of_an_unspaced_script_is_not_cut():
    assert len(ENGLISH.terms("身份" * 500)) == 999


def test_unknown_language_names_those_that_are_known():
    with pytest.raises(ValidationError, match=r"klingon.*english.*german"):
        Analyzer("klingon")


def test_signature_names_the_language_and_the_algorithm():
    assert Analyzer("german").signature == "german/2"


def test_threads_share_an_analyzer():
    analyzer = Analyzer()
    texts = [f"running{number} cafés walking{number} Сергея" for number in range(300)]
    expected = [term for text in texts for term in Analyzer().terms(text)]
    found: list[list[str]] = [[] for _ in range(8)]

    def work(results):
        results.extend(term for text in texts for term in analyzer.terms(text))

    threads = [threading.Thread(target=work, args=(results,)) for results in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8
