"""The model that the project builds: true to its weights, built once, and replaced as a whole."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from layers.onnx import build_model as building
from layers.onnx.bert_graph import BertShape, build_bert_graph
from layers.onnx.bert_reference import embed_reference
from layers.onnx.int8_operators import NEIGHBOUR_SUM_MAX, GraphBuilder, add_product, quantise_columns
from layers.onnx.source_package import BuildError
from tests.layers.built_model import model_directory

ROOT = Path(__file__).resolve().parents[2]
SHAPE = BertShape(layer_count=2, head_count=4, layer_norm_epsilon=1e-12)
DIMENSION, WIDE, VOCABULARY = 32, 64, 50
SEED = 20_261_130


def random_weights(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return a small BERT with names as in a checkpoint."""
    shapes = {
        "embeddings.word_embeddings.weight": (VOCABULARY, DIMENSION),
        "embeddings.position_embeddings.weight": (16, DIMENSION),
        "embeddings.token_type_embeddings.weight": (2, DIMENSION),
        "embeddings.LayerNorm.weight": (DIMENSION,),
        "embeddings.LayerNorm.bias": (DIMENSION,),
    }
    for layer in (f"encoder.layer.{number}" for number in range(SHAPE.layer_count)):
        for part, rows, columns in [
            *((f"attention.self.{name}", DIMENSION, DIMENSION) for name in ("query", "key", "value")),
            ("attention.output.dense", DIMENSION, DIMENSION),
            ("intermediate.dense", WIDE, DIMENSION),
            ("output.dense", DIMENSION, WIDE),
        ]:
            shapes |= {f"{layer}.{part}.weight": (rows, columns), f"{layer}.{part}.bias": (rows,)}
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{layer}.{part}.weight": (DIMENSION,), f"{layer}.{part}.bias": (DIMENSION,)}
    return {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def test_the_graph_computes_what_the_reference_does() -> None:
    rng = np.random.default_rng(SEED)
    weights = random_weights(rng)
    session = session_of(build_bert_graph(weights, SHAPE))
    texts = [rng.integers(0, VOCABULARY, length).tolist() for length in (1, 2, 7, 16)]
    ids = np.array([text + [0] * (16 - len(text)) for text in texts])
    mask = np.array([[1] * len(text) + [0] * (16 - len(text)) for text in texts])
    (vectors,) = session.run(None, {"input_ids": ids, "attention_mask": mask})
    references = np.array([embed_reference(weights, SHAPE, text) for text in texts])
    cosines = (vectors * references).sum(axis=1)
    assert (cosines > 0.998).all(), f"seed {SEED}: {cosines}"


def test_a_product_of_rows_does_not_depend_on_other_rows() -> None:
    rng = np.random.default_rng(SEED)
    matrix = rng.normal(size=(8, 4)).astype(np.float32)
    graph = GraphBuilder()
    add_product(graph, "product", "rows", matrix)
    value_info = onnx.helper.make_tensor_value_info
    body = onnx.helper.make_graph(
        graph.nodes,
        "product",
        [value_info("rows", onnx.TensorProto.FLOAT, ["rows", 8])],
        [value_info("product", onnx.TensorProto.FLOAT, ["rows", 4])],
        [*graph.initializers.values()],
    )
    session = session_of(onnx.helper.make_model(body, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10))
    rows = rng.normal(size=(3, 8)).astype(np.float32) * np.array([[1], [1_000], [0]], np.float32)
    (together,) = session.run(None, {"rows": rows})
    alone = np.concatenate([session.run(None, {"rows": rows[[index]]})[0] for index in range(3)])
    assert np.array_equal(together, alone), f"seed {SEED}"
    assert np.allclose(together, rows @ matrix, atol=0.03 * np.abs(rows).max(axis=1, keepdims=True)), f"seed {SEED}"


def test_two_neighbouring_products_fit_into_16_bits() -> None:
    matrix = np.random.default_rng(SEED).normal(size=(64, 16)).astype(np.float32)
    codes, scales = quantise_columns(matrix)
    neighbour_sums = np.abs(codes.astype(int)).reshape(-1, 2, 16).sum(axis=1)
    assert neighbour_sums.max() <= NEIGHBOUR_SUM_MAX + 1
    assert np.allclose(codes * scales, matrix, atol=scales.max())


def test_the_built_model_is_close_to_its_float32_reference() -> None:
    record = json.loads((model_directory() / building.RECORD_NAME).read_bytes())
    assert record["cosine_min"] >= building.COSINE_MIN
    assert record["cosine_mean"] >= 0.995


def test_a_model_that_is_there_is_not_built_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copy = shutil.copytree(model_directory(), tmp_path / "model")
    monkeypatch.setattr(building, "fetch_checkpoint", refuse_to_fetch)
    assert building.build_model(copy) == copy


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "model.toml", building.RECORD_NAME])
def test_a_model_that_was_touched_is_built_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    copy = shutil.copytree(model_directory(), tmp_path / "model")
    with (copy / name).open("ab") as file:
        file.write(b" {")
    monkeypatch.setattr(building, "fetch_checkpoint", refuse_to_fetch)
    with pytest.raises(BuildError, match="asked to fetch"):
        building.build_model(copy)


def test_a_failed_build_leaves_what_was_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    output = tmp_path / "model"
    output.mkdir()
    (output / "model.toml").write_text("old")
    monkeypatch.setattr(building, "fetch_checkpoint", refuse_to_fetch)
    with pytest.raises(BuildError):
        building.build_model(output)
    assert (output / "model.toml").read_text() == "old"


def test_a_new_model_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    output, draft = tmp_path / "model", tmp_path / "model.draft"
    output.mkdir()
    draft.mkdir()
    (output / "old").touch()
    (draft / "new").touch()
    building._replace(output, draft)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert [path.name for path in output.iterdir()] == ["new"]


def test_without_a_package_index_the_build_says_what_to_do(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "layers.onnx.build_model", "--output", str(tmp_path / "model")]
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    run = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True, timeout=120)
    assert run.returncode == 1
    assert "PIP_INDEX_URL" in run.stderr
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "model").exists()


def refuse_to_fetch(source: object) -> None:
    raise BuildError("asked to fetch")
