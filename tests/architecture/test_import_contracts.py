"""The import contracts hold, and no code is outside them."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.project import ROOT, python_files

# Code that is not part of the product: nothing imports it.
SUPPORTING_FOLDERS = {"benchmarks", "examples", "tests"}


@pytest.fixture(scope="module")
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def product_folders() -> set[str]:
    return {path.parts[0] for path in python_files()} - SUPPORTING_FOLDERS


def test_import_contracts_hold() -> None:
    lint_imports = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run(
        [lint_imports, "--no-logo", "--no-cache"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_product_folder_is_under_import_contracts(pyproject: dict[str, Any]) -> None:
    packages = {"s3_agent_memory" if folder == "layers" else folder for folder in product_folders()}
    missing = packages - set(pyproject["tool"]["importlinter"]["root_packages"])
    assert not missing, f"add to tool.importlinter.root_packages, with contracts: {missing}"


def test_every_product_folder_is_type_checked(pyproject: dict[str, Any]) -> None:
    missing = product_folders() - {Path(file).parts[0] for file in pyproject["tool"]["mypy"]["files"]}
    assert not missing, f"add to tool.mypy.files: {missing}"
