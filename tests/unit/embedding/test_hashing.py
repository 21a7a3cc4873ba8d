"""The embedder without a model."""

import numpy as np

from s3_agent_memory.embedding.checked import adapt
from s3_agent_memory.embedding.hashing import HashingEmbedder


def test_texts_that_are_written_alike_are_nearer_than_others() -> None:
    vectors = adapt(HashingEmbedder()).embed(["she runs daily", "running every day", "invoice number 4711"])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


def test_the_same_text_has_the_same_vector_in_every_process() -> None:
    vector = HashingEmbedder(dimension=8).embed(["Alice"])[0]
    assert vector.tolist() == [1, 0, -1, 2, 1, -1, 1, 0]


def test_the_dimension_is_part_of_the_name() -> None:
    assert HashingEmbedder(16).name != HashingEmbedder(32).name


def test_capitals_do_not_matter() -> None:
    embedder = HashingEmbedder()
    assert np.array_equal(embedder.embed(["ALICE"]), embedder.embed(["alice"]))
