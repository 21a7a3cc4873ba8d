"""The layer with the model: small enough, complete, and pinned like everything else."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from layers.onnx.layer_size import ARCHITECTURES, REQUIREMENTS, measure_layer
from layers.onnx.source_package import DownloadError
from tests.layers.built_model import model_directory

ROOT = Path(__file__).resolve().parents[2]
# A function with all its layers may take 250 MB; the library and the packages of other layers need less than 100.
SIZE_BYTES_MAX = 150_000_000
PACKAGES = ("onnxruntime", "tokenizers", "numpy", "numpy.libs")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_layer_leaves_room_for_the_others(architecture: str) -> None:
    model_directory()
    try:
        sizes = measure_layer(architecture)
    except DownloadError as error:
        pytest.skip(f"the packages of the layer could not be downloaded: {error}")
    assert set(sizes) == {"onnxruntime", "tokenizers", "model"}
    assert sum(sizes.values()) <= SIZE_BYTES_MAX, sizes


def test_the_layer_is_pinned_like_the_development_requirements() -> None:
    assert pins(REQUIREMENTS).items() <= pins(ROOT / "requirements" / "dev.txt").items()


def test_nothing_but_these_packages_is_needed_to_embed(tmp_path: Path) -> None:
    site = Path(str(np.__file__)).parents[1]
    for name in PACKAGES:
        (tmp_path / name).symlink_to(site / name)
    (tmp_path / "s3_agent_memory").symlink_to(ROOT / "layers" / "memory" / "python" / "s3_agent_memory")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from pathlib import Path; "
        "from s3_agent_memory.embedding.onnx import OnnxEmbedder; "
        f"print(OnnxEmbedder(Path({str(model_directory())!r})).embed(['Alice is vegetarian.']).shape)"
    )
    command = [sys.executable, "-I", "-S", "-c", code]
    run = subprocess.run(command, env=dict(os.environ), check=False, capture_output=True, text=True, timeout=60)
    assert (run.stdout.strip(), run.stderr) == ("(1, 384)", "")


def pins(path: Path) -> dict[str, str]:
    """Return version and hashes of each package of a requirements file."""
    text = "".join(f"{line}\n" for line in path.read_text("utf-8").splitlines() if not line.startswith("#"))
    entries = [entry.partition("==") for entry in text.replace(" \\\n    ", " ").splitlines()]
    return {name: rest for name, _, rest in entries}
