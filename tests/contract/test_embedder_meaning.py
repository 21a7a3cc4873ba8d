"""What only a model can do: tell that two texts mean the same though they share no word."""

import numpy as np
import pytest

from s3_agent_memory.embedding.checked import CheckedEmbedder, adapt
from s3_agent_memory.embedding.onnx import OnnxEmbedder
from tests.layers.built_model import model_directory


@pytest.fixture(scope="module")
def embedder() -> CheckedEmbedder:
    return adapt(OnnxEmbedder(model_directory()))


def test_similarities_are_those_that_the_model_is_published_with(embedder: CheckedEmbedder) -> None:
    # From the quick start of sentence-transformers (float32); the rest is left to 8-bit arithmetic.
    vectors = embedder.embed(["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."])
    found = vectors @ vectors.T
    assert np.allclose(found[[0, 0, 1], [1, 2, 2]], [0.6660, 0.1046, 0.1411], atol=0.015), found


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What must Alice not eat?", "She gets a rash from peanuts and avoids them."),
        ("Which pet does he have?", "His cat Felix sleeps on the sofa all day."),
        ("How do we release software?", "Ship new versions with the deploy script, after the pipeline is green."),
    ],
)
def test_an_answer_without_a_word_of_the_question_is_nearest(
    embedder: CheckedEmbedder, query: str, expected: str
) -> None:
    memories = [
        "She gets a rash from peanuts and avoids them.",
        "His cat Felix sleeps on the sofa all day.",
        "Ship new versions with the deploy script, after the pipeline is green.",
        "The meeting was moved to Thursday at noon.",
        "Her new car is a red convertible.",
    ]
    scores = embedder.embed(memories) @ embedder.embed_query(query)
    assert memories[int(scores.argmax())] == expected, scores
