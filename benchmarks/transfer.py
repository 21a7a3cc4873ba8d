"""How long an export and an import of a directory store take, what they need, and what a killed import costs.

    python benchmarks/transfer.py [--count 20000] [--directory DIR]

Five processes, one after the other: an import that is killed (signal 9) half-way, the same import again, once more when
all is there, an export, and a search that shows the index complete. Each is a process of its own, so that its peak
memory is its own. Exit code 1 if a line is lost, doubled or changed on its way.
"""

import argparse
import hashlib
import json
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import IO, Any

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.synthetic_memories import Corpus
from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.checksum_line import with_checksum
from s3_agent_memory.domain.codec import encode_memory

NAMESPACE = "moved"
_REPORT_EVERY = 1_000


@dataclass(frozen=True, slots=True)
class Step:
    """What one process took and what it said in the end; None if it was killed."""

    name: str
    seconds: float
    peak_mib: float | None
    said: dict[str, object] | None


def write_lines(path: Path, count: int) -> None:
    """Write an export of so many memories."""
    lines = (encode_memory(memory).decode() for memory in Corpus().memories(NAMESPACE, count))
    with path.open("w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in with_checksum(lines))


# What the processes do -----------------------------------------------------------------------------------------------


def import_file(store: MemoryStore, path: Path) -> dict[str, object]:
    """Import a file and say every now and then how far it is."""

    def say(done: int, _total: int | None) -> None:
        if done % _REPORT_EVERY < 512:
            print(json.dumps({"done": done}), flush=True)

    with path.open("rb") as file:
        report = store.import_(NAMESPACE, (line.rstrip(b"\n") for line in file), progress=say)
    names = ("imported", "skipped", "refused", "failed", "checksum")
    return {name: getattr(report, name) for name in names}


def export_file(store: MemoryStore, path: Path) -> dict[str, object]:
    """Export into a file."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for line in with_checksum(store.export(NAMESPACE)):
            file.write(line + "\n")
            count += 1
    return {"lines": count - 1}


def count_found(store: MemoryStore, _path: Path) -> dict[str, object]:
    """Say how many memories the index holds."""
    stats = store.stats(NAMESPACE)
    return {"memories": stats.memories, "segments": stats.segments, "log_entries": stats.log_entries}


ROLES: dict[str, Callable[[MemoryStore, Path], dict[str, object]]] = {
    "import": import_file,
    "export": export_file,
    "stats": count_found,
}


def play(role: str, url: str, path: Path) -> None:
    """Do one thing, as a process of its own, and say what it took."""
    said = ROLES[role](MemoryStore.from_url(url), path)
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"said": said, "peak_mib": peak_kib / 1024}), flush=True)


# The measurement -----------------------------------------------------------------------------------------------------


def run_step(name: str, role: str, url: str, path: Path, *, killed_at: int | None = None) -> Step:
    """Run a process and wait for its end, or kill it as soon as it says that so many lines are done."""
    started = perf_counter()
    command = [sys.executable, __file__, "--role", role, "--url", url, "--path", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        last = _last_message(process.stdout, killed_at)
        if killed_at is not None:
            process.send_signal(signal.SIGKILL)
    seconds = perf_counter() - started
    if "said" not in last:
        return Step(name, seconds, None, None)
    return Step(name, seconds, last["peak_mib"], last["said"])


def _last_message(output: IO[str], killed_at: int | None) -> dict[str, Any]:
    last: dict[str, Any] = {}
    for line in output:
        last = json.loads(line)
        if killed_at is not None and last.get("done", 0) >= killed_at:
            break
    return last


def measure(folder: Path, count: int) -> tuple[list[Step], list[str]]:
    """Return what every step took, and what is wrong."""
    source, copy, url = folder / "source.jsonl", folder / "copy.jsonl", f"file://{folder / 'store'}"
    write_lines(source, count)
    steps = [
        run_step("import, killed half-way", "import", url, source, killed_at=count // 2),
        run_step("the same import again", "import", url, source),
        run_step("once more, all is there", "import", url, source),
        run_step("export", "export", url, copy),
        run_step("open the index", "stats", url, copy),
    ]
    _, again, idle, exported, index = (step.said or {} for step in steps)
    checks = {
        "the second import accounts for every line": _total(again) == count and again.get("failed") == 0,
        "the third import skips every line": idle.get("skipped") == count,
        "the checksum of the file holds": again.get("checksum") == "verified",
        "the export has every memory": exported.get("lines") == count,
        "the index has every memory": index.get("memories") == count,
        "the lines are byte-equal": _memory_lines_sum(source) == _memory_lines_sum(copy),
    }
    return steps, [name for name, holds in checks.items() if not holds]


def _total(report: dict[str, object]) -> int:
    return sum(int(str(report.get(name, 0))) for name in ("imported", "skipped"))


def _memory_lines_sum(path: Path) -> int:
    # The order differs, and with it the checksum line; the sum over the others must not.
    with path.open("rb") as file:
        lines = (line for line in file if not line.startswith(b'{"checksum"'))
        return sum(int.from_bytes(hashlib.blake2b(line, digest_size=16).digest()) for line in lines) % 2**128


def print_table(steps: Iterable[Step], count: int) -> None:
    """Print one row a step."""
    print(f"{count:,} memories")
    print(f"{'step':<26}{'seconds':>10}{'us a line':>12}{'peak MiB':>10}  report")
    for step in steps:
        peak = "killed" if step.peak_mib is None else f"{step.peak_mib:.0f}"
        print(f"{step.name:<26}{step.seconds:>10.1f}{step.seconds / count * 1e6:>12.0f}{peak:>10}  {step.said or ''}")


def main() -> int:
    """Run the benchmark, or one of its processes; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--directory", help="where to work (default: a temporary directory)")
    parser.add_argument("--role", choices=ROLES, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.role:
        play(arguments.role, arguments.url, arguments.path)
        return 0
    with tempfile.TemporaryDirectory(dir=arguments.directory) as folder:
        steps, wrong = measure(Path(folder), arguments.count)
        # Removing millions of files takes a while, and nobody need wait for it to read this.
        print_table(steps, arguments.count)
        for name in wrong:
            print(f"wrong: not so: {name}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
