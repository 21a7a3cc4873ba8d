"""What rivals do to one object at once. A module of its own, so that another process can import it."""

from collections.abc import Callable
from multiprocessing.pool import Pool
from pathlib import Path
from threading import Barrier, Thread

from s3_agent_memory.domain.clock import SystemClock, SystemEntropy
from s3_agent_memory.errors import PreconditionFailedError
from s3_agent_memory.storage.filesystem import FilesystemObjectStore
from s3_agent_memory.storage.port import ObjectStore, StoredObject

RACER_COUNT = 16
INCREMENT_COUNT = 5
ATTEMPT_COUNT_MAX = 2_000
START_TIMEOUT_SECONDS = 60
SIZE_MAX = 1_000

Racer = Callable[[ObjectStore, str, int], bool]
Race = Callable[[Racer, str], list[bool]]


def create(store: ObjectStore, key: str, number: int) -> bool:
    """Create the object; True if this racer did it."""
    return _has_won(lambda: store.put(key, f"racer {number}".encode(), if_absent=True))


def replace(store: ObjectStore, key: str, number: int) -> bool:
    """Replace the first version of the object; True if this racer did it."""
    etag = read(store, f"{key}.etag").body.decode()
    return _has_won(lambda: store.put(key, f"racer {number}".encode(), if_match=etag))


def delete_or_replace(store: ObjectStore, key: str, number: int) -> bool:
    """Delete (odd racers) or replace (even ones) the first version of the object; True if this racer did it."""
    if number % 2 == 0:
        return replace(store, key, number)
    etag = read(store, f"{key}.etag").body.decode()
    return _has_won(lambda: store.delete(key, if_match=etag))


def increment(store: ObjectStore, key: str, number: int) -> bool:
    """Add one to the counter in the object, several times over; True if all were done."""
    return all(_increment_once(store, key) for _ in range(INCREMENT_COUNT))


def _increment_once(store: ObjectStore, key: str) -> bool:
    for _ in range(ATTEMPT_COUNT_MAX):
        found = read(store, key)
        body = str(int(found.body) + 1).encode()
        if _has_won(lambda body=body, etag=found.etag: store.put(key, body, if_match=etag)):  # type: ignore[misc]
            return True
    return False


def read(store: ObjectStore, key: str) -> StoredObject:
    """Return an object that is there."""
    found = store.get(key, size_max=SIZE_MAX)
    assert found is not None
    return found


def _has_won(request: Callable[[], object]) -> bool:
    try:
        request()
        return True
    except PreconditionFailedError:
        return False


def race_in_threads(store: ObjectStore, racer: Racer, key: str) -> list[bool]:
    """Run the racers as threads that share one store and start together."""
    barrier = Barrier(RACER_COUNT)
    results: dict[int, bool] = {}

    def run(number: int) -> None:
        barrier.wait(START_TIMEOUT_SECONDS)
        results[number] = racer(store, key, number)

    threads = [Thread(target=run, args=(number,)) for number in range(RACER_COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[number] for number in range(RACER_COUNT)]


def race_in_processes(pool: Pool, root: Path, racer: Racer, key: str) -> list[bool]:
    """Run the racers as processes, each with a store of its own over ``root``, that start together."""
    return pool.starmap(_run_in_process, [(root, racer, key, number) for number in range(RACER_COUNT)], chunksize=1)


_start: Barrier


def prepare_process(barrier: Barrier) -> None:
    """Give a process of the pool the barrier that holds the racers back."""
    global _start  # noqa: PLW0603 (a pool has no other way to hand a barrier to its processes)
    _start = barrier


def _run_in_process(root: Path, racer: Racer, key: str, number: int) -> bool:
    store = FilesystemObjectStore(root, clock=SystemClock(), entropy=SystemEntropy())
    _start.wait(START_TIMEOUT_SECONDS)
    return racer(store, key, number)
