"""How the ONNX adapter prepares texts: batches, limits, prefixes, other models."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from s3_agent_memory.embedding.checked import adapt
from s3_agent_memory.embedding.onnx import BATCH_TOKEN_COUNT_MAX, OnnxEmbedder, _batches
from s3_agent_memory.errors import EmbeddingError
from tests.layers.built_model import model_directory

Derive = Callable[[dict[str, str]], OnnxEmbedder]


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder(model_directory())


@pytest.fixture
def derive(tmp_path: Path) -> Derive:
    """Open a copy of the built model in whose description some texts are replaced."""

    def open_copy(replacements: dict[str, str]) -> OnnxEmbedder:
        for name in ("model.onnx", "tokenizer.json"):
            shutil.copyfile(model_directory() / name, tmp_path / name)
        text = (model_directory() / "model.toml").read_text("utf-8")
        for old, new in replacements.items():
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / "model.toml").write_text(text, "utf-8")
        return OnnxEmbedder(tmp_path)

    return open_copy


@given(st.lists(st.integers(2, 300), max_size=80))
def test_batches_hold_every_text_once_and_stay_within_the_limit(lengths: list[int]) -> None:
    batches = list(_batches(lengths))
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= BATCH_TOKEN_COUNT_MAX


def test_padding_does_not_change_a_vector(embedder: OnnxEmbedder) -> None:
    short, longer = "Bob likes tea.", "Alice moved to Lisbon in the spring and works from home."
    assert np.allclose(embedder.embed([short, longer])[0], embedder.embed([short])[0], atol=1e-5)


def test_what_lies_beyond_the_limit_is_ignored(embedder: OnnxEmbedder) -> None:
    begin = "tea " * 300
    first, second = embedder.embed([begin + "ends like this", begin + "or quite differently"])
    assert np.array_equal(first, second)


def test_windows_are_as_long_as_the_model_takes(embedder: OnnxEmbedder) -> None:
    text = " ".join(f"In week {week} the team shipped release {week * 7}." for week in range(60))
    windows = embedder.window_texts(text)
    model = embedder._load()
    model._tokenizer.no_truncation()
    try:
        lengths = [len(model._tokenizer.encode(window).ids) for window in windows]
    finally:
        model._tokenizer.enable_truncation(embedder.model.token_count_max)
    assert len(lengths) > 1
    assert max(lengths) <= embedder.model.token_count_max


def test_a_text_that_names_special_tokens_means_their_letters(embedder: OnnxEmbedder) -> None:
    tokens = embedder._load()._tokenizer.encode("the [SEP] token").tokens
    assert tokens == ["[CLS]", "the", "[", "sep", "]", "token", "[SEP]"]


def test_the_model_is_not_loaded_before_it_is_needed() -> None:
    fresh = OnnxEmbedder(model_directory())
    assert (fresh.name, fresh.dimension, fresh.window_texts("short")) == ("all-MiniLM-L6-v2/int8-1", 384, ["short"])
    assert fresh._loaded is None


def test_prefixes_are_put_before_texts_and_queries(derive: Derive, embedder: OnnxEmbedder) -> None:
    prefixed = derive(
        {'passage_prefix = ""': 'passage_prefix = "passage: "', 'query_prefix = ""': 'query_prefix = "q: "'}
    )
    assert np.array_equal(prefixed.embed(["tea"]), embedder.embed(["passage: tea"]))
    assert np.array_equal(prefixed.embed_query("tea"), embedder.embed(["q: tea"])[0])


@pytest.mark.parametrize(("pooling", "expected"), [("mean", [[0.6, 0.8]]), ("first", [[0, 1]])])
def test_a_graph_without_pooling_is_pooled_here(derive: Derive, pooling: str, expected: list[list[float]]) -> None:
    embedder = derive({'pooling = "none"': f'pooling = "{pooling}"', "dimension = 384": "dimension = 2"})
    write_token_graph(embedder.model.graph)
    # [CLS] and [SEP] come around each text, so that "tea" is three tokens; its batch has a row of five.
    vectors = embedder.embed(["tea", "tea and milk"])[:1]
    assert np.allclose(vectors, expected), vectors


def test_a_graph_that_does_not_fit_its_description_is_refused(derive: Derive) -> None:
    with pytest.raises(EmbeddingError, match="shape"):
        derive({'pooling = "none"': 'pooling = "mean"', "dimension = 384": "dimension = 3"}).embed(["x"])


def test_a_damaged_graph_is_an_embedding_error(derive: Derive) -> None:
    embedder = derive({})
    embedder.model.graph.write_bytes(b"no graph")
    with pytest.raises(EmbeddingError, match="all-MiniLM"):
        adapt(embedder).embed(["x"])


def write_token_graph(path: Path) -> None:
    """Write a graph with a vector for each token: (0, 1) for [CLS], (1.5, 1.5) for every other one, padding included.

    Like many exported models it also wants ``token_type_ids``.
    """
    table = np.tile(np.array([1.5, 1.5], np.float32), (30_522, 1))
    table[101] = (0, 1)
    nodes = [
        helper.make_node("Add", ["input_ids", "token_type_ids"], ["ids"]),
        helper.make_node("Gather", ["table", "ids"], ["vectors"]),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
        for name in ("input_ids", "token_type_ids")
    ]
    output = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", "tokens", 2])
    graph = helper.make_graph(nodes, "tokens", inputs, [output], [onnx.numpy_helper.from_array(table, "table")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), str(path))


@pytest.mark.parametrize("text", ["🍕", "😀 😀 😀", "猫", "我的猫叫咪咪", "a" * 500, ""])
def test_a_text_that_the_vocabulary_lacks_is_near_to_nothing(embedder: OnnxEmbedder, text: str) -> None:
    vectors = embedder.embed([text, "The cat is called Mimi"])
    assert not vectors[0].any()
    assert vectors[1].any()


def test_a_text_with_something_unknown_in_it_keeps_its_meaning(embedder: OnnxEmbedder) -> None:
    plain, decorated = embedder.embed(["I love pizza with olives", "I love pizza with olives 🍕"])
    assert plain @ decorated > 0.9
