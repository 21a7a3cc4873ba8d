"""Cutting long texts into windows, without a model."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.embedding.windows import (
    WINDOW_COUNT_MAX,
    WindowVectors,
    estimate_spans,
    mean_vectors,
    split_text,
)

TOKEN_COUNT_MAX = 256
SENTENCE = "The quick brown fox jumps over the lazy old dog here. "


def windows_of(text: str) -> list[str]:
    return split_text(text, estimate_spans(text), token_count_max=TOKEN_COUNT_MAX)


@pytest.mark.parametrize("text", ["", "a", SENTENCE])
def test_a_short_text_is_its_own_window(text: str) -> None:
    assert windows_of(text) == [text]


def test_cuts_fall_between_sentences() -> None:
    windows = windows_of(SENTENCE * 40)
    assert len(windows) > 1
    assert all(window.startswith("The quick") and window.endswith("here.") for window in windows)


def test_sentences_are_not_repeated() -> None:
    text = SENTENCE * 40
    assert " ".join(windows_of(text)) == text.strip()


def test_cuts_inside_a_sentence_fall_between_words_and_repeat_some() -> None:
    text = " ".join(f"word{number}" for number in range(300))
    windows = windows_of(text)
    words = [window.split() for window in windows]
    assert all(word in text.split() for window in words for word in window)
    assert all(set(before) & set(after) for before, after in pairwise(words))


def test_a_script_without_spaces_is_cut_after_its_full_stops() -> None:
    windows = windows_of("今日は天気がとても良いです。" * 40)
    assert len(windows) > 1
    assert all(window.endswith("。") for window in windows)


def test_a_word_without_an_end_is_cut_all_the_same() -> None:
    assert len(windows_of("x" * 20_000)) == WINDOW_COUNT_MAX


def test_a_text_longer_than_all_windows_is_sampled_from_beginning_to_near_its_end() -> None:
    text = " ".join(f"n{number:03}." for number in range(1_000))
    starts = [int(window.split(".")[0][1:]) for window in windows_of(text)]
    assert np.allclose(starts, [0, 250, 500, 750], atol=10)


@given(st.text(max_size=600), st.integers(8, 64))
def test_windows_are_bounded_ordered_parts_of_the_text(text: str, token_count_max: int) -> None:
    windows = split_text(text, estimate_spans(text), token_count_max=token_count_max)
    assert 1 <= len(windows) <= WINDOW_COUNT_MAX
    assert all(len(estimate_spans(window)) <= token_count_max for window in windows)
    places = [text.find(window) for window in windows]
    assert -1 not in places
    assert text.startswith(windows[0][:1])


@given(st.lists(st.sampled_from(["", ".", "\n", "。", "!?"]), min_size=100, max_size=250))
def test_nothing_is_lost_while_a_text_fits_into_its_windows(endings: list[str]) -> None:
    words = [f"w{number}{ending}" for number, ending in enumerate(endings)]
    found = {word for window in windows_of(" ".join(words)) for word in window.split()}
    assert found == {word for line in words for word in line.split()}


def test_the_mean_of_windows_has_the_length_one_and_belongs_to_its_text() -> None:
    vectors = np.array([[1, 0], [0, 1], [0, 1], [1, 0]], np.float32)
    means = mean_vectors(WindowVectors(vectors, np.array([0, 1, 2, 2])), 3)
    assert np.allclose(means, [[1, 0], [0, 1], [0.5**0.5, 0.5**0.5]])


def test_a_mean_of_nothing_is_a_vector_of_zeros() -> None:
    assert mean_vectors(WindowVectors(np.zeros((1, 2), np.float32), np.array([0])), 1).tolist() == [[0, 0]]
