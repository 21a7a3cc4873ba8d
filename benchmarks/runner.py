"""Runs the parts of the benchmark, each as a command of its own, and keeps what they found as files."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from threading import Thread, Timer
from typing import Any, Final, Self

from benchmarks import machine
from benchmarks.runner_parts import JSON_FILE, Part
from benchmarks.runner_process import running, stop

ROOT: Final = machine.ROOT
# The library is not installed where the other systems are.
LIBRARY: Final = ROOT / "layers" / "memory" / "python"
_DIGITS: Final = 5
_LINES_KEPT_MAX: Final = 400
# By SIGTERM, or by leaving because of it.
_ENDED_CODES: Final = (-15, 143)
_ERROR_BYTES_KEPT_MAX: Final = 4_096


class Status(StrEnum):
    """How a part ended."""

    OK = "ok"
    FAILED = "failed"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one part found.

    Attributes:
        figures: its JSON document; without one, ``{"text": [lines]}``.
        message: why there are none.
    """

    part: str
    status: Status
    is_quick: bool
    command: str
    seconds: float
    machine: dict[str, Any]
    message: str = ""
    figures: Any = None

    @property
    def is_text(self) -> bool:
        """True if there is no document, but what the part has printed: some write none, or ended too early."""
        return isinstance(self.figures, dict) and list(self.figures) == ["text"]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return what ``write`` wrote."""
        document = json.loads(path.read_text("utf-8"))
        return cls(**{**document, "status": Status(document["status"])})

    def write(self, folder: Path) -> None:
        """Write it as a file of its part."""
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({**asdict(self), "figures": _rounded(self.figures)}, indent=1, ensure_ascii=False)
        (folder / f"{self.part}.json").write_text(text + "\n", "utf-8")


def read_results(folder: Path) -> dict[str, Result]:
    """Return the results in a directory by part."""
    return {path.stem: Result.read(path) for path in sorted(folder.glob("*.json"))}


def _rounded(value: Any) -> Any:
    """Return the same with numbers of so many digits as mean something."""
    match value:
        case dict():
            return {key: _rounded(one) for key, one in value.items()}
        case list() | tuple():
            return [_rounded(one) for one in value]
        case float():
            return float(f"{value:.{_DIGITS}g}")
    return value


def run(part: Part, *, is_quick: bool) -> Result:
    """Run one part, with its output shown as it comes, and return what it found."""
    described = machine.describe()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        json_file = Path(name) / "result.json"
        started = time.monotonic()
        if message := part.missing():
            status, figures = Status.MISSING, None
        else:
            arguments = [str(json_file) if one == JSON_FILE else one for one in part.command(is_quick=is_quick)]
            code, lines, errors = _stream([str(part.python()), *arguments], part.seconds_max(is_quick=is_quick))
            figures = _figures(json_file, lines, part)
            status = Status.OK if code == 0 else Status.FAILED
            message = "" if code == 0 else _reason(code, errors.splitlines() or lines)
    return Result(
        part=part.name,
        status=status,
        is_quick=is_quick,
        command=_shown(part, is_quick=is_quick),
        seconds=time.monotonic() - started,
        machine=described,
        message=message,
        figures=figures,
    )


def _shown(part: Part, *, is_quick: bool) -> str:
    return f"make bench{' QUICK=1' if is_quick else ''} ARGS={part.name}"


def _reason(code: int, lines: Sequence[str]) -> str:
    last = next((line for line in reversed(lines) if line.strip()), "")
    if code in _ENDED_CODES:
        return f"ended before it was done, for its time was up; its last line is: {last.strip()[:200]}"
    return f"exit code {code}: {last.strip()[:200]}"


def _figures(json_file: Path, lines: list[str], part: Part) -> Any:
    if json_file.exists():
        return json.loads(json_file.read_text("utf-8"))
    if part.prints_json:
        try:
            return json.loads("\n".join(lines))
        except ValueError:
            return None
    return {"text": lines}


def _stream(command: Sequence[str], seconds_max: float) -> tuple[int, list[str], str]:
    """Run a command, show all it prints, and return its exit code, its lines and the end of its errors.

    It is ended when its time is up.
    """
    lines: list[str] = []
    errors = bytearray()
    pipe = subprocess.PIPE
    with running(command, cwd=ROOT, env=_environment(), stdout=pipe, stderr=pipe) as process:
        timer = Timer(seconds_max, stop, [process])
        timer.start()
        showing = Thread(target=_show_errors, args=[process, errors])
        showing.start()
        assert process.stdout is not None
        for line in process.stdout:
            print(f"  {line}", end="", flush=True)
            lines.append(line.rstrip("\n"))
        code = process.wait()
        # Whoever ended it at the last moment is waited for.
        timer.cancel()
        timer.join()
        # Something that the command left behind may still hold the pipe.
        stop(process)
        showing.join()
    return code, lines[-_LINES_KEPT_MAX:], errors.decode("utf-8", "replace")


def _show_errors(process: "subprocess.Popen[str]", errors: bytearray) -> None:
    """Pass on what comes as it comes, progress bars included, and keep the end of it."""
    assert process.stderr is not None
    while part := os.read(process.stderr.fileno(), 4_096):
        sys.stderr.write(part.decode("utf-8", "replace"))
        sys.stderr.flush()
        errors += part
        del errors[:-_ERROR_BYTES_KEPT_MAX]


def _environment() -> dict[str, str]:
    environment = os.environ | {"PYTHONPATH": str(LIBRARY)}
    # Progress bars that nobody watches need not fill a log.
    return environment if sys.stderr.isatty() else {"TQDM_MININTERVAL": "10", **environment}
