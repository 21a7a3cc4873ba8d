"""Many writers at once: what they were told was stored, and what is there in the end."""

import json
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from time import perf_counter
from typing import Any

from benchmarks.peers.material import KnownTexts, Material
from benchmarks.peers.port import CONTENDERS, Contender, Peer
from benchmarks.quality_corpora import Item

WRITER_COUNT = 8
_START_SECONDS_MAX = 60.0
Parts = Sequence[Sequence[Item]]
_barrier: Any = None


def run(
    name: str, way: str, folder: Path, *, material: Material, write_count: int, seconds_max: float
) -> dict[str, Any]:
    """Let eight writers write at once, each so many memories, and count.

    Returns:
        ``tried``, ``acknowledged`` and ``failed`` (the writer was told), ``lost`` (it was not), and seconds.
    """
    contender = CONTENDERS[name]
    new, embedder = material.new()
    parts = [new[number * write_count : (number + 1) * write_count] for number in range(WRITER_COUNT)]
    before = _count(contender, folder, embedder) if contender.is_persistent else 0
    if way == "processes":
        results, after = _by_processes(name, folder, material, parts=parts, seconds_max=seconds_max)
    else:
        results, after = _by_threads(contender, folder, embedder, parts=parts, seconds_max=seconds_max)
    after = after if after is not None else _count(contender, folder, embedder)
    acknowledged = sum(result["acknowledged"] for result in results)
    return {
        "writers": WRITER_COUNT,
        "tried": sum(result["tried"] for result in results),
        "acknowledged": acknowledged,
        "failed": sum(result["tried"] - result["acknowledged"] for result in results),
        "lost": max(0, before + acknowledged - after),
        "seconds": max(result["seconds"] for result in results),
        "error": next((result["error"] for result in results if result["error"]), None),
    }


def _count(contender: Contender, folder: Path, embedder: KnownTexts) -> int:
    # In a process of its own: some systems cannot be opened twice.
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_count_here, contender, folder, embedder).result()


def _count_here(contender: Contender, folder: Path, embedder: KnownTexts) -> int:
    peer = contender.open(folder, embedder)
    try:
        return peer.count()
    finally:
        peer.close()


def _by_threads(
    contender: Contender, folder: Path, embedder: KnownTexts, *, parts: Parts, seconds_max: float
) -> tuple[list[dict[str, Any]], int | None]:
    peer = contender.open(folder, embedder)
    barrier = Barrier(len(parts))
    with ThreadPoolExecutor(len(parts)) as pool:
        futures = [pool.submit(_write_all, peer, part, barrier, seconds_max) for part in parts]
        results = [future.result() for future in futures]
    after = None if contender.is_persistent else peer.count()
    peer.close()
    return results, after


def _by_processes(
    name: str, folder: Path, material: Material, *, parts: Parts, seconds_max: float
) -> tuple[list[dict[str, Any]], None]:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(len(parts))
    with ProcessPoolExecutor(len(parts), mp_context=context, initializer=_keep, initargs=(barrier,)) as pool:
        futures = [
            pool.submit(_write_process, name, folder, material, items=part, seconds_max=seconds_max) for part in parts
        ]
        return [future.result() for future in futures], None


def _keep(barrier: Any) -> None:
    global _barrier  # noqa: PLW0603
    _barrier = barrier


def _write_process(
    name: str, folder: Path, material: Material, *, items: Sequence[Item], seconds_max: float
) -> dict[str, Any]:
    _, embedder = material.new()
    try:
        peer = CONTENDERS[name].open(folder, embedder)
    except Exception as error:  # noqa: BLE001
        _wait(_barrier)
        return {"tried": len(items), "acknowledged": 0, "seconds": 0.0, "error": _first_line(error)}
    result = _write_all(peer, items, _barrier, seconds_max)
    try:
        peer.close()
    except Exception as error:  # noqa: BLE001
        result["error"] = result["error"] or _first_line(error)
    return result


def _write_all(peer: Peer, items: Sequence[Item], barrier: Any, seconds_max: float) -> dict[str, Any]:
    """Write until all is written or time is up."""
    _wait(barrier)
    tried = acknowledged = 0
    first_error = None
    started = perf_counter()
    for item in items:
        if perf_counter() - started > seconds_max:
            break
        tried += 1
        try:
            peer.write(item)
            acknowledged += 1
        except Exception as error:  # noqa: BLE001
            first_error = first_error or _first_line(error)
    return {
        "tried": tried,
        "acknowledged": acknowledged,
        "seconds": perf_counter() - started,
        "error": first_error,
    }


def _wait(barrier: Any) -> None:
    barrier.wait(_START_SECONDS_MAX)


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return json.dumps(f"{type(error).__name__}: {text[0] if text else ''}"[:160])[1:-1]
