"""What `adapt` accepts, corrects and refuses."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from s3_agent_memory.embedding.checked import BATCH_TEXT_COUNT, adapt
from s3_agent_memory.errors import EmbeddingError, ValidationError


class Scripted:
    """Answers what it is told to."""

    name = "scripted/1"

    def __init__(self, answer: Callable[[Sequence[str]], Any]) -> None:
        self._answer = answer
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.calls.append(list(texts))
        return self._answer(texts)


class WithQuery(Scripted):
    """Knows queries from texts, and its own windows."""

    dimension = 2

    def embed_query(self, text: str) -> list[float]:
        return [0.0, 2.0 * len(text)]

    def window_texts(self, text: str) -> tuple[str, ...]:
        return (text[:2], text[2:])


def fails(texts: Sequence[str]) -> Any:
    raise RuntimeError(f"cannot embed {texts}")


def ones(texts: Sequence[str]) -> Any:
    return np.ones((len(texts), 2))


def test_vectors_are_normalised() -> None:
    assert adapt(Scripted(lambda _: [[3, 4]])).embed(["x"]).tolist() == [[np.float32(0.6), np.float32(0.8)]]


@pytest.mark.parametrize("largest", [1e-300, 1e30, 1e300])
def test_very_small_and_very_large_numbers_are_normalised(largest: float) -> None:
    vectors = adapt(Scripted(lambda _: [[largest, largest]])).embed(["x"])
    assert np.allclose(vectors, 0.5**0.5)


def test_a_vector_of_zeros_stays_one() -> None:
    assert adapt(Scripted(lambda _: [[0, 0]])).embed(["x"]).tolist() == [[0, 0]]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda _: [1.0, 2.0], id="one vector without a row"),
        pytest.param(lambda texts: [[1.0, 2.0]] * (len(texts) + 1), id="a row too many"),
        pytest.param(lambda texts: np.ones((len(texts), 0)), id="no numbers"),
        pytest.param(lambda texts: np.ones((len(texts), 2, 2)), id="a vector for each token"),
        pytest.param(lambda _: [[1.0, 2.0], [1.0]], id="rows of different lengths"),
        pytest.param(lambda texts: [["a", "b"]] * len(texts), id="letters"),
        pytest.param(lambda texts: [[1j, 1]] * len(texts), id="complex numbers"),
        pytest.param(lambda _: None, id="nothing"),
        pytest.param(lambda _: (row for row in [[1.0, 2.0]]), id="a generator"),
        pytest.param(lambda texts: [[np.nan, 1]] * len(texts), id="not a number"),
        pytest.param(lambda texts: [[np.inf, 1]] * len(texts), id="infinity"),
        pytest.param(fails, id="an exception"),
    ],
)
def test_an_answer_that_is_no_matrix_of_vectors_is_refused(answer: Callable[[Sequence[str]], Any]) -> None:
    with pytest.raises(EmbeddingError, match="scripted/1"):
        adapt(Scripted(answer)).embed(["x", "y"])


def test_an_error_does_not_repeat_the_texts() -> None:
    with pytest.raises(EmbeddingError) as caught:
        adapt(Scripted(fails)).embed(["the secret"])
    assert "secret" not in str(caught.value)


def test_a_dimension_that_changes_is_refused() -> None:
    embedder = adapt(Scripted(lambda texts: np.ones((len(texts), len(texts)))))
    embedder.embed(["x", "y"])
    with pytest.raises(EmbeddingError, match="shape"):
        embedder.embed(["x"])


def test_the_dimension_is_found_by_embedding_once() -> None:
    scripted = Scripted(ones)
    embedder = adapt(scripted)
    assert (embedder.dimension, embedder.dimension, len(scripted.calls)) == (2, 2, 1)


def test_a_dimension_that_is_told_needs_no_embedding() -> None:
    scripted = WithQuery(ones)
    assert (adapt(scripted).dimension, scripted.calls) == (2, [])


def test_texts_are_handed_over_in_batches() -> None:
    scripted = Scripted(ones)
    adapt(scripted).embed(["x"] * (BATCH_TEXT_COUNT + 1))
    assert [len(call) for call in scripted.calls] == [BATCH_TEXT_COUNT, 1]


def test_lone_surrogates_are_replaced_before_they_reach_the_embedder() -> None:
    scripted = Scripted(ones)
    adapt(scripted).embed(["a\ud800b"])
    assert scripted.calls == [["a?b"]]


def test_a_query_goes_to_the_method_for_queries() -> None:
    assert adapt(WithQuery(ones)).embed_query("x").tolist() == [0, 1]


def test_a_query_is_a_text_like_any_other_without_that_method() -> None:
    assert adapt(Scripted(lambda _: [[0, 3]])).embed_query("x").tolist() == [0, 1]


def test_windows_of_the_embedder_are_used() -> None:
    assert adapt(WithQuery(ones)).window_texts("abcd") == ["ab", "cd"]


def test_one_string_is_no_list_of_texts() -> None:
    with pytest.raises(ValidationError, match="list"):
        adapt(Scripted(ones)).embed("one string")


def test_what_is_adapted_stays_as_it_is() -> None:
    embedder = adapt(Scripted(ones))
    assert adapt(embedder) is embedder


@pytest.mark.parametrize("name", [None, "", 7, "n" * 129])
def test_a_name_is_required(name: object) -> None:
    scripted: Any = Scripted(ones)
    scripted.name = name
    with pytest.raises(ValidationError, match="name"):
        adapt(scripted)


def test_a_method_embed_is_required() -> None:
    nameless: Any = type("Nothing", (), {"name": "nothing/1"})()
    with pytest.raises(ValidationError, match="embed"):
        adapt(nameless)
