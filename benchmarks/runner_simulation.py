"""Runs the simulation and keeps what it found: seeds that failed, deliberate mistakes that were not caught.

python -m benchmarks.runner_simulation [--seeds 10000] [--mutations] [--json FILE]
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]


def run(*arguments: str) -> tuple[int, str]:
    """Run the simulation and return its exit code and output."""
    command = [sys.executable, "-m", "tests.simulation", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout[-1_000:], flush=True)
    return done.returncode, done.stdout


def read_seeds(output: str) -> dict[str, int]:
    """Return how many seeds ran and how many failed.

    Raises:
        ValueError: the output does not say.
    """
    found = re.search(r"(\d+) seeds in .* (\d+) failed", output)
    if not found:
        raise ValueError(f"the simulation ended with {output[-200:]!r}")
    return {"seeds": int(found[1]), "failed": int(found[2])}


def read_mutations(output: str) -> dict[str, int]:
    """Return how many deliberate mistakes there are and how many were caught.

    Raises:
        ValueError: the output does not say.
    """
    found = re.search(r"(\d+) of (\d+) mutations caught", output)
    if not found:
        raise ValueError(f"the simulation ended with {output[-200:]!r}")
    return {"mutations": int(found[2]), "caught": int(found[1])}


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, and return the exit code."""
    parser = argparse.ArgumentParser(description="The simulation, as a part of the benchmark.")
    parser.add_argument("--seeds", type=int, default=1_500)
    parser.add_argument("--mutations", action="store_true", help="also show that every deliberate mistake is caught")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there")
    arguments = parser.parse_args(argv)
    code, output = run("--seeds", str(arguments.seeds))
    found: dict[str, Any] = read_seeds(output)
    if arguments.mutations:
        mutations_code, output = run("--mutations")
        code, found = code or mutations_code, found | read_mutations(output)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
