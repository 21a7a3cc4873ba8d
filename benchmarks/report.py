"""Writes the results into the documents: tables between markers, prose by hand around them.

    python -m benchmarks.report [--results benchmarks/results] [--check]

A marker is a comment ``<!-- results: NAME -->``; what stands between it and ``<!-- end of results -->`` is replaced.
``--check`` writes nothing and fails if a document differs from what it should be.
"""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks import report_tables, report_targets
from benchmarks.report_markdown import text_table
from benchmarks.runner import Result, read_results

ROOT: Final = Path(__file__).resolve().parents[1]
RESULTS: Final = ROOT / "benchmarks" / "results"
DOCUMENT: Final = ROOT / "docs" / "BENCHMARKS.md"
README: Final = ROOT / "README.md"
_BLOCK: Final = re.compile(r"(<!-- results: ([\w-]+) -->\n).*?(<!-- end of results -->)", re.DOTALL)


def fill(document: str, results: Mapping[str, Result]) -> str:
    """Return a document with its tables as the results say.

    Raises:
        KeyError: it names a table that does not exist.
    """
    return _BLOCK.sub(lambda found: f"{found[1]}\n{_render(found[2], results)}\n\n{found[3]}", document)


def _render(name: str, results: Mapping[str, Result]) -> str:
    if name == "targets":
        return report_targets.render(results)
    if name == "machine":
        return machine(results)
    if name == "parts":
        return parts(results)
    return report_tables.render(name, results)


def machine(results: Mapping[str, Result]) -> str:
    """Return where the figures come from; parts that were run elsewhere or later have lines of their own."""
    if not results:
        return "Not measured yet."
    lines = dict.fromkeys(_machine(result) for result in results.values())
    return "\n".join(f"- {line}" for line in lines)


def _machine(result: Result) -> str:
    one = result.machine
    packages = ", ".join(f"{name} {version}" for name, version in one["packages"].items())
    return (
        f"{one['processor']}, {one['cores']} cores, {one['memory_gb']} GB; {one['system']}; Python {one['python']}, "
        f"{packages}; seed {one['seed']}"
    )


def parts(results: Mapping[str, Result]) -> str:
    """Return when and how each part was run."""
    rows = (
        [
            f"`{result.command}`",
            result.machine["date"],
            f"`{result.machine['commit']}`",
            f"{result.machine['load_average']}",
            f"{result.seconds:.0f} s",
            f"{result.status}{': ' if result.message else ''}{result.message.replace('|', '/')}",
        ]
        for result in results.values()
    )
    return text_table(["Command", "Date", "Commit", "Load before", "Took", "Ended"], rows)


def write(results_folder: Path, documents: Sequence[Path]) -> None:
    """Fill the documents from the results in a directory."""
    results = read_results(results_folder)
    for path in documents:
        path.write_text(fill(path.read_text("utf-8"), results), "utf-8")


def outdated(results_folder: Path, documents: Sequence[Path]) -> list[Path]:
    """Return the documents that differ from what the results say."""
    results = read_results(results_folder)
    return [path for path in documents if fill(path.read_text("utf-8"), results) != path.read_text("utf-8")]


def main(argv: Sequence[str] | None = None) -> int:
    """Write or check, and return the exit code."""
    parser = argparse.ArgumentParser(description="Results into documents.")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the results are")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a document is not up to date")
    arguments = parser.parse_args(argv)
    documents = (DOCUMENT, README)
    if not arguments.check:
        write(arguments.results, documents)
        return 0
    found = outdated(arguments.results, documents)
    print("".join(f"{path} is not what the results say: make bench ARGS=--report\n" for path in found), end="")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
