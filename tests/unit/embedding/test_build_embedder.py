"""How settings become an embedder, and what is said where they cannot."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from s3_agent_memory import names
from s3_agent_memory.bootstrap import Settings, build_embedder
from s3_agent_memory.embedding import extras
from s3_agent_memory.errors import ValidationError
from tests.layers.built_model import model_directory


def test_there_is_no_embedder_unless_one_is_named() -> None:
    assert build_embedder(Settings()) is None


def test_onnx_reads_the_directory_that_is_named() -> None:
    embedder = build_embedder(Settings(embeddings="onnx", embedding_model=str(model_directory())))
    assert embedder is not None
    assert (embedder.name, embedder.embed(["x"]).shape) == ("all-MiniLM-L6-v2/int8-1", (1, 384))


def test_the_usual_model_is_the_package_that_a_deployment_brings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / names.MODEL_PACKAGE
    shutil.copytree(model_directory(), package)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    # Nothing lies where the project builds it.
    monkeypatch.chdir(tmp_path)
    embedder = build_embedder(Settings(embeddings="onnx"))
    assert embedder is not None
    assert embedder.name == "all-MiniLM-L6-v2/int8-1"


def test_the_environment_names_embedder_and_model() -> None:
    environ = {names.ENV_EMBEDDINGS: "onnx", names.ENV_EMBEDDING_MODEL: "/models/e5"}
    settings = Settings.from_environment(environ)
    assert (settings.embeddings, settings.embedding_model) == ("onnx", "/models/e5")


def test_fastembed_is_named_with_its_model() -> None:
    pytest.importorskip("fastembed")
    embedder = build_embedder(Settings(embeddings="fastembed"))
    assert embedder is not None
    assert embedder.name == "fastembed/BAAI/bge-small-en-v1.5"


def test_an_unknown_embedder_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValidationError, match="none, onnx, fastembed, sentence-transformers"):
        build_embedder(Settings(embeddings="openai"))


def test_a_directory_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="no embedding model"):
        build_embedder(Settings(embeddings="onnx", embedding_model=str(tmp_path)))


@pytest.mark.parametrize("embeddings", ["onnx", "fastembed", "sentence-transformers"])
def test_a_missing_package_is_reported_with_its_extra(monkeypatch: pytest.MonkeyPatch, embeddings: str) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with pytest.raises(ValidationError, match=rf"pip install '\.\[{embeddings}\]'"):
        build_embedder(Settings(embeddings=embeddings))


@pytest.mark.parametrize("embeddings", ["none", "onnx", "fastembed"])
def test_building_an_embedder_loads_no_runtime(embeddings: str) -> None:
    code = (
        "import sys; from s3_agent_memory.bootstrap import Settings, build_embedder; "
        f"build_embedder(Settings(embeddings={embeddings!r}, embedding_model={str(model_directory())!r})); "
        "print({'onnxruntime', 'tokenizers', 'fastembed'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], env=os.environ, check=True, capture_output=True, text=True, timeout=60
    )
    assert run.stdout.strip() == "set()"
