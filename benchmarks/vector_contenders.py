"""The systems that are compared in ``vectors.py``: how each is built, loaded and searched."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import numpy.typing as npt

from benchmarks.vector_corpus import SEED, Vectors
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.index.merge_policy import ROWS_MAX
from s3_agent_memory.index.relevance import NEAR_CANDIDATE_COUNT, WORD_CANDIDATE_COUNT
from s3_agent_memory.index.row import Row
from s3_agent_memory.index.segment import Segment, build_segment
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.vectors.layout import encode_shard
from s3_agent_memory.index.vectors.shard import VectorShard, quantise
from s3_agent_memory.index.vectors.view import VectorView

TOP, TOP_MAX = 10, 100
PIECE_COUNT = 8
TAIL_ROWS = 64
REFRESH_COUNT = 6
FILTER_SHARES = (0.1, 0.5)
OURS, OURS_MANY = "ours", "ours, 8 + tail"
NUMPY = "numpy float32"
EXACT_F32, EXACT_I8 = "usearch exact f32", "usearch exact i8"
HNSW_F32, HNSW_I8 = "usearch HNSW f32", "usearch HNSW i8"
MODEL = "benchmark"
SIGNATURE = "benchmark"

Found = npt.NDArray[np.integer]
Way = Callable[[Vectors], Found]


@dataclass(frozen=True)
class Opened:
    """A contender that is ready: its ways to search by name, and figures of its own."""

    ways: Mapping[str, Way]
    figures: Mapping[str, float]


@dataclass(frozen=True)
class Contender:
    """How one system writes its files in a directory, and how it is opened from there."""

    build: Callable[[Vectors, Path], None]
    open: Callable[[Path], Opened]


def is_eligible(size: int, share: float) -> npt.NDArray[np.bool_]:
    """Return which vectors a filter lets through."""
    return np.random.default_rng(SEED).random(size) < share


def since_ms(started: float) -> float:
    """Return the milliseconds since a reading of ``perf_counter``."""
    return (perf_counter() - started) * 1e3


# This index ----------------------------------------------------------------------------------------------------------


def build_ours(vectors: Vectors, folder: Path, piece_count: int, *, tail_rows: int = 0) -> None:
    """Write segments in the order of age, and shards that hold other memories than the segments do."""
    size = len(vectors)
    keys = np.random.default_rng(SEED).integers(1, 1 << 63, size, dtype=np.uint64)
    folded, tail = np.split(np.arange(size), [size - tail_rows])
    shuffled = np.random.default_rng(SEED).permutation(folded)
    for number, piece in enumerate([*np.array_split(folded, piece_count), tail]):
        rows = (row_of(index, int(keys[index])) for index in piece.tolist())
        (folder / f"{number:03}.seg").write_bytes(build_segment(rows, analyzer_signature=SIGNATURE))
    for number, piece in enumerate([*np.array_split(shuffled, piece_count), tail]):
        ordered = piece[np.argsort(keys[piece])]
        codes, scales = quantise(vectors[ordered])
        (folder / f"{number:03}.vec").write_bytes(encode_shard(keys[ordered], scales, codes, model=MODEL))


def row_of(number: int, text_key: int) -> Row:
    """Return the row of a memory; its document number is ``number``, as rows are in the order of age."""
    return Row(
        id=f"{number:024x}", kind=Kind.SEMANTIC, version=1, created_us=number, text_key=text_key, length=1, terms={}
    )


def open_ours(folder: Path) -> Opened:
    """Load segments and shards."""
    segments = [Segment.decode(path.read_bytes(), path.name) for path in sorted(folder.glob("*.seg"))]
    started = perf_counter()
    shards = [VectorShard.decode(path.read_bytes(), path.name) for path in sorted(folder.glob("*.vec"))]
    load_ms = since_ms(started)
    snapshot = Snapshot(segments)
    view, join_ms = _timed_view(snapshot, shards)
    figures = {"load_ms": load_ms, "join_cpu_ms": join_ms, "refresh_cpu_ms": _refresh_ms(segments, shards)}
    return Opened(_ways(view, snapshot.doc_count), figures)


def _timed_view(snapshot: Snapshot, shards: list[VectorShard]) -> tuple[VectorView, float]:
    """Return a view and the milliseconds of CPU time it took; a single wall time would say little on a busy machine."""
    started = process_time()
    view = VectorView(snapshot, shards)
    # Makes what is made at first use.
    view.dead_row_count(0)
    return view, (process_time() - started) * 1e3


def _refresh_ms(segments: list[Segment], shards: list[VectorShard]) -> float:
    """Return what the first search after a write spends on its view: one of known files and a new tail."""
    times_ms = []
    for number in range(REFRESH_COUNT):
        keys = [(1 << 63) + TAIL_ROWS * number + index for index in range(TAIL_ROWS)]
        rows = [row_of((1 << 60) + key % (1 << 60), key) for key in keys]
        segment = Segment.decode(build_segment(rows, analyzer_signature=SIGNATURE), "tail.seg")
        codes, scales = quantise(np.ones((TAIL_ROWS, shards[0].dimension), np.float32))
        body = encode_shard(np.array(keys, np.uint64), scales, codes, model=MODEL)
        tail = VectorShard.decode(body, "tail.vec")
        times_ms.append(_timed_view(Snapshot([*segments, segment]), [*shards, tail])[1])
    # The first time also sorts the keys of segments that never were the larger side, which is remembered.
    return float(np.median(times_ms[1:]))


def _ways(view: VectorView, doc_count: int) -> dict[str, Way]:
    rng = np.random.default_rng(SEED)
    everything = np.arange(doc_count)
    word_hits = np.sort(rng.choice(doc_count, min(doc_count, WORD_CANDIDATE_COUNT), replace=False))

    def best(query: Vectors, docs: Found, count: int) -> Found:
        return docs[np.argsort(-view.cosines(query, docs), kind="stable")][:count]

    def nearest(count: int, share: float | None = None) -> Way:
        mask = None if share is None else is_eligible(doc_count, share)
        return lambda query: best(query, view.nearest(query, count=count, is_eligible=mask), count)

    def both(query: Vectors) -> Found:
        docs = np.union1d(view.nearest(query, count=NEAR_CANDIDATE_COUNT, is_eligible=None), word_hits)
        return best(query, docs, TOP)

    return {
        "nearest": nearest(TOP),
        "nearest100": nearest(TOP_MAX),
        "cosines": lambda query: best(query, word_hits, TOP),
        "exhaustive": lambda query: best(query, everything, TOP),
        "both": both,
        **{f"filter{share}": nearest(TOP, share) for share in FILTER_SHARES},
    }


# Others --------------------------------------------------------------------------------------------------------------


def build_float32(vectors: Vectors, folder: Path) -> None:
    """Write the vectors as one array."""
    np.save(folder / "array.npy", vectors)


def build_int8(vectors: Vectors, folder: Path) -> None:
    """Write the vectors as usearch keeps them in int8: unit vectors times 127."""
    np.save(folder / "array.npy", np.rint(vectors * 127).astype(np.int8))


def open_numpy(folder: Path) -> Opened:
    """Load an array for a product with a matrix and a partition."""
    started = perf_counter()
    array = np.load(folder / "array.npy")

    def nearest(query: Vectors, count: int) -> Found:
        cosines = array @ query
        found = np.argpartition(-cosines, count)[:count]
        return found[np.argsort(-cosines[found])]

    return _with_counts(nearest, since_ms(started))


def open_exact(folder: Path) -> Opened:
    """Load an array for the exact search of usearch."""
    from usearch.index import MetricKind, search

    started = perf_counter()
    array = np.load(folder / "array.npy")
    is_int8 = array.dtype == np.int8

    def nearest(query: Vectors, count: int) -> Found:
        vector = np.rint(query * 127).astype(np.int8) if is_int8 else query
        return search(array, vector, count, MetricKind.Cos, exact=True, threads=1).keys.astype(np.int64)

    return _with_counts(nearest, since_ms(started))


def build_hnsw(vectors: Vectors, folder: Path, dtype: str) -> None:
    """Build the graph of usearch with its defaults."""
    from usearch.index import Index

    index = Index(ndim=vectors.shape[1], metric="cos", dtype=dtype)
    index.add(np.arange(len(vectors)), vectors, threads=1)
    index.save(str(folder / "graph"))


def open_hnsw(folder: Path) -> Opened:
    """Load the graph of usearch."""
    from usearch.index import Index

    started = perf_counter()
    index = Index.restore(str(folder / "graph"))

    def nearest(query: Vectors, count: int) -> Found:
        return index.search(query, count, threads=1).keys.astype(np.int64)

    return _with_counts(nearest, since_ms(started))


def _with_counts(nearest: Callable[[Vectors, int], Found], load_ms: float) -> Opened:
    ways = {"nearest": lambda query: nearest(query, TOP), "nearest100": lambda query: nearest(query, TOP_MAX)}
    return Opened(ways, {"load_ms": load_ms})


CONTENDERS: Mapping[str, Contender] = {
    OURS: Contender(lambda vectors, folder: build_ours(vectors, folder, -(-len(vectors) // ROWS_MAX)), open_ours),
    OURS_MANY: Contender(
        lambda vectors, folder: build_ours(vectors, folder, PIECE_COUNT, tail_rows=TAIL_ROWS), open_ours
    ),
    NUMPY: Contender(build_float32, open_numpy),
    EXACT_F32: Contender(build_float32, open_exact),
    EXACT_I8: Contender(build_int8, open_exact),
    HNSW_F32: Contender(lambda vectors, folder: build_hnsw(vectors, folder, "f32"), open_hnsw),
    HNSW_I8: Contender(lambda vectors, folder: build_hnsw(vectors, folder, "i8"), open_hnsw),
}
