"""Compares memory systems side by side: same memories, same questions, same vectors, each in processes of its own.

    python -m benchmarks.peers [--sizes 1000 10000 100000] [--budget 180] [--only NAME ...] [--quick] [--json FILE]

The systems and their settings are in `port.py`. Everything is on this machine's disk. Per size: load all in bulk; open
in a fresh process and ask 200 questions; write up to 200 memories one by one. At the smallest size also: eight
processes, and eight threads of one process, that write at once. Then how well LoCoMo's turns and this project's notes
are found. A step that would take longer than the budget, judged by the size before, is not run, and its row says so.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any, Final

from benchmarks import quality_corpora as corpora
from benchmarks.peers import material as materials
from benchmarks.peers import steps, writers
from benchmarks.peers.material import Material
from benchmarks.peers.port import CONTENDERS
from benchmarks.quality_library import CachedEmbedder
from benchmarks.runner_process import exit_when_told, running
from s3_agent_memory.embedding.onnx import OnnxEmbedder

ROOT: Final = corpora.ROOT
MODEL: Final = ROOT / ".build" / "model"
CACHE: Final = ROOT / ".build" / "quality" / "embeddings.sqlite"
QUICK_STEP: Final = 5
_STEP_SECONDS_MAX: Final = 30.0
_MEMORY_MB_MAX: Final = 12_000
_GRACE_SECONDS: Final = 60.0
_MARK: Final = "RESULT "


class StepError(Exception):
    """A step did not give a result; the message says why."""


# A step in this process ----------------------------------------------------------------------------------------------


def run_step(task: dict[str, Any]) -> dict[str, Any]:
    """Do one step; ``task`` names the system, the step and where its files are."""
    name, folder = task["name"], Path(task["folder"])
    contender = CONTENDERS[name]
    if task["step"] == "versions":
        return steps.versions(contender)
    if task["step"] == "quality":
        corpus = next(one for one in _corpora(task["data"], is_quick=task["quick"]) if one.name == task["corpus"])
        return steps.quality(contender, corpus, CachedEmbedder(OnnxEmbedder(MODEL), CACHE))
    material = Material(Path(task["material"]), task["size"])
    if task["step"] == "load":
        return steps.load(contender, folder, material)
    if task["step"] in writers_ways():
        return writers.run(
            name, task["step"], folder, material=material, write_count=task["writes"], seconds_max=_STEP_SECONDS_MAX
        )
    step = {"read": steps.read, "write": steps.write}[task["step"]]
    return step(contender, folder, material, seconds_max=task["seconds"])


def writers_ways() -> tuple[str, ...]:
    """Return the ways of writing at once."""
    return ("processes", "threads")


def _corpora(data: str | None, *, is_quick: bool) -> list[corpora.Corpus]:
    wanted = (corpora.LOCOMO, corpora.NOTES_NAME)
    listed = [one for one in corpora.read_corpora(Path(data) if data else corpora.find_data()) if one.name in wanted]
    return [corpora.thin(one, step=QUICK_STEP) for one in listed] if is_quick else listed


# Steps in other processes --------------------------------------------------------------------------------------------


def ask(task: dict[str, Any], *, seconds_max: float) -> dict[str, Any]:
    """Do one step in a process of its own.

    Raises:
        StepError: it failed, or took too long.
    """
    command = [sys.executable, "-m", "benchmarks.peers", "--task", json.dumps(task)]
    pipe = subprocess.PIPE
    with running(command, cwd=ROOT, env=steps.drop_blas_settings(), stdout=pipe, stderr=pipe) as process:
        try:
            output, errors = process.communicate(timeout=seconds_max)
        except subprocess.TimeoutExpired as error:
            raise StepError(f"stopped after {seconds_max:.0f} s") from error
    for line in output.splitlines():
        if line.startswith(_MARK):
            found: dict[str, Any] = json.loads(line.removeprefix(_MARK))
            return found
    lines = errors.strip().splitlines() or [f"exit code {process.returncode}"]
    raise StepError(lines[-1][:200])


class Comparison:
    """Runs all steps of all systems and keeps what they found."""

    def __init__(self, arguments: argparse.Namespace, material_folder: Path) -> None:
        self._arguments = arguments
        self._material = material_folder

    def measure(self, name: str) -> dict[str, Any]:
        """Return everything about one system; what fails is part of it."""
        contender = CONTENDERS[name]
        result: dict[str, Any] = {"settings": contender.settings, "durability": contender.durability}
        try:
            result["versions"] = self._ask(name, "versions", Path(), 0)
        except StepError as error:
            return {**result, "error": f"not installed: {error}"}
        if contender.is_timed:
            result["sizes"] = self._sizes(name, result)
        return {**result, "quality": self._quality(name)}

    def _sizes(self, name: str, result: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        previous: tuple[int, dict[str, Any]] | None = None
        for size in self._arguments.sizes:
            reason = _why_not(previous, size, self._arguments.budget) if found else None
            if reason is not None:
                found[str(size)] = {"not_run": reason}
                continue
            found[str(size)] = self._size(name, size, result if not found else None)
            previous = None if "error" in found[str(size)] else (size, found[str(size)])
        return found

    def _size(self, name: str, size: int, result: dict[str, Any] | None) -> dict[str, Any]:
        contender = CONTENDERS[name]
        figures: dict[str, Any] = {}
        with tempfile.TemporaryDirectory(prefix="peers-") as folder:
            for step in ("load", "read", "write"):
                try:
                    figures[step] = self._ask(name, step, Path(folder), size)
                except StepError as error:
                    figures["error"] = f"{step}: {error}"
                    break
                if step == "load" and result is not None:
                    result["writers"] = {way: self._writers(name, way, Path(folder), size) for way in contender.writers}
        _say(name, size, figures)
        return figures

    def _writers(self, name: str, way: str, folder: Path, size: int) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="peers-") as other:
            copy = Path(other) / "copy"
            shutil.copytree(folder, copy)
            try:
                return self._ask(name, way, copy, size)
            except StepError as error:
                return {"error": str(error)}

    def _quality(self, name: str) -> dict[str, Any]:
        found = {}
        for corpus in _corpora(self._arguments.data and str(self._arguments.data), is_quick=self._arguments.quick):
            try:
                found[corpus.name] = self._ask(name, "quality", Path(), 0, corpus=corpus.name)
            except StepError as error:
                found[corpus.name] = {"error": str(error)}
        print(
            f"{name}: " + ", ".join(f"{k} {v.get('recall_at_10', v.get('error'))}" for k, v in found.items()),
            flush=True,
        )
        return found

    def _ask(self, name: str, step: str, folder: Path, size: int, **more: object) -> dict[str, Any]:
        task = {
            "name": name,
            "step": step,
            "folder": str(folder),
            "size": size,
            "material": str(self._material),
            "data": str(self._arguments.data) if self._arguments.data else None,
            "quick": self._arguments.quick,
            "seconds": self._arguments.step_seconds,
            "writes": self._arguments.writes,
            **more,
        }
        return ask(task, seconds_max=2 * self._arguments.budget + _GRACE_SECONDS)


def _why_not(previous: tuple[int, dict[str, Any]] | None, size: int, budget_s: float) -> str | None:
    """Return why a size is not run, judged by the size before; None if it is."""
    if previous is None:
        return "the size before did not finish"
    before, figures = previous
    load_s = figures["load"]["seconds"] * size / before
    if load_s > budget_s:
        return f"loading would take about {_duration(load_s)}"
    memory_mb = figures["read"]["anonymous_mb"] * size / before
    if memory_mb > _MEMORY_MB_MAX:
        return f"it would need about {memory_mb / 1_024:.0f} GB of memory"
    return None


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 90
        else f"{seconds / 60:.0f} min"
        if seconds < 5_400
        else f"{seconds / 3600:.1f} h"
    )


def _say(name: str, size: int, figures: dict[str, Any]) -> None:
    shown = {
        "load s": figures.get("load", {}).get("seconds"),
        "query p50 ms": figures.get("read", {}).get("p50_ms"),
        "write p50 ms": figures.get("write", {}).get("p50_ms"),
    }
    cells = ", ".join(f"{title} {value:,.2f}" for title, value in shown.items() if value is not None)
    print(f"{name}, {size:,} memories: {cells} {figures.get('error', '')}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, print, and return the exit code: 1 if a system that is installed failed."""
    arguments = _parser().parse_args(argv)
    if arguments.task:
        print(_MARK + json.dumps(run_step(json.loads(arguments.task))))
        return 0
    exit_when_told()
    contenders = {}
    with tempfile.TemporaryDirectory(prefix="peers-material-") as name:
        folder = Path(name)
        query_embedding_ms = materials.prepare(
            folder, arguments.sizes, model=MODEL, data=arguments.data, text_count_max=arguments.texts_max
        )
        comparison = Comparison(arguments, folder)
        for contender in arguments.only or CONTENDERS:
            contenders[contender] = comparison.measure(contender)
    document = {
        "schema": 1,
        "sizes": arguments.sizes,
        "questions": materials.QUESTION_COUNT,
        "writers": writers.WRITER_COUNT,
        "writes_per_writer": arguments.writes,
        "query_embedding_ms": query_embedding_ms,
        "contenders": contenders,
    }
    if arguments.json:
        arguments.json.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return int(any("error" in figures for one in contenders.values() for figures in one.get("sizes", {}).values()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="peers", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000], help="memories, rising")
    parser.add_argument("--budget", type=float, default=180.0, help="seconds to load one size (default: %(default)s)")
    parser.add_argument("--step-seconds", type=float, default=_STEP_SECONDS_MAX, help="to ask or write one by one")
    parser.add_argument("--writes", type=int, default=200, help="of each of the writers at once")
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, metavar="NAME", help="systems (default: all)")
    parser.add_argument("--data", type=Path, help="a directory with corpora (default: ../*/data, if there is one)")
    parser.add_argument("--texts-max", type=int, default=10_240, help="embed at most so many texts")
    parser.add_argument("--quick", action="store_true", help="a fifth of the questions about corpora")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PackageNotFoundError as error:
        sys.exit(f"the package {error.name} is not there")
