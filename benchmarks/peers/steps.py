"""What is measured of one system, each step in a process of its own: loading, reading, writing, finding."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.peers.material import Material
from benchmarks.peers.port import Contender, Peer
from benchmarks.quality_corpora import Corpus, Item
from benchmarks.quality_library import CachedEmbedder
from benchmarks.quality_measures import measure

_WARM_UP_COUNT = 10
WRITE_COUNT = 200
Figures = dict[str, Any]


def load(contender: Contender, folder: Path, material: Material) -> Figures:
    """Load everything into an empty directory."""
    items, embedder = material.loaded()
    peer = contender.open(folder, embedder)
    started = perf_counter()
    peer.load(items)
    peer.close()
    seconds = perf_counter() - started
    return {"seconds": seconds, **_disk(folder, len(items))}


def _disk(folder: Path, count: int) -> Figures:
    found = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return {
        "bytes_per_memory": sum(stat.st_size for stat in found) / count,
        "disk_bytes_per_memory": sum(512 * stat.st_blocks for stat in found) / count,
        "files": len(found),
    }


def read(contender: Contender, folder: Path, material: Material, *, seconds_max: float) -> Figures:
    """Open what was loaded and ask all questions; the first one is the cold one, imports included."""
    questions, embedder = material.questions()
    items: Sequence[Item] = ()
    if not contender.is_persistent:
        items, embedder = material.loaded()
    base_mb = _memory_mb()["rss_mb"]
    started = perf_counter()
    peer = contender.open(folder, embedder)
    if not contender.is_persistent:
        peer.load(items)
    peer.search(questions[0])
    cold_ms = (perf_counter() - started) * 1e3
    deadline = perf_counter() + seconds_max
    times_ms = list(_times_ms(peer.search, questions[1:], deadline))
    figures = {"cold_ms": cold_ms, "queries": len(times_ms), **_percentiles(times_ms), **_memory_mb()}
    peer.close()
    return {**figures, "base_mb": base_mb}


def write(contender: Contender, folder: Path, material: Material, *, seconds_max: float) -> Figures:
    """Write memories one by one into what was loaded, and see whether the last one is found at once."""
    peer, new = _filled(contender, folder, material)
    written_bytes = _written_bytes()
    times_ms = list(_times_ms(peer.write, new[:WRITE_COUNT], perf_counter() + seconds_max, warm_up_count=1))
    last = new[len(times_ms)]
    found = last.id in peer.search(last.text)
    peer.close()
    bytes_per_write = (_written_bytes() - written_bytes) / (len(times_ms) + 1)
    figures: Figures = {"writes": len(times_ms), "bytes_per_write": bytes_per_write, "found_at_once": found}
    return {**figures, **_percentiles(times_ms)}


def _filled(contender: Contender, folder: Path, material: Material) -> tuple[Peer, list[Item]]:
    new, embedder = material.new()
    if contender.is_persistent:
        return contender.open(folder, embedder), new
    items, known = material.loaded()
    peer = contender.open(folder, known.joined(embedder))
    peer.load(items)
    return peer, new


def _times_ms(
    action: Callable[[Any], object], values: Sequence[Any], deadline: float, *, warm_up_count: int = _WARM_UP_COUNT
) -> Iterator[float]:
    """Yield what each took, but for the first ones, as long as there is time; at least one."""
    for number, value in enumerate(values):
        started = perf_counter()
        action(value)
        ended = perf_counter()
        is_late = ended > deadline
        # Where one takes longer than all the time there is, there is no warming up either.
        if number >= warm_up_count or is_late:
            yield (ended - started) * 1e3
        if is_late:
            return


def _percentiles(times_ms: Sequence[float]) -> Figures:
    p50, p95, p99 = np.percentile(times_ms, [50, 95, 99]).tolist()
    return {"p50_ms": p50, "p95_ms": p95, "p99_ms": p99}


def _memory_mb() -> Figures:
    status = Path("/proc/self/status").read_text("utf-8")
    sizes = {name: int(size) / 1024 for name, size in re.findall(r"(VmHWM|VmRSS|RssAnon):\s+(\d+) kB", status)}
    return {"rss_mb": sizes["VmRSS"], "anonymous_mb": sizes["RssAnon"], "peak_mb": sizes["VmHWM"]}


def _written_bytes() -> int:
    """Return the bytes that this process, with all its threads, has handed to the system to write."""
    found = re.search(r"wchar: (\d+)", Path("/proc/self/io").read_text("utf-8"))
    assert found
    return int(found[1])


# How well the right memories are found -------------------------------------------------------------------------------


def quality(contender: Contender, corpus: Corpus, embedder: CachedEmbedder) -> Figures:
    """Store each space of a corpus in a directory of its own and ask its questions."""
    found = []
    for space in corpus.spaces:
        with TemporaryDirectory() as name, _opened(contender, Path(name), embedder) as peer:
            peer.load(space.items)
            found += [measure(question, peer.search(question.text)) for question in space.questions]
    return {
        "questions": len(found),
        "recall_at_10": fmean(one.recall_at_10 for one in found),
        "ndcg_at_10": fmean(one.ndcg_at_10 for one in found),
    }


@contextmanager
def _opened(contender: Contender, folder: Path, embedder: CachedEmbedder) -> Iterator[Peer]:
    peer = contender.open(folder, embedder)
    try:
        yield peer
    finally:
        peer.close()


def versions(contender: Contender) -> dict[str, str]:
    """Return the versions of what a system is made of.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    from importlib.metadata import version

    return {name: version(name) for name in contender.packages}


def drop_blas_settings() -> dict[str, str]:
    """Return the environment without settings of OpenBLAS, which slow numpy and numba down."""
    return {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
