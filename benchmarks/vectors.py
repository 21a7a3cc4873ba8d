"""Measures vector search against numpy and usearch: time, recall, load time and size, on one thread in one run.

    .venv/bin/python benchmarks/vectors.py [--sizes 0 100000 1000000] [--texts PATH ...] [--data DIR] [--json FILE]

Vectors are real embeddings (size 0 stands for these alone), enlarged as `vector_corpus.py` says. Queries are questions
about the texts, embedded the same way; embedding them is not part of the times. Recall is against the exact float32
result: the share of the best k that is among the first k found. Every contender is built in one process and measured
in another, so that load time and peak memory are its own.

"ours" is in segments and shards of at most 250,000 rows, at which merging stops; "ours, 8 + tail" in eight, with a tail
of 64 memories that are not folded yet. For a search "both" is what counts: the nearest candidates, then the cosines of
those and of as many that words have found, the latter alone being "cosines". "all int8" scores every memory: what it
misses is lost by the int8 codes, and only what "k=10" misses beyond that by choosing candidates. "refresh" makes a view
after a write has brought a new tail, "join" the first view of a process. Filters let a share of all memories through.
The CPU time beside the wall time tells how busy the machine was with other things.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import vector_corpus as corpus
from benchmarks.vector_contenders import (
    CONTENDERS,
    FILTER_SHARES,
    OURS,
    OURS_MANY,
    TOP,
    TOP_MAX,
    Found,
    Way,
    is_eligible,
    since_ms,
)
from benchmarks.vector_corpus import Vectors

QUERY_COUNT = 200
# numpy reads these when it is imported; other settings of OpenBLAS would slow it down.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

# Vectors, the way of searching that is judged by it, and how many it should find.
TRUTHS = (
    ("nearest", "best.npy", TOP),
    ("nearest100", "best.npy", TOP_MAX),
    ("both", "best.npy", TOP),
    ("exhaustive", "best.npy", TOP),
    *((f"filter{share}", f"best-{share}.npy", TOP) for share in FILTER_SHARES),
)


# The truth -----------------------------------------------------------------------------------------------------------


def prepare(real: Vectors, queries: Vectors, size: int, folder: Path) -> None:
    """Write the vectors of one size, and what an exact search finds for each query, with each filter."""
    vectors = corpus.enlarge(real, size)
    np.save(folder / "vectors.npy", vectors)
    np.save(folder / "queries.npy", queries)
    cosines = queries @ vectors.T
    np.save(folder / "best.npy", _best(cosines, TOP_MAX))
    for share in FILTER_SHARES:
        eligible = np.flatnonzero(is_eligible(size, share))
        np.save(folder / f"best-{share}.npy", eligible[_best(cosines[:, eligible], TOP)])


def _best(cosines: Vectors, count: int) -> Found:
    """Return the columns of the highest values of each row, the highest first."""
    return np.array(
        [best[np.argsort(-row[best])] for row in cosines for best in [np.argpartition(-row, count)[:count]]]
    )


# Measuring -----------------------------------------------------------------------------------------------------------


def build(contender: str, folder: Path) -> dict[str, float]:
    """Build one contender's files."""
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    started = perf_counter()
    CONTENDERS[contender].build(vectors, folder / "index")
    files = list((folder / "index").iterdir())
    # What a segment holds is needed for words as well.
    size_bytes = sum(file.stat().st_size for file in files if file.suffix != ".seg")
    return {"build_s": perf_counter() - started, "bytes_per_vector": size_bytes / len(vectors)}


def measure(contender: str, folder: Path) -> dict[str, float]:
    """Load one contender and time every way to search over all queries, then see what it finds."""
    queries = np.load(folder / "queries.npy")
    opened = CONTENDERS[contender].open(folder / "index")
    figures = dict(opened.figures)
    for name, way in opened.ways.items():
        for query in queries[:10]:
            way(query)
        times_ms = np.array([_time_ms(way, query) for query in queries])
        figures[f"{name}_p50_ms"], figures[f"{name}_p95_ms"] = np.percentile(times_ms[:, 0], [50, 95]).tolist()
        figures[f"{name}_cpu_ms"] = float(np.median(times_ms[:, 1]))
    figures |= _peak_mb()
    for name, truth, count in TRUTHS:
        if name in opened.ways:
            best = np.load(folder / truth)[:, :count]
            figures[f"{name}_recall"] = _recall(opened.ways[name], queries, best)
    return figures


def _recall(way: Way, queries: Vectors, best: Found) -> float:
    hits = [len(np.intersect1d(way(query), row)) for query, row in zip(queries, best, strict=True)]
    return float(np.mean(hits)) / best.shape[1]


def _peak_mb() -> dict[str, float]:
    # What the operating system's usage figures say of a process includes the one that started it; this does not.
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return {"peak_mb": int(found[1]) / 1024} if found else {}


def _time_ms(way: Way, query: Vectors) -> tuple[float, float]:
    started, cpu_started = perf_counter(), process_time()
    way(query)
    return since_ms(started), (process_time() - cpu_started) * 1e3


def run(contender: str, folder: Path) -> dict[str, float]:
    """Build and measure one contender, each in a process of its own."""
    figures: dict[str, float] = {}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")} | ONE_THREAD
    with tempfile.TemporaryDirectory(dir=folder, prefix="index-") as name:
        (folder / "index").symlink_to(name)
        for step in ("build", "measure"):
            command = [sys.executable, __file__, "--step", step, contender, str(folder)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
            figures |= json.loads(done.stdout)
        (folder / "index").unlink()
    return figures


COLUMNS = {
    "k=10 p50 ms": "nearest_p50_ms",
    "p95": "nearest_p95_ms",
    "CPU": "nearest_cpu_ms",
    "recall": "nearest_recall",
    "k=100 p50": "nearest100_p50_ms",
    "CPU ": "nearest100_cpu_ms",
    "recall ": "nearest100_recall",
    "load ms": "load_ms",
    "B/vector": "bytes_per_vector",
    "build s": "build_s",
    "peak MB": "peak_mb",
}
OWN_COLUMNS = {
    "both p50 ms": "both_p50_ms",
    "p95": "both_p95_ms",
    "CPU": "both_cpu_ms",
    "recall": "both_recall",
    "cosines": "cosines_p50_ms",
    "CPU ": "cosines_cpu_ms",
    "all int8 ms": "exhaustive_p50_ms",
    "recall ": "exhaustive_recall",
    **{
        f"{title.format(share)}": f"filter{share}_{name}"
        for share in FILTER_SHARES
        for title, name in (("{:.0%} ms", "p50_ms"), ("{:.0%} recall", "recall"))
    },
    "join CPU": "join_cpu_ms",
    "refresh CPU": "refresh_cpu_ms",
}


def show(title: str, results: Mapping[str, Mapping[str, float]]) -> None:
    """Print the figures of one size."""
    print(f"\n{title}")
    for columns, names in ((COLUMNS, list(results)), (OWN_COLUMNS, [OURS, OURS_MANY])):
        print(f"{'':20}" + "".join(f"{head:>13}" for head in columns))
        for name in names:
            cells = (results[name].get(key) for key in columns.values())
            print(f"{name:20}" + "".join(f"{'-':>13}" if cell is None else f"{cell:>13,.3f}" for cell in cells))


def main() -> None:
    """Run the comparison, or one step of it."""
    arguments = _parse()
    if arguments.step:
        step, contender, folder = arguments.step
        print(json.dumps((build if step == "build" else measure)(contender, Path(folder))))
        return
    embedder = corpus.OnnxEmbedder(arguments.model)
    texts, questions = corpus.read_texts(arguments.texts, arguments.data, count_max=arguments.embed_max)
    real = corpus.embed(texts, embedder)
    queries = corpus.embed(questions[:QUERY_COUNT], embedder)
    everything: dict[str, Any] = {}
    for size in [asked or len(real) for asked in arguments.sizes]:
        with tempfile.TemporaryDirectory() as name:
            prepare(real, queries, size, Path(name))
            contenders = [one for one in CONTENDERS if "HNSW" not in one or size <= arguments.hnsw_max]
            results = {contender: run(contender, Path(name)) for contender in contenders}
        made = max(0, size - len(real))
        title = f"{size:,} vectors of {embedder.name}, {size - made:,} of them real and {made:,} mixtures of neighbours"
        show(f"{title}; {len(queries)} queries", results)
        everything[str(size)] = results
    if arguments.json:
        arguments.json.write_text(json.dumps(everything, indent=1))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[0, 100_000, 1_000_000])
    parser.add_argument("--texts", type=Path, nargs="+", default=[], help="files or directories to take texts from")
    parser.add_argument("--data", type=Path, help="directory of corpora with questions")
    parser.add_argument("--model", type=Path, default=corpus.ROOT / ".build" / "model", help="a model directory")
    parser.add_argument("--embed-max", type=int, default=30_000, help="embed at most so many texts")
    parser.add_argument("--hnsw-max", type=int, default=100_000, help="largest size to build graphs for")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
