"""Builds the directory of the default embedding model: an 8-bit ONNX graph, its tokenizer and their description.

    python -m layers.onnx.build_model [--output .build/model]

Published weights come in float32 and from a package of their own; the graph is written here, so that neither torch nor
a model hub is needed. The result is checked against a float32 reference before it is put in place, and built only if
it is not there yet.
"""

import argparse
import fcntl
import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from tokenizers import Tokenizer

from layers.onnx.bert_graph import build_bert_graph
from layers.onnx.bert_reference import embed_reference
from layers.onnx.source_package import BuildError, Checkpoint, Source, fetch_checkpoint
from s3_agent_memory.embedding.onnx import OnnxEmbedder

HERE: Final = Path(__file__).resolve().parent
DESCRIPTION: Final = HERE / "model.toml"
DEFAULT_OUTPUT: Final = HERE.parents[1] / ".build" / "model"
RECORD_NAME: Final = "build.json"
COSINE_MIN: Final = 0.98

CHECK_TEXTS: Final = (
    "Yes!",
    "Alice is vegetarian and allergic to peanuts.",
    "The weather is lovely today.",
    "Deploys happen on Tuesdays; never push to main on a Friday.",
    "def add(a: int, b: int) -> int:\n    return a + b",
    "Wir treffen uns nächsten Mittwoch um 14:30 Uhr in Zürich.",
    "Она каждое утро пьёт кофе.",
    "I moved from Lisbon to Porto in 2019, and ever since I have missed the light, the trams and my neighbours. " * 9,
)


def build_model(output: Path = DEFAULT_OUTPUT, *, description: Path = DESCRIPTION) -> Path:
    """Build the model directory unless it is there, unchanged and built from the same sources; returns it.

    Processes that ask for the same directory at once wait for the one that builds it.

    Raises:
        BuildError: the weights cannot be had, or the result is too far from the reference.
    """
    inputs_sha256 = _hash_inputs(description)
    output.parent.mkdir(parents=True, exist_ok=True)
    with _lock(output.with_name(f"{output.name}.lock")):
        if not is_built(output, inputs_sha256):
            _build(output, description, inputs_sha256)
    return output


def is_built(output: Path, inputs_sha256: str) -> bool:
    """Return whether the directory holds what was written by a build of these inputs."""
    try:
        record = json.loads((output / RECORD_NAME).read_bytes())
        return bool(
            record["inputs_sha256"] == inputs_sha256
            and all(_hash(output / name) == sha256 for name, sha256 in record["files"].items())
        )
    except (OSError, ValueError, KeyError):
        return False


def _build(output: Path, description: Path, inputs_sha256: str) -> None:
    checkpoint = fetch_checkpoint(Source.read(description))
    # A name that no other build uses at this moment: the lock is held.
    draft = output.with_name(f"{output.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    shutil.copyfile(description, draft / "model.toml")
    (draft / "tokenizer.json").write_bytes(checkpoint.tokenizer_json)
    onnx.save(build_bert_graph(checkpoint.weights, checkpoint.shape), str(draft / "model.onnx"))
    cosines = compare_with_reference(draft, checkpoint)
    if min(cosines) < COSINE_MIN:
        raise BuildError(f"a vector has the cosine {min(cosines):.4f} to its reference, at least {COSINE_MIN} is due")
    _write_record(draft, {"inputs_sha256": inputs_sha256, "cosine_min": min(cosines), "cosine_mean": _mean(cosines)})
    _replace(output, draft)


def compare_with_reference(directory: Path, checkpoint: Checkpoint) -> list[float]:
    """Return the cosine between model and float32 reference for each of ``CHECK_TEXTS``."""
    embedder = OnnxEmbedder(directory)
    tokenizer = Tokenizer.from_str(checkpoint.tokenizer_json.decode("utf-8"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(embedder.model.token_count_max)
    vectors = embedder.embed(CHECK_TEXTS)
    references = [
        embed_reference(checkpoint.weights, checkpoint.shape, tokenizer.encode(text).ids) for text in CHECK_TEXTS
    ]
    return [float(vector @ reference) for vector, reference in zip(vectors, references, strict=True)]


def _write_record(directory: Path, record: dict[str, Any]) -> None:
    files = {path.name: _hash(path) for path in sorted(directory.iterdir())}
    text = json.dumps({**record, "files": files}, indent=2)
    (directory / RECORD_NAME).write_text(text + "\n", "utf-8")


def _replace(output: Path, draft: Path) -> None:
    """Put the draft in the place of the output; a crash leaves the old one, the new one or none, never half of one."""
    old = output.with_name(f"{output.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if output.exists():
        output.rename(old)
    draft.rename(output)
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _hash_inputs(description: Path) -> str:
    digests = [_hash(path) for path in [description, *sorted(HERE.glob("*.py"))]]
    return hashlib.sha256("".join(digests).encode("ascii")).hexdigest()


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _mean(values: list[float]) -> float:
    return float(np.mean(values))


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Build the directory of the default embedding model.")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="where to put it (%(default)s)")
    output = parser.parse_args().output
    try:
        record = json.loads((build_model(output) / RECORD_NAME).read_bytes())
    except BuildError as error:
        print(f"No model was built: {error}", file=sys.stderr)
        return 1
    size_bytes = sum((output / name).stat().st_size for name in record["files"])
    print(f"{output}: {size_bytes / 1e6:.1f} MB")
    print(f"cosine to the float32 reference: mean {record['cosine_mean']:.4f}, min {record['cosine_min']:.4f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
