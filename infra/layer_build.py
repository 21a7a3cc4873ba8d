"""Layers as folders: built once for what goes into them, kept until that changes, without Docker.

A folder is built beside its final place and renamed when it is whole, so an interrupted build leaves nothing behind
that would be taken for a layer. Its name holds a digest of everything it is made of.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra import names

ROOT: Final = Path(__file__).resolve().parent.parent
BUILD_FOLDER: Final = ROOT / ".build" / "layers"
MEMORY_TREE: Final = ROOT / "layers" / "memory" / "python"
REQUIREMENTS: Final = {name: ROOT / "layers" / name / "requirements.txt" for name in ("vendor", "mcp", "onnx")}
MODEL_SOURCES: Final = ROOT / "layers" / "onnx"
MODEL_FOLDER: Final = ROOT / ".build" / "model"

# Wheels of these platforms run on Amazon Linux 2023, which has glibc 2.34.
_MANYLINUX: Final = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
_MACHINES: Final = {"arm64": "aarch64", "x86_64": "x86_64"}
_TIMEOUT_SECONDS: Final = 600
_UNUSED: Final = (
    "**/__pycache__",
    "**/tests",
    "bin",
    *(f"onnxruntime/{name}" for name in ("backend", "datasets", "quantization", "tools", "transformers")),
)
# The SDK describes hundreds of services; the functions speak to S3, and credentials come from the runtime.
_SDK_SERVICES: Final = frozenset({"s3", "sts"})


@dataclass(frozen=True, slots=True)
class Target:
    """What a layer is built for: an architecture as Lambda names it, and a version of Python."""

    architecture: str
    python_version: str


def build_memory_layer(target: Target) -> Path:  # noqa: ARG001  # Pure Python runs anywhere.
    """Return the folder of the layer with the library."""
    project = ROOT / "pyproject.toml"
    sources = [path for path in _files(MEMORY_TREE) if path.suffix != ".pyc"]

    def fill(site: Path) -> None:
        shutil.copytree(MEMORY_TREE, site, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        _write_metadata(site, tomllib.loads(project.read_text("utf-8"))["project"])

    return _build("memory", _digest([project, *sources]), fill)


def build_vendor_layer(target: Target) -> Path:
    """Return the folder of the layer with what all functions import from others.

    Raises:
        RuntimeError: pip cannot get the packages; the message says what it said.
    """
    return _build_wheels("vendor", target)


def build_mcp_layer(target: Target) -> Path:
    """Return the folder of the layer with the MCP SDK; see ``build_vendor_layer``."""
    return _build_wheels("mcp", target)


def build_onnx_layer(target: Target) -> Path:
    """Return the folder of the layer with the embedding model, as a package, and with what runs it.

    Raises:
        RuntimeError: a package or the weights of the model cannot be had; the message says why.
    """
    sources = [path for path in _files(MODEL_SOURCES) if path.suffix in {".py", ".toml"}]
    return _build_wheels("onnx", target, sources=sources, add=_add_model)


BUILDERS: Final[dict[str, Callable[[Target], Path]]] = {
    "memory": build_memory_layer,
    "vendor": build_vendor_layer,
    "mcp": build_mcp_layer,
    "onnx": build_onnx_layer,
}


def build_layer(name: str, target: Target) -> Path:
    """Return the folder of a layer, built now if it is not there yet."""
    return BUILDERS[name](target)


def size_bytes(folder: Path) -> int:
    """Return how much a layer takes, which is what Lambda's limit of 250 MB counts."""
    return sum(path.stat().st_size for path in _files(folder))


def _build_wheels(
    name: str, target: Target, *, sources: Iterable[Path] = (), add: Callable[[Path], None] | None = None
) -> Path:
    requirements = REQUIREMENTS[name]

    def fill(site: Path) -> None:
        _install(requirements, site, target)
        _trim(site)
        if add is not None:
            add(site)

    # Without dots: the CDK would take what follows one for the kind of a file.
    versioned_name = f"{name}-{target.architecture}-{target.python_version.replace('.', '')}"
    return _build(versioned_name, _digest([requirements, *sources, Path(__file__)]), fill)


def _build(name: str, digest: str, fill: Callable[[Path], None]) -> Path:
    folder = BUILD_FOLDER / f"{name}-{digest}"
    if folder.is_dir():
        return folder
    BUILD_FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD_FOLDER, prefix="unfinished-") as unfinished:
        # Lambda puts the folder "python" of every layer on the module path.
        site = Path(unfinished, "layer", "python")
        site.mkdir(parents=True)
        fill(site)
        try:
            site.parent.rename(folder)
        except OSError:
            # Another process was faster; what it built is the same.
            if not folder.is_dir():
                raise
    return folder


def _install(requirements: Path, site: Path, target: Target) -> None:
    machine = _MACHINES[target.architecture]
    platforms = [option for name in _MANYLINUX for option in ("--platform", f"{name}_{machine}")]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    command += ["--require-hashes", "--no-deps", "--only-binary=:all:", "--implementation", "cp"]
    command += ["--python-version", target.python_version, *platforms]
    command += ["--target", str(site), "--requirement", str(requirements)]
    _run(command, failure=f"pip could not install {requirements.relative_to(ROOT)}")


def _add_model(site: Path) -> None:
    """Add the model as a package: it is found on the module path, wherever a layer is unpacked."""
    # A process of its own: what builds a model must not be loaded by what describes a stack.
    _run([sys.executable, "-m", "layers.onnx.build_model"], failure="the embedding model could not be built")
    package = site / names.MODEL_PACKAGE
    shutil.copytree(MODEL_FOLDER, package)
    (package / "__init__.py").write_text('"""The embedding model."""\n', "utf-8")


def _run(command: list[str], *, failure: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS)
    if done.returncode:
        raise RuntimeError(f"{failure}: {done.stderr.strip()[-2_000:]}")


def _trim(site: Path) -> None:
    """Remove what no function loads; metadata stays, because packages look up their own version in it."""
    for pattern in _UNUSED:
        for path in sorted(site.glob(pattern)):
            shutil.rmtree(path, ignore_errors=True)
    services = site / "botocore" / "data"
    for path in services.iterdir() if services.is_dir() else ():
        if path.is_dir() and path.name not in _SDK_SERVICES:
            shutil.rmtree(path)


def _write_metadata(site: Path, project: dict[str, str]) -> None:
    """Write what ``importlib.metadata`` needs to tell the version of the library."""
    folder = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    folder.mkdir()
    text = f"Metadata-Version: 2.4\nName: {project['name']}\nVersion: {project['version']}\n"
    (folder / "METADATA").write_text(text, "utf-8")


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        body = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT)}\0{len(body)}\0".encode())
        digest.update(body)
    return digest.hexdigest()[:16]
