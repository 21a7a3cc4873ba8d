"""Runs the benchmark: every part, or those that are named; writes results, tables and plots.

    python -m benchmarks [PART ...] [--quick] [--results DIR] [--list] [--report]

A full run keeps its results in benchmarks/results and rewrites the tables of docs/BENCHMARKS.md and README.md. A quick
one has small sizes and shows that every part runs; its figures mean little and go to .build/bench, documents with them.
A part that fails says so, the others go on, and the command ends with exit code 1.
"""

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks import report
from benchmarks.quality_corpora import WHERE_FROM, find_data
from benchmarks.runner import Result, Status, run
from benchmarks.runner_parts import PARTS

QUICK_RESULTS: Final = report.ROOT / ".build" / "bench"


def main(argv: Sequence[str] | None = None) -> int:
    """Run what was asked for and return the exit code."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if unknown := [name for name in arguments.parts if name not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; parts are {', '.join(PARTS)}")
    if arguments.list:
        print("\n".join(f"{part.name:14} {part.says}" for part in PARTS.values()))
        return 0
    folder = arguments.results or (QUICK_RESULTS if arguments.quick else report.RESULTS)
    results: list[Result] = []
    if not arguments.report:
        usual = [name for name, part in PARTS.items() if arguments.quick or not part.is_on_demand]
        results = run_parts(arguments.parts or usual, folder, is_quick=arguments.quick)
    is_published = write_report(folder)
    is_good = is_published and all(result.status is Status.OK for result in results)
    return 0 if is_good else 1


def run_parts(names: Sequence[str], folder: Path, *, is_quick: bool) -> list[Result]:
    """Run parts one after the other; each result is written when it is there."""
    if find_data() is None:
        print(f"No public corpora beside this repository: {WHERE_FROM}.\n")
    results = []
    started = time.monotonic()
    for number, name in enumerate(names, 1):
        print(f"[{number}/{len(names)}] {name}: {PARTS[name].says}", flush=True)
        result = run(PARTS[name], is_quick=is_quick)
        result.write(folder)
        results.append(result)
        print(f"  {result.status} after {result.seconds:.0f} s {result.message}\n", flush=True)
    print(f"{'part':14} {'seconds':>8}  {time.monotonic() - started:.0f} s in all")
    for result in results:
        print(f"{result.part:14} {result.seconds:8.0f}  {result.status} {result.message}")
    return results


def write_report(folder: Path) -> bool:
    """Write tables and plots; return False if the plots could not be drawn."""
    documents = [report.DOCUMENT, report.README]
    if folder != report.RESULTS:
        documents = [Path(shutil.copy(path, folder)) for path in documents]
    report.write(folder, documents)
    # In a process of its own: the library that draws is needed by nothing else here.
    done = subprocess.run([sys.executable, "-m", "benchmarks.plots", str(folder)], cwd=report.ROOT, check=False)
    print(f"tables in {', '.join(str(path) for path in documents)}; results and plots in {folder}")
    return done.returncode == 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="The benchmark of this project.")
    parser.add_argument("parts", nargs="*", metavar="PART", help="what to run (default: all but simulation)")
    parser.add_argument("--quick", action="store_true", help="small sizes, in a few minutes")
    parser.add_argument("--results", type=Path, help="where results go, and tables with them")
    parser.add_argument("--list", action="store_true", help="list the parts and end")
    parser.add_argument("--report", action="store_true", help="run nothing; write tables and plots from the results")
    return parser


if __name__ == "__main__":
    sys.exit(main())
