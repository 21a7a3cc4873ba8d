"""A storm: many writers at one namespace at once, and what fresh processes find there afterwards.

A module of its own, so that processes that start from nothing can import it.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from random import Random
from threading import Barrier

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.errors import AgentMemoryError, NotFoundError
from s3_agent_memory.service.results import ReindexReport, SweepReport

NAMESPACE = "storm"
SHARED_ID_COUNT = 6
DOOMED_ID_COUNT = 4
CHOSEN_ID_COUNT = 4
START_TIMEOUT_SECONDS = 120
_PAGE_SIZE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where a storm takes place, how many writers take part, and how much each does."""

    url: str
    endpoint_url: str | None = None
    region: str | None = None
    seed: int
    thread_count: int
    process_count: int
    remember_count: int
    update_count: int

    @property
    def writer_count(self) -> int:
        """Threads and processes together; each is one writer."""
        return self.thread_count + self.process_count

    def open_store(self) -> MemoryStore:
        """Open the store afresh."""
        return MemoryStore.from_url(self.url, endpoint_url=self.endpoint_url, region=self.region)


@dataclass(slots=True)
class Journal:
    """What writers were told: what was acknowledged, and what was refused.

    Attributes:
        alive: content by id of memories that only one writer changes.
        forgotten: ids whose deletion was acknowledged.
        updates: marker and version of each acknowledged update, by the shared id it changed.
        refused_markers: markers of updates that were answered with an error.
        chosen: ids that a writer was told to have created.
        unexpected: other errors.
    """

    alive: dict[str, str] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    updates: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    refused_markers: set[str] = field(default_factory=set)
    chosen: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)

    def add(self, other: "Journal") -> None:
        """Take in what another writer was told."""
        self.alive |= other.alive
        self.forgotten |= other.forgotten
        for shared_id, updates in other.updates.items():
            self.updates.setdefault(shared_id, []).extend(updates)
        self.refused_markers |= other.refused_markers
        self.chosen += other.chosen
        self.unexpected += other.unexpected


@dataclass(frozen=True, slots=True)
class Finding:
    """What a fresh process finds.

    Attributes:
        read: memories by id, of those ids that were asked for and are there.
        listed: ids in the order of a list to its end.
        recalled: ids of the hits, by the word that was searched.
    """

    read: dict[str, Memory]
    listed: list[str]
    recalled: dict[str, list[str]]


def shared_ids() -> list[str]:
    """Return the ids that every writer updates."""
    return [f"shared-{number}" for number in range(SHARED_ID_COUNT)]


def doomed_ids() -> list[str]:
    """Return the ids that some writers update and others forget."""
    return [f"doomed-{number}" for number in range(DOOMED_ID_COUNT)]


def chosen_ids() -> list[str]:
    """Return the ids that every writer tries to create."""
    return [f"chosen-{number}" for number in range(CHOSEN_ID_COUNT)]


class Writer:
    """One writer: does its share of the plan in an order of its own and keeps a journal."""

    def __init__(self, store: MemoryStore, plan: Plan, number: int) -> None:
        self._store = store
        self._number = number
        self._random = Random(f"{plan.seed}-{number}")
        self._plan = plan
        self.journal = Journal()

    def run(self) -> Journal:
        """Do everything; an error ends one step, not the run."""
        steps: list[Callable[[], None]] = [
            *(partial(self._live, turn) for turn in range(self._plan.remember_count)),
            *(partial(self._update, turn) for turn in range(self._plan.update_count)),
            *(partial(self._doom, memory_id) for memory_id in doomed_ids()),
            *(partial(self._choose, memory_id) for memory_id in chosen_ids()),
        ]
        self._random.shuffle(steps)
        for step in steps:
            try:
                step()
            except AgentMemoryError as error:
                self.journal.unexpected.append(f"{type(error).__name__}: {error}")
        return self.journal

    def _live(self, turn: int) -> None:
        """Store a memory of one's own; change every second and forget every fourth."""
        memory = self._store.remember(NAMESPACE, f"first word{self._number}x{turn}", tags=["own"])
        self.journal.alive[memory.id] = memory.content
        if turn % 2:
            memory = self._store.update(NAMESPACE, memory.id, content=f"second word{self._number}x{turn}")
            self.journal.alive[memory.id] = memory.content
        if turn % 4 == 3:
            self._store.forget(NAMESPACE, memory.id)
            self.journal.forgotten.add(memory.id)
            del self.journal.alive[memory.id]

    def _update(self, turn: int) -> None:
        """Mark a shared memory; every third time only if nobody else did since it was read."""
        shared_id = self._random.choice(shared_ids())
        marker = f"w{self._number}t{turn}"
        expected_version = self._store.get(NAMESPACE, shared_id).version if turn % 3 == 0 else None
        try:
            memory = self._store.update(NAMESPACE, shared_id, metadata={marker: 1}, expected_version=expected_version)
        except AgentMemoryError as error:
            self.journal.refused_markers.add(marker)
            if expected_version is None or error.code != "conflict":
                raise
            return
        self.journal.updates.setdefault(shared_id, []).append((marker, memory.version))

    def _doom(self, memory_id: str) -> None:
        """Change a memory that others are forgetting, or forget it."""
        if self._number % 2:
            self._store.forget(NAMESPACE, memory_id)
            self.journal.forgotten.add(memory_id)
            return
        with suppress(NotFoundError):
            self._store.update(NAMESPACE, memory_id, importance=self._random.random())

    def _choose(self, memory_id: str) -> None:
        """Create a memory under an id that only one can have."""
        try:
            memory = self._store.remember(NAMESPACE, f"writer{self._number} has {memory_id}", id=memory_id)
        except AgentMemoryError as error:
            if error.code != "conflict":
                raise
            return
        self.journal.chosen.append(memory_id)
        self.journal.alive[memory_id] = memory.content


# --- running a storm --------------------------------------------------------------------------------------------------

_start: Barrier


def prepare_process(barrier: Barrier) -> None:
    """Give a process the barrier that holds the writers back."""
    global _start  # noqa: PLW0603 (a pool has no other way to hand a barrier to its processes)
    _start = barrier


def run_process(plan: Plan, number: int) -> Journal:
    """Be one writer, in a process of its own."""
    writer = Writer(plan.open_store(), plan, number)
    _start.wait(START_TIMEOUT_SECONDS)
    return writer.run()


def run_storm(plan: Plan) -> Journal:
    """Prepare the namespace, let all writers loose at once, and return what they were told."""
    store = plan.open_store()
    for memory_id in (*shared_ids(), *doomed_ids()):
        store.remember(NAMESPACE, f"everybody knows {memory_id}", id=memory_id)
    context = get_context("spawn")
    barrier = context.Barrier(plan.process_count + 1)
    journal = Journal()
    with (
        ThreadPoolExecutor(plan.thread_count) as threads,
        ProcessPoolExecutor(
            plan.process_count, mp_context=context, initializer=prepare_process, initargs=(barrier,)
        ) as processes,
    ):
        results = [processes.submit(run_process, plan, number) for number in range(plan.process_count)]
        barrier.wait(START_TIMEOUT_SECONDS)
        results += [
            threads.submit(Writer(store, plan, number).run) for number in range(plan.process_count, plan.writer_count)
        ]
        for result in results:
            journal.add(result.result())
    return journal


# --- looking afterwards -----------------------------------------------------------------------------------------------


def inspect(plan: Plan, memory_ids: Sequence[str], words: Sequence[str]) -> Finding:
    """Read, list and search the namespace; to be run in a fresh process."""
    store = plan.open_store()
    read = {}
    for memory_id in memory_ids:
        with suppress(NotFoundError):
            read[memory_id] = store.get(NAMESPACE, memory_id)
    recalled = {word: [hit.memory.id for hit in store.recall(NAMESPACE, word, limit=5)] for word in words}
    return Finding(read, list_all(store, NAMESPACE), recalled)


def list_all(store: MemoryStore, namespace: str) -> list[str]:
    """Return the ids of a list, page by page to its end."""
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = store.list(namespace, limit=_PAGE_SIZE, cursor=cursor)
        assert not page.corrupt_keys
        found += [memory.id for memory in page.memories]
        cursor = page.next_cursor
        if cursor is None:
            return found


def rebuild(plan: Plan) -> tuple[ReindexReport, SweepReport]:
    """Rebuild the index and sweep; to be run in a fresh process."""
    store = plan.open_store()
    return store.reindex(NAMESPACE), store.sweep(NAMESPACE)
