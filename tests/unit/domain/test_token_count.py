"""The estimate of tokens against figures of the encoding itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.domain.token_count import estimate_tokens

# Text, and how many tokens cl100k_base makes of it. The first four are published in OpenAI's cookbook ("How to count
# tokens with tiktoken"); the others were counted by merging the published vocabulary.
KNOWN = [
    ("tiktoken is great!", 6),
    ("antidisestablishmentarianism", 6),
    ("2 + 2 = 4", 7),
    ("お誕生日おめでとう", 9),
    ("The quick brown fox jumps over the lazy dog.", 10),
    ("def add(a, b):\n    return a + b\n", 12),
    ("Wir treffen uns am Donnerstag um 14:30 Uhr vor dem Hauptbahnhof.", 20),
    ("Ich habe gestern eine Geschwindigkeitsbegrenzung übersehen.", 16),
    ("Мы встретимся в четверг у главного вокзала.", 21),
    ("我们星期四下午在火车站前见面。", 14),
    ("목요일 오후에 역 앞에서 만나요.", 16),
    ("نلتقي يوم الخميس أمام محطة القطار.", 25),
    ("हम गुरुवार को स्टेशन के सामने मिलेंगे।", 36),
    ("Tapaamme torstaina iltapäivällä rautatieaseman edessä.", 23),
    ("Hẹn gặp bạn chiều thứ Năm trước nhà ga.", 22),
    ("👍🏽🎉🚀😂", 14),
    ("4f1c9b2e-77aa-4c0d-9e35-0b1a2c3d4e5f", 33),
    ("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", 24),
    ("https://example.com/a/b?c=d&e=f", 11),
    ('{"name": "Ann", "age": 42, "tags": ["a", "b"]}', 21),
]


@pytest.mark.parametrize(("text", "token_count"), KNOWN)
def test_a_text_is_not_undercounted_by_more_than_a_tenth(text: str, token_count: int) -> None:
    assert estimate_tokens(text) >= 0.9 * token_count


def test_english_is_overcounted_by_no_more_than_a_third() -> None:
    text = "She said that we could meet at the museum on Friday, if the weather is good and nobody has to work."
    assert 22 <= estimate_tokens(text) <= 30  # The encoding makes 23 of it.


def test_no_text_has_no_tokens() -> None:
    assert estimate_tokens("") == 0


@given(st.text())
def test_no_text_has_more_than_about_its_bytes(text: str) -> None:
    assert 0 <= estimate_tokens(text) <= 1.5 * len(text.encode("utf-8", "surrogatepass")) + 2


@given(st.text(), st.text())
def test_a_longer_text_never_has_much_fewer_tokens(text: str, more: str) -> None:
    # A text that begins to read like English costs less a word, but never less than a third of it.
    assert 3 * estimate_tokens(text + more) >= estimate_tokens(text)
