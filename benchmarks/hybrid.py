"""Measures the whole computation of a hybrid search: query reading, words, signals, vectors, fusion, the best ten.

    .venv/bin/python benchmarks/hybrid.py [--sizes 10000 100000 1000000] [--data DIR] [--json FILE]

Reading objects and embedding the query are not part of it. The rows are real texts of conversations, notes and
documentation with their real vectors, repeated with other sessions and days until there are enough, the vectors as
`vector_corpus.py` enlarges them; so a word is as frequent among a million as among the texts. "words only" is the
same search without vectors, "classic" the mix of BM25 and cosine without the other signals, "numpy float32" one
product of all vectors with the query and a partition, in the same process. One thread; CPU time beside wall time tells
how busy the machine was.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import vector_corpus as corpus
from benchmarks.quality_corpora import ROOT
from benchmarks.vector_corpus import Vectors
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Attribution, Memory
from s3_agent_memory.domain.ranking import Ranking
from s3_agent_memory.embedding.onnx import OnnxEmbedder
from s3_agent_memory.index.merge_policy import ROWS_MAX
from s3_agent_memory.index.query import read_query
from s3_agent_memory.index.relevance import Meaning
from s3_agent_memory.index.row import Row, row_of_memory
from s3_agent_memory.index.searcher import search
from s3_agent_memory.index.segment import Segment, build_segment
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.index.vectors.layout import encode_shard
from s3_agent_memory.index.vectors.shard import VectorShard, quantise
from s3_agent_memory.index.vectors.view import VectorView

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
QUERY_COUNT = 100
WARM_UP_COUNT = 10
TOP = 10
TURNS_A_SESSION = 20
TEXT_COUNT_MAX = 30_000
MODEL = "benchmark"
_START = datetime(2025, 1, 1, tzinfo=UTC)
_NOW_US = 1_800_000_000_000_000
_DAY_US = 86_400_000_000


def base_rows(texts: Sequence[str], analyzer: Analyzer) -> Iterator[Row]:
    """Yield a row a text: two people who take turns, twenty turns a session, a minute apart."""
    for number, text in enumerate(texts):
        moment = _START + timedelta(minutes=number)
        session = f"session {number // TURNS_A_SESSION}"
        memory = Memory(
            id=f"{number:024x}",
            namespace=Namespace(("benchmark",)),
            kind=Kind.EPISODIC,
            content=text,
            created_at=moment,
            updated_at=moment,
            attribution=Attribution(author=("Ann", "Bob")[number % 2], session_id=session),
        )
        yield row_of_memory(memory, etag="e", analyzer=analyzer)


def rows_of(base: Sequence[Row], keys: Sequence[int]) -> Iterator[Row]:
    """Yield a row a key: the base rows again and again, each time in other sessions and a day later."""
    for number, key in enumerate(keys):
        row, copy = base[number % len(base)], number // len(base)
        yield replace(
            row,
            id=f"{number:024x}",
            text_key=key,
            session=(row.session + copy * 7_919) % 2**64,
            created_us=row.created_us + copy * _DAY_US,
            sequence=number,
        )


def build(base: Sequence[Row], vectors: Vectors, analyzer: Analyzer) -> tuple[Snapshot, VectorView]:
    """Return the view of a namespace with one memory a vector, in files as large as merging makes them."""
    keys = np.random.default_rng(corpus.SEED).integers(1, 1 << 63, len(vectors), dtype=np.uint64)
    rows = rows_of(base, keys.tolist())
    segments, shards = [], []
    for piece in np.array_split(np.arange(len(vectors)), -(-len(vectors) // ROWS_MAX)):
        body = build_segment(islice(rows, len(piece)), analyzer_signature=analyzer.signature)
        segments.append(Segment.decode(body, "benchmark.seg"))
        ordered = piece[np.argsort(keys[piece])]
        codes, scales = quantise(vectors[ordered])
        shard = encode_shard(keys[ordered], scales, codes, model=MODEL)
        shards.append(VectorShard.decode(shard, "benchmark.vec"))
    snapshot = Snapshot(segments)
    return snapshot, VectorView(snapshot, shards)


def measure(folder: Path) -> dict[str, dict[str, float]]:
    """Build one size and time every way of searching it."""
    analyzer = Analyzer()
    texts, questions = json.loads((folder / "texts.json").read_text("utf-8"))
    vectors, queries = np.load(folder / "vectors.npy"), np.load(folder / "queries.npy")
    snapshot, view = build(list(base_rows(texts, analyzer)), vectors, analyzer)

    def ours(ranking: Ranking, *, has_vectors: bool) -> Callable[[int], object]:
        def run(number: int) -> object:
            query = read_query(questions[number], snapshot, analyzer=analyzer, signals=ranking.signals)
            found = search(
                snapshot,
                query,
                meaning=Meaning(queries[number], view) if has_vectors else None,
                kind=None,
                tags=(),
                conditions=(),
                ranking=ranking,
                now_us=_NOW_US,
            )
            return found.top(0, TOP)

        return run

    def exact(number: int) -> object:
        cosines = vectors @ queries[number]
        return np.argpartition(-cosines, TOP)[:TOP]

    return {
        "hybrid": timed(ours(Ranking(), has_vectors=True), len(questions)),
        "words only": timed(ours(Ranking(), has_vectors=False), len(questions)),
        "classic": timed(ours(Ranking.classic(), has_vectors=True), len(questions)),
        "numpy float32": timed(exact, len(questions)),
    }


def timed(run: Callable[[int], object], count: int) -> dict[str, float]:
    """Return milliseconds of wall and CPU time over all questions."""
    for number in range(min(count, WARM_UP_COUNT)):
        run(number)
    wall_ms, cpu_ms = [], []
    for number in range(count):
        started, cpu_started = perf_counter(), process_time()
        run(number)
        wall_ms.append((perf_counter() - started) * 1e3)
        cpu_ms.append((process_time() - cpu_started) * 1e3)
    p50, p95 = np.percentile(wall_ms, [50, 95]).tolist()
    return {"p50_ms": p50, "p95_ms": p95, "cpu_ms": float(np.median(cpu_ms))}


def run_size(folder: Path, vectors: Vectors) -> dict[str, dict[str, float]]:
    """Measure one size in a process of its own, whose numpy uses one thread."""
    np.save(folder / "vectors.npy", vectors)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    command = [sys.executable, __file__, "--measure", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment | ONE_THREAD)
    results: dict[str, dict[str, float]] = json.loads(done.stdout)
    return results


def show(size: int, results: dict[str, dict[str, float]]) -> None:
    """Print the figures of one size."""
    print(f"\n{size:,} memories{'p50 ms':>18}{'p95 ms':>10}{'CPU ms':>10}")
    for name, figures in results.items():
        print(f"{name:22}" + "".join(f"{figures[key]:>10.2f}" for key in ("p50_ms", "p95_ms", "cpu_ms")))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure every size, or one of them for another process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--data", type=Path, help="directory of corpora with questions")
    parser.add_argument("--model", type=Path, default=ROOT / ".build" / "model", help="a model directory")
    parser.add_argument("--texts-max", type=int, default=TEXT_COUNT_MAX, help="embed at most so many texts")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
        return
    embedder = OnnxEmbedder(arguments.model)
    texts, questions = corpus.read_texts([], arguments.data, count_max=arguments.texts_max)
    real = corpus.embed(texts, embedder)
    asked = questions[:QUERY_COUNT]
    everything = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "queries.npy", corpus.embed(asked, embedder))
        (folder / "texts.json").write_text(json.dumps([texts, asked]), "utf-8")
        for size in arguments.sizes:
            everything[str(size)] = run_size(folder, corpus.enlarge(real, size))
            show(size, everything[str(size)])
    if arguments.json:
        arguments.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
