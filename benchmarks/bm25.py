"""Compares this index with a single JSON index and with bm25s (numba), on synthetic memories in one run.

    .venv/bin/python benchmarks/bm25.py [--sizes 10000 100000 1000000] [--json FILE]

Every contender is built in one process and measured in another, so that load time and peak memory are its own. Words
follow Zipf's law without its 100 commonest (stop words); a memory has 12 on average, a query has 5 words of one memory.
One memory in 20 was updated and one in 50 deleted: this index in several segments still holds the old rows and the
deletions, one of the segments being the 64 log entries not folded yet; the others were built from what is left.
Query times are computing only, on one thread. "BM25" goes from the query's words to numbers and scores of the best 10
rows, as bm25s does; "search" is all this index does: filters, expiry, recency, importance, ties and ids as well.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.single_file_index import SingleFileIndex
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.ranking import Ranking
from s3_agent_memory.index import bm25, log, merge_policy, top_k
from s3_agent_memory.index.query import Query
from s3_agent_memory.index.row import Row
from s3_agent_memory.index.searcher import search
from s3_agent_memory.index.segment import Segment, build_segment
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.terms import BODY, TAG, USER, term_hash

SEED = 20_261_101
VOCABULARY = 60_000
STOP_WORDS = 100
K1, B, TOP = 0.9, 0.4, 10
QUERY_COUNT = 200
SINGLE_FILE_MAX = 100_000
START_US = 1_760_000_000_000_000
STEP_US = 60_000_000
KINDS = tuple(Kind)
OURS = {"ours, 1 segment": 1, "ours, 4 segments": 4, "ours, 8 segments": 8}
CONTENDERS = (*OURS, "bm25s numba", "single JSON")


class Corpus:
    """Memories by number: words, and which were updated (their first version has other words) or deleted."""

    def __init__(self, size: int) -> None:
        rng = np.random.default_rng(SEED)
        weights = 1 / np.arange(STOP_WORDS + 1, STOP_WORDS + 1 + VOCABULARY)
        cumulative = np.cumsum(weights) / weights.sum()
        self.size = size
        self.names = [f"word{number}" for number in range(VOCABULARY)]
        lengths = rng.integers(6, 19, size=2 * size)
        words = np.searchsorted(cumulative, rng.random(int(lengths.sum())))
        self._words = words.clip(0, VOCABULARY - 1)
        self._ends = np.concatenate(([0], np.cumsum(lengths)))
        self.is_updated = rng.random(size) < 0.05
        self.is_deleted = rng.random(size) < 0.02

    def words(self, number: int, *, is_first: bool = False) -> list[str]:
        """Return the words of a memory, or those of its first version if it was updated."""
        index = 2 * number + is_first
        return [self.names[word] for word in self._words[self._ends[index] : self._ends[index + 1]].tolist()]

    def live(self) -> Iterator[int]:
        """Yield the numbers of the memories that are not deleted."""
        return iter(np.flatnonzero(~self.is_deleted).tolist())

    def queries(self) -> list[list[str]]:
        """Return queries of five different words of one live memory each."""
        rng = np.random.default_rng(SEED + 1)
        found: list[list[str]] = []
        while len(found) < QUERY_COUNT:
            number = int(rng.integers(self.size))
            words = sorted(set(self.words(number)))
            if not self.is_deleted[number] and len(words) >= 5:
                found.append(rng.permutation(words)[:5].tolist())
        return found


def memory_id(number: int) -> str:
    """Return the id of a memory, as long as generated ones."""
    return f"{(START_US + number * STEP_US) // 1_000:012x}{number:012x}"


def row_of(number: int, words: Sequence[str], *, version: int = 1) -> Row:
    """Return the row of a memory of these words, with one tag and a user."""
    terms = dict(Counter(term_hash(BODY, word) for word in words))
    terms[term_hash(TAG, f"tag{number % 40}")] = 1
    terms[term_hash(USER, f"user{number % 500}")] = 1
    moment_us = START_US + number * STEP_US
    return Row(
        id=memory_id(number),
        kind=KINDS[number % 3],
        version=version,
        etag_hash=number + 1,
        created_us=moment_us,
        updated_us=moment_us + version,
        importance=number % 11 / 10,
        length=len(words),
        terms=terms,
    )


def rows_of(corpus: Corpus, numbers: Sequence[int]) -> Iterator[Row]:
    """Yield the rows that folds once wrote for these memories: first versions of those that were updated."""
    for number in numbers:
        yield row_of(number, corpus.words(number, is_first=bool(corpus.is_updated[number])))


def changes_of(corpus: Corpus) -> Iterator[Row]:
    """Yield the rows of updates and deletions."""
    for number in np.flatnonzero(corpus.is_updated & ~corpus.is_deleted).tolist():
        yield row_of(number, corpus.words(number), version=2)
    for number in np.flatnonzero(corpus.is_deleted).tolist():
        moment_us = START_US + number * STEP_US
        yield Row(
            id=memory_id(number), kind=KINDS[number % 3], version=9, is_deleted=True, updated_us=moment_us, terms={}
        )


def segment_of(rows: Iterator[Row] | Sequence[Row]) -> bytes:
    """Return a segment of rows."""
    return build_segment(rows, analyzer_signature="english/1")


def build_ours(corpus: Corpus, folder: Path, segment_count: int) -> dict[str, float]:
    """Write the index as one compacted segment, or as several, of which one holds the changes and one is the log."""
    if segment_count == 1:
        rows = (row_of(number, corpus.words(number)) for number in corpus.live())
        bodies = [segment_of(rows)]
    else:
        changes = list(changes_of(corpus))
        folded, tail = changes[:-64], changes[-64:]
        pieces = np.array_split(np.arange(corpus.size), segment_count - 2)
        bodies = [segment_of(rows_of(corpus, piece.tolist())) for piece in pieces]
        bodies += [segment_of(folded), segment_of(tail)]
    for number, body in enumerate(bodies):
        (folder / f"{number:03}.seg").write_bytes(body)
    return {
        "bytes_per_memory": sum(map(len, bodies)) / corpus.size,
        "bytes_per_write": ours_bytes_per_write(corpus),
    }


def ours_bytes_per_write(corpus: Corpus) -> float:
    """Return what one write sends in the long run: its log entry, its fold, and a merge for each tier above."""
    rows = [row_of(number, corpus.words(number)) for number in range(min(corpus.size, 40_000))]
    entries = [len(log.encode_entry(log.LogEntry(row, "english/1"))) for row in rows[:64]]
    manifest_bytes = 4_096  # Swapped at every fold and merge; tens of segments at 90 bytes, and stamps.
    total = sum(entries) / 64 + (len(segment_of(rows[:64])) + manifest_bytes) / 64
    tier = 64 * merge_policy.FAN_OUT
    while tier <= min(corpus.size, merge_policy.ROWS_MAX):
        sample = rows[:tier]
        total += len(segment_of(sample)) / len(sample)
        tier *= merge_policy.FAN_OUT
    return total


def build_bm25s(corpus: Corpus, folder: Path) -> dict[str, float]:
    """Write the index of bm25s."""
    import bm25s  # type: ignore[import-untyped]

    retriever = bm25s.BM25(k1=K1, b=B, method="lucene", backend="numba")
    retriever.index([corpus.words(number) for number in corpus.live()], show_progress=False)
    retriever.save(folder, show_progress=False)
    size_bytes = sum(item.stat().st_size for item in folder.iterdir())
    # It cannot be changed, only built again: every write is the whole index.
    return {"bytes_per_memory": size_bytes / corpus.size, "bytes_per_write": size_bytes}


def build_single_file(corpus: Corpus, folder: Path) -> dict[str, float]:
    """Write the single JSON index."""
    index = SingleFileIndex({})
    for number in corpus.live():
        metadata = {
            "kind": KINDS[number % 3],
            "created_at": START_US + number * STEP_US,
            "updated_at": START_US + number * STEP_US,
            "expires_at": None,
            "importance": number % 11 / 10,
            "tags": [f"tag{number % 40}"],
            "version": 1,
        }
        index.put(memory_id(number), corpus.words(number), metadata)
    body = index.encode()
    (folder / "_index.json").write_bytes(body)
    return {"bytes_per_memory": len(body) / corpus.size, "bytes_per_write": len(body)}


def open_ours(folder: Path) -> dict[str, Callable[[list[str]], object]]:
    """Load our index; return its ways to search."""
    segments = [Segment.decode(path.read_bytes(), path.name) for path in sorted(folder.glob("*.seg"))]
    snapshot = Snapshot(segments)
    now_us = START_US + 2_000_000 * STEP_US
    options: dict[str, Any] = {"kind": None, "tags": (), "conditions": (), "ranking": Ranking(k1=K1, b=B)}

    def by_bm25(words: list[str]) -> object:
        scores = bm25.score(snapshot, [term_hash(BODY, word) for word in words], k1=K1, b=B)
        best = top_k.top_candidates(scores.values, TOP)
        best = best[np.argsort(-scores.values[best], kind="stable")][:TOP]
        return scores.docs[best], scores.values[best]

    def by_search(words: list[str]) -> object:
        return search(snapshot, Query.of_terms(words), meaning=None, now_us=now_us, **options).top(0, TOP)

    return {"query": by_bm25, "search": by_search}


def open_bm25s(folder: Path) -> dict[str, Callable[[list[str]], object]]:
    """Load the index of bm25s, with its numba scorer."""
    import bm25s

    retriever = bm25s.BM25.load(folder, load_corpus=False)
    retriever.backend = "numba"
    retriever.activate_numba_scorer()
    return {"query": lambda words: retriever.retrieve([words], k=TOP, show_progress=False, n_threads=1)}


def open_single_file(folder: Path) -> dict[str, Callable[[list[str]], object]]:
    """Load the single JSON index."""
    index = SingleFileIndex.decode((folder / "_index.json").read_bytes())
    return {"query": lambda words: index.search(words, TOP, k1=K1, b=B)}


def build(contender: str, size: int, folder: Path) -> dict[str, float]:
    """Build one contender's index in ``folder``."""
    corpus = Corpus(size)
    (folder / "queries.json").write_text(json.dumps(corpus.queries()))
    started = perf_counter()
    index_folder = folder / "index"
    index_folder.mkdir()
    if contender in OURS:
        figures = build_ours(corpus, index_folder, OURS[contender])
    else:
        figures = (build_bm25s if contender == "bm25s numba" else build_single_file)(corpus, index_folder)
    return {**figures, "build_s": perf_counter() - started}


def measure(contender: str, folder: Path) -> dict[str, float]:
    """Load one contender's index and time the queries; p50 and p95 over all queries, each asked several times."""
    queries = json.loads((folder / "queries.json").read_text())
    openers = {"bm25s numba": open_bm25s, "single JSON": open_single_file}
    if contender == "bm25s numba":
        # Its import compiles; that is not load time.
        import bm25s  # noqa: F401
    started = perf_counter()
    ways = openers.get(contender, open_ours)(folder / "index")
    figures = {"load_ms": (perf_counter() - started) * 1e3}
    is_slow = contender == "single JSON"
    queries = queries[:10] if is_slow else queries
    for name, way in ways.items():
        for words in queries[: 1 if is_slow else 20]:
            way(words)
        times_ms = [_time_ms(way, words) for _ in range(1 if is_slow else 5) for words in queries]
        figures[f"{name}_p50_ms"], figures[f"{name}_p95_ms"] = np.percentile(times_ms, [50, 95]).tolist()
    figures["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures


def _time_ms(way: Callable[[list[str]], object], words: list[str]) -> float:
    started = perf_counter()
    way(words)
    return (perf_counter() - started) * 1e3


def run(contender: str, size: int) -> dict[str, float]:
    """Build and measure one contender, each in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        figures: dict[str, float] = {}
        for step in ("build", "measure"):
            command = [sys.executable, __file__, "--step", step, contender, str(size), name]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
            figures |= json.loads(done.stdout)
    return figures


def show(size: int, results: dict[str, dict[str, float]]) -> None:
    """Print the figures of one size, and how they compare."""
    columns = {
        "load ms": "load_ms",
        "BM25 p50 ms": "query_p50_ms",
        "p95": "query_p95_ms",
        "search p50 ms": "search_p50_ms",
        "p95 ": "search_p95_ms",
        "B/write": "bytes_per_write",
        "B/memory": "bytes_per_memory",
        "build s": "build_s",
        "peak MB": "peak_mb",
    }
    print(f"\n{size:,} memories, queries of 5 words, k = {TOP}")
    print(f"{'':24}" + "".join(f"{title:>15}" for title in columns))
    for contender, figures in results.items():
        cells = (figures.get(key) for key in columns.values())
        print(f"{contender:24}" + "".join(f"{'-':>15}" if cell is None else f"{cell:>15,.3f}" for cell in cells))
    for ours in OURS:
        base = results[ours]
        for other in CONTENDERS[len(OURS) :]:
            if other in results:
                faster = results[other]["query_p50_ms"] / base["query_p50_ms"]
                searching = results[other]["query_p50_ms"] / base["search_p50_ms"]
                fewer = results[other]["bytes_per_write"] / base["bytes_per_write"]
                print(f"{ours} against {other}: BM25 {faster:,.2f}x, whole search {searching:,.2f}x as fast; ", end="")
                print(f"{fewer:,.0f}x fewer bytes a write")


def _relaunch_without_blas_settings() -> None:
    # Settings of OpenBLAS left in the environment slow down numba and numpy alike.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    if len(clean) < len(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.argv], clean)


def main() -> None:
    """Run the comparison, or one step of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--step", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    _relaunch_without_blas_settings()
    if arguments.step:
        step, contender, size, name = arguments.step
        folder = Path(name)
        print(json.dumps(build(contender, int(size), folder) if step == "build" else measure(contender, folder)))
        return
    everything: dict[str, dict[str, dict[str, float]]] = {}
    for size in arguments.sizes:
        contenders = [name for name in CONTENDERS if name != "single JSON" or size <= SINGLE_FILE_MAX]
        results = {contender: run(contender, size) for contender in contenders}
        show(size, results)
        everything[str(size)] = results
    if arguments.json:
        arguments.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
