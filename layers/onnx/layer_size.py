"""How much the layer with the model takes once it is unpacked, which is what the limit of a function counts."""

import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from layers.onnx.build_model import HERE, build_model
from layers.onnx.source_package import DOWNLOAD_SECONDS_MAX, DownloadError

ARCHITECTURES: Final = ("x86_64", "aarch64")
PYTHON_VERSION: Final = "3.13"
REQUIREMENTS: Final = HERE / "requirements.txt"
# Wheels of these platforms run on Amazon Linux 2023, which has glibc 2.34.
PLATFORMS: Final = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")


def measure_layer(architecture: str) -> Mapping[str, int]:
    """Return the bytes of each package and of the model, for one architecture; the packages are downloaded.

    Raises:
        DownloadError: pip cannot get a package.
        BuildError: the model cannot be built.
    """
    with TemporaryDirectory(prefix="layer-") as directory:
        sizes = {wheel.name.split("-")[0]: _unpacked_bytes(wheel) for wheel in _download(architecture, Path(directory))}
    sizes["model"] = sum(path.stat().st_size for path in build_model().iterdir())
    return sizes


def _download(architecture: str, directory: Path) -> list[Path]:
    platforms = [f"--platform={platform}_{architecture}" for platform in PLATFORMS]
    pins = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--implementation=cp", "-r", str(REQUIREMENTS)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", f"--python-version={PYTHON_VERSION}", *platforms]
    run = subprocess.run(
        [*command, *pins, "--dest", str(directory)],
        check=False,
        capture_output=True,
        text=True,
        timeout=DOWNLOAD_SECONDS_MAX,
    )
    if run.returncode != 0:
        raise DownloadError(run.stderr.strip())
    return sorted(directory.glob("*.whl"))


def _unpacked_bytes(wheel: Path) -> int:
    with zipfile.ZipFile(wheel) as archive:
        return sum(member.file_size for member in archive.infolist())
