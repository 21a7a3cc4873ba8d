"""Where the project's own code is, for the tests that read it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE_FOLDERS = ("benchmarks", "examples", "functions", "infra", "layers", "tests")


def python_files() -> Iterator[Path]:
    """Yield every Python file of the project, as paths relative to its root."""
    for folder in SOURCE_FOLDERS:
        yield from (path.relative_to(ROOT) for path in sorted((ROOT / folder).rglob("*.py")))


def run_python(code: str) -> str:
    """Run ``code`` in a fresh interpreter at the project's root and return what it printed."""
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout
