"""How many requests each operation sends and how many bytes it moves, at namespaces of several sizes.

    python benchmarks/request_counts.py [--sizes 10 1000 100000] [--writes 2000] [--json FILE]

Exact, for every request to the store in memory is counted; what S3 would ask for them follows from its price list
(us-east-1: PUT and LIST $5, GET $0.40 a million, DELETE free). The last row of a size writes many memories through a
store that folds by itself, a second apart, and spreads everything that was written, folds and merges included, over
them. Exit code 1 if an operation asks for more than it may.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tqdm import tqdm

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.synthetic_memories import SEED, Corpus
from s3_agent_memory.bootstrap import MemoryStore, Parts, Settings
from s3_agent_memory.domain.clock import to_us
from s3_agent_memory.domain.codec import encode_memory
from s3_agent_memory.service.upkeep.housekeeper import Folding
from s3_agent_memory.storage.counting import CountingObjectStore, RequestCounts
from s3_agent_memory.storage.in_memory import InMemoryObjectStore

NAMESPACE = "counted"
RESULT_COUNT = 10
WRITTEN_BYTES_MAX = 4_096
_US_PER_SECOND = 1_000_000
_PUT_DOLLARS, _GET_DOLLARS = 5.0, 0.4


class ManualClock:
    """A clock on which time passes only when it is told to."""

    def __init__(self, now_us: int) -> None:
        self._now_us = now_us

    def now_us(self) -> int:
        """See ``Clock``."""
        return self._now_us

    def monotonic_s(self) -> float:
        """See ``Clock``."""
        return self._now_us / _US_PER_SECOND

    def sleep(self, seconds: float) -> None:
        """See ``Clock``."""
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now_us += int(seconds * _US_PER_SECOND)


@dataclass(frozen=True, slots=True)
class Bound:
    """What an operation may ask for at most."""

    puts: int
    lists: int = 0
    gets: int = 0
    conditional_gets: int = 0

    def is_kept_by(self, counts: RequestCounts) -> bool:
        """Return True if nothing exceeds it."""
        return (
            counts.put_count <= self.puts
            and counts.list_count <= self.lists
            and counts.get_count <= self.gets
            and counts.get_unchanged_count <= self.conditional_gets
        )


@dataclass(frozen=True, slots=True)
class Row:
    """One operation at one size: what it cost, and whether it may."""

    name: str
    counts: RequestCounts
    is_kept: bool = True


class World:
    """A namespace of some size in a counting store."""

    def __init__(self, size: int) -> None:
        memories = list(Corpus().memories(NAMESPACE, size))
        self.clock = ManualClock(to_us(memories[-1].updated_at) + _US_PER_SECOND)
        self.store = CountingObjectStore(InMemoryObjectStore(self.clock))
        self.texts = Corpus(SEED + 1)
        for memory in memories:
            self.store.put(memory.key, encode_memory(memory))
        self.query = " ".join(memories[size // 2].content.split()[:5])
        self.open(Folding.INLINE).reindex(NAMESPACE)

    def open(self, folding: Folding) -> MemoryStore:
        """Open the namespace afresh, as a new process would."""
        return Parts(Settings(url="memory://"), store=self.store, clock=self.clock, folding=folding).memories

    def count(self, operation: Callable[[], object]) -> RequestCounts:
        """Return what an operation asks for."""
        self.store.reset()
        operation()
        self.clock.advance(1)
        return self.store.counts


def measure_operations(world: World) -> Iterator[Row]:
    """Yield the cost of each operation for a store beside an indexer, which does nothing but what it is asked for."""
    store = world.open(Folding.INLINE)

    def recall(consistency: str = "strong", opened: MemoryStore = store) -> None:
        opened.recall(NAMESPACE, world.query, limit=RESULT_COUNT, consistency=consistency)

    yield Row("recall, cold", world.count(lambda: recall(opened=world.open(Folding.INLINE))))
    recall()
    recall("eventual")
    yield _checked("recall, warm", world.count(recall), _warm(lists=1))
    yield _checked("recall, warm, eventual", world.count(lambda: recall("eventual")), _warm(lists=0))
    memory = store.remember(NAMESPACE, world.texts.text())
    yield Row("recall after a write", world.count(recall))
    yield _checked("remember", world.count(lambda: store.remember(NAMESPACE, world.texts.text())), Bound(puts=2))
    yield Row("get", world.count(lambda: store.get(NAMESPACE, memory.id)))
    yield Row("get, kind known", world.count(lambda: store.get(NAMESPACE, memory.id, kind=memory.kind)))
    yield Row("update", world.count(lambda: store.update(NAMESPACE, memory.id, content=world.texts.text())))
    yield Row("forget", world.count(lambda: store.forget(NAMESPACE, memory.id)))
    store.list(NAMESPACE, limit=RESULT_COUNT)
    yield Row(f"list {RESULT_COUNT}", world.count(lambda: store.list(NAMESPACE, limit=RESULT_COUNT)))


def _warm(*, lists: int) -> Bound:
    return Bound(puts=0, lists=lists, gets=RESULT_COUNT, conditional_gets=1)


def _checked(name: str, counts: RequestCounts, bound: Bound) -> Row:
    return Row(name, counts, bound.is_kept_by(counts))


def measure_writes(world: World, write_count: int) -> Row:
    """Return the cost of so many writes with all that follows from them, divided by their number."""
    store = world.open(Folding.LAZY)
    world.store.reset()
    for _ in tqdm(range(write_count), desc="write", unit=" memories", leave=False):
        store.remember(NAMESPACE, world.texts.text())
        world.clock.advance(1)
    total = world.store.counts
    is_kept = total.written_bytes <= WRITTEN_BYTES_MAX * write_count
    return Row(f"{write_count} x remember", total, is_kept)


def show(row: Row, *, per: int = 1) -> str:
    """Return one line of the table; figures are divided by ``per``."""
    counts = row.counts
    figures = [
        counts.get_count,
        counts.get_unchanged_count,
        counts.list_count,
        counts.put_count,
        counts.delete_count,
        counts.read_bytes,
        counts.written_bytes,
        _dollars(counts),
    ]
    cells = " ".join(f"{figure / per:9,.2f}" for figure in figures)
    return f"  {row.name:24} {cells}{'' if row.is_kept else '  TOO MUCH'}"


def document(row: Row, size: int, *, per: int = 1) -> dict[str, object]:
    """Return one line of the table as JSON-able values; figures are divided by ``per``."""
    counts = {name: count if per == 1 else count / per for name, count in asdict(row.counts).items()}
    dollars = _dollars(row.counts) / per
    return {"memories": size, "operation": row.name, **counts, "dollars_per_million": dollars, "is_kept": row.is_kept}


def _dollars(counts: RequestCounts) -> float:
    """Return what a million of these cost."""
    reads = counts.get_count + counts.get_unchanged_count
    return _PUT_DOLLARS * (counts.put_count + counts.list_count) + _GET_DOLLARS * reads


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description="Requests and bytes of each operation.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 1_000, 100_000], help="memories in the namespace")
    parser.add_argument("--writes", type=int, default=2_000, help="writes to spread folds and merges over")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file")
    arguments = parser.parse_args()
    is_good = True
    rows = []
    for size in arguments.sizes:
        world = World(size)
        names = ("GET", "GET 304", "LIST", "PUT", "DELETE", "read B", "written B", "$/million")
        print(f"{size:,} memories".ljust(26), " ".join(f"{name:>9}" for name in names))
        for row in measure_operations(world):
            print(show(row), flush=True)
            rows.append(document(row, size))
            is_good = is_good and row.is_kept
        writes = measure_writes(world, arguments.writes)
        print(show(writes, per=arguments.writes), "(each)", flush=True)
        rows.append(document(writes, size, per=arguments.writes))
        is_good = is_good and writes.is_kept
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n", "utf-8")
    print("good" if is_good else "NOT as required: see TOO MUCH above")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
