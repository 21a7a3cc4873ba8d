"""The parts of the benchmark: their commands, full and quick, and what they need."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
MODEL: Final = ROOT / ".build" / "model" / "model.onnx"
PEERS_PYTHON: Final = ROOT / ".build" / "peers-venv" / "bin" / "python"
# Stands for the file that a command writes its JSON document to.
JSON_FILE: Final = "{json}"
_QUICK_SECONDS_MAX: Final = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One benchmark of the suite.

    Attributes:
        says: what it measures, in a few words.
        module: run with ``-m``.
        common, full, quick: arguments always, of a full run and of a quick one.
        needs_model: whether the embedding model must be there.
        is_for_peers: whether it runs where the other systems are installed, if that was set up.
        prints_json: whether its standard output is its JSON document.
        is_on_demand: whether a full run leaves it out unless it is named, for it takes long.
        full_seconds_max: after how long a full run ends it.
    """

    name: str
    says: str
    module: str
    common: tuple[str, ...] = ("--json", JSON_FILE)
    full: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()
    needs_model: bool = False
    is_for_peers: bool = False
    prints_json: bool = False
    is_on_demand: bool = False
    full_seconds_max: float = 1_800.0

    def command(self, *, is_quick: bool) -> list[str]:
        """Return the arguments after the interpreter; what writes no document is kept as the text that it prints."""
        common = () if JSON_FILE in self.common and not self._offers_json() else self.common
        return ["-m", self.module, *common, *(self.quick if is_quick else self.full)]

    def _offers_json(self) -> bool:
        return '"--json"' in self._source().read_text("utf-8")

    def _source(self) -> Path:
        path = ROOT / Path(*self.module.split("."))
        return path / "__main__.py" if path.is_dir() else path.with_suffix(".py")

    def python(self) -> Path:
        """Return the interpreter to run it with."""
        return PEERS_PYTHON if self.is_for_peers and PEERS_PYTHON.exists() else Path(sys.executable)

    def seconds_max(self, *, is_quick: bool) -> float:
        """Return after how long it is ended."""
        return _QUICK_SECONDS_MAX if is_quick else self.full_seconds_max

    def missing(self) -> str:
        """Return what is missing to run it, or nothing."""
        if not self._source().exists():
            return f"there is no {self.module}"
        if self.needs_model and not MODEL.exists():
            return "the embedding model is not there: `make model` builds it"
        return ""


def _sizes(*values: int) -> tuple[str, ...]:
    return ("--sizes", *map(str, values))


_PARTS: Final = (
    Part(
        name="quality",
        says="how well memories are found, on conversations and notes",
        module="benchmarks.quality",
        common=("--json", JSON_FILE),
        full=("--check",),
        quick=("--quick", "--parts", "compare"),
        needs_model=True,
    ),
    Part(
        name="peers",
        says="other memory systems side by side",
        module="benchmarks.peers",
        full=(*_sizes(1_000, 10_000, 100_000, 1_000_000), "--budget", "240", "--step-seconds", "8"),
        quick=(
            *_sizes(300),
            "--quick",
            "--texts-max",
            "1024",
            "--writes",
            "10",
            "--budget",
            "20",
            "--step-seconds",
            "1",
        )
        + ("--only", "s3-agent-memory", "single file", "bm25s", "LangGraph InMemoryStore"),
        needs_model=True,
        is_for_peers=True,
    ),
    Part(
        name="bm25",
        says="scoring by words",
        module="benchmarks.bm25",
        full=_sizes(10_000, 100_000, 1_000_000),
        quick=_sizes(5_000),
    ),
    Part(
        name="hybrid",
        says="the whole computation of a search",
        module="benchmarks.hybrid",
        full=(*_sizes(10_000, 100_000, 1_000_000), "--texts-max", "10240"),
        quick=(*_sizes(2_000), "--texts-max", "1024"),
        needs_model=True,
    ),
    Part(
        name="vectors",
        says="vector search against numpy and usearch",
        module="benchmarks.vectors",
        full=(*_sizes(100_000, 1_000_000), "--embed-max", "10240", "--hnsw-max", "100000"),
        quick=(*_sizes(2_000), "--embed-max", "1024", "--hnsw-max", "0"),
        needs_model=True,
    ),
    Part(
        name="requests",
        says="requests and bytes of each operation",
        module="benchmarks.request_counts",
        full=_sizes(10, 1_000, 100_000),
        quick=(*_sizes(10, 1_000), "--writes", "200"),
    ),
    Part(
        name="concurrency",
        says="many writers of one namespace",
        module="benchmarks.concurrency",
        full=("--writers", "32", "--writes", "200"),
        quick=("--writers", "8", "--writes", "20"),
    ),
    Part(
        name="rebuild",
        says="a new index from the objects alone",
        module="benchmarks.rebuild",
        full=("--count", "100000"),
        quick=("--count", "2000"),
    ),
    Part(
        name="s3_latency",
        says="what a caller waits on S3, modelled, and measured on an S3 server of this machine",
        module="benchmarks.s3_latency",
        full=_sizes(1_000, 10_000, 100_000),
        quick=(*_sizes(1_000), "--server-sizes", "200", "--samples", "30"),
    ),
    Part(
        name="cost",
        says="what a million requests cost",
        module="benchmarks.runner_cost",
    ),
    Part(
        name="scale",
        says="large installations, simulated",
        module="benchmarks.scale",
        quick=("--quick",),
    ),
    Part(
        name="conversation",
        says="whole conversations",
        module="benchmarks.conversation",
        full=("--turns", "2000"),
        quick=("--turns", "300"),
    ),
    Part(
        name="mcp",
        says="the MCP endpoint",
        module="benchmarks.mcp",
        common=("--json",),
        quick=("--memories", "100", "--requests", "30"),
        prints_json=True,
    ),
    Part(
        name="embedding",
        says="the embedding model and the cold start",
        module="benchmarks.embedding",
        needs_model=True,
    ),
    Part(
        name="transfer",
        says="export and import",
        module="benchmarks.transfer",
        full=("--count", "20000"),
        quick=("--count", "500"),
    ),
    Part(
        name="consolidation",
        says="finding and settling duplicates",
        module="benchmarks.consolidation",
        full=("--count", "20000", "--duplicates", "400"),
        quick=("--count", "500", "--duplicates", "20"),
    ),
    Part(
        name="simulation",
        says="seeded schedules with faults, and deliberate mistakes",
        module="benchmarks.runner_simulation",
        full=("--seeds", "10000", "--mutations"),
        is_on_demand=True,
        full_seconds_max=7_200.0,
        quick=("--seeds", "50"),
    ),
)

PARTS: Final[Mapping[str, Part]] = {part.name: part for part in _PARTS}
