"""Reading `model.toml`."""

from pathlib import Path

import pytest

from s3_agent_memory.embedding.model_directory import Pooling, read_model_directory
from s3_agent_memory.errors import ValidationError

DESCRIPTION = """
name = "e5/1"
dimension = 4
token_count_max = 512
pooling = "mean"
passage_prefix = "passage: "
query_prefix = "query: "

[files]
graph = "graph.onnx"
tokenizer = "tokenizer.json"
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "model.toml").write_text(DESCRIPTION)
    (tmp_path / "graph.onnx").touch()
    (tmp_path / "tokenizer.json").touch()
    return tmp_path


def test_a_description_is_read(directory: Path) -> None:
    model = read_model_directory(directory)
    assert (model.name, model.graph, model.pooling) == ("e5/1", directory / "graph.onnx", Pooling.MEAN)
    assert (model.dimension, model.token_count_max) == (4, 512)
    assert (model.passage_prefix, model.query_prefix) == ("passage: ", "query: ")


def test_prefixes_may_be_left_out(directory: Path) -> None:
    (directory / "model.toml").write_text("\n".join(line for line in DESCRIPTION.splitlines() if "prefix" not in line))
    assert read_model_directory(directory).query_prefix == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name =", "title ="),
        ('"e5/1"', '""'),
        ("dimension = 4", "dimension = 0"),
        ("dimension = 4", "dimension = true"),
        ("= 512", '= "512"'),
        ('"mean"', '"max"'),
        ('"query: "', "7"),
        ("[files]", "[other]"),
        ("[files]", "[files"),
    ],
)
def test_a_description_with_a_mistake_is_refused(directory: Path, old: str, new: str) -> None:
    (directory / "model.toml").write_text(DESCRIPTION.replace(old, new, 1))
    with pytest.raises(ValidationError, match=r"model\.toml"):
        read_model_directory(directory)


def test_a_directory_without_a_description_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="no embedding model"):
        read_model_directory(tmp_path / "absent")


@pytest.mark.parametrize("name", ["graph.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(directory: Path, name: str) -> None:
    (directory / name).unlink()
    with pytest.raises(ValidationError, match=name):
        read_model_directory(directory)
