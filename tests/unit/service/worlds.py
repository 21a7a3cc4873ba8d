"""A store in memory with a settable clock and scripted faults, and as many processes over it as a test wants."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from s3_agent_memory.bootstrap import MemoryStore, Parts, Settings
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.index.manifest import Manifest
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.service.grace import LOG_GRACE_MS
from s3_agent_memory.service.results import FoldReport
from s3_agent_memory.service.upkeep.housekeeper import Folding
from s3_agent_memory.storage.in_memory import InMemoryObjectStore
from s3_agent_memory.storage.port import ObjectStore
from s3_agent_memory.storage.retry import RetryPolicy
from tests.fakes.clock import FakeClock
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.entropy import SeededEntropy
from tests.fakes.faulty_store import FaultyObjectStore

NAMESPACE = "users/alice"
PLACE = Namespace(("users", "alice"))


@dataclass(frozen=True, slots=True)
class Seen:
    """The contents in a namespace: as the objects say, as a list says, and as a recall says; and how many there are."""

    truth: tuple[str, ...]
    listed: tuple[str, ...]
    recalled: tuple[str, ...]
    count: int

    @property
    def agrees(self) -> bool:
        """True if readers get what is true."""
        return self.truth == self.listed == self.recalled

    @property
    def is_exact(self) -> bool:
        """True if the index holds no more than what is true either; readers drop a row whose object is gone."""
        return self.agrees and self.count == len(self.truth)


class World:
    """One object store, one clock, and processes that come and go.

    Nothing folds by itself, so that every request is the doing of the call under test.

    Attributes:
        store: where faults are scripted; only ``parts`` goes through it.
        parts: the process under test.
    """

    def __init__(
        self,
        *,
        wrap: Callable[[ObjectStore], ObjectStore] = lambda store: store,
        seed: int = 0,
        **options: Any,
    ) -> None:
        self.clock = FakeClock()
        self.store = FaultyObjectStore(wrap(InMemoryObjectStore(self.clock)))
        self._seed = seed
        self.parts = self._open(self.store, **options)

    @property
    def memories(self) -> MemoryStore:
        """The library in the process under test."""
        return self.parts.memories

    def another_process(self, **options: Any) -> Parts:
        """Open the store anew, without caches and without faults."""
        return self._open(self.store.inner, **options)

    def _open(
        self,
        store: ObjectStore,
        *,
        language: str = "english",
        folding: Folding = Folding.INLINE,
        limits: Limits | None = None,
        embedder: FakeEmbedder | None = None,
        embedding_seconds_max: float | None = None,
        retry_policy: RetryPolicy | None = None,
    ) -> Parts:
        self._seed += 1
        return Parts(
            Settings(url="memory://", language=language),
            store=store,
            limits=limits,
            embedder=embedder,
            embedding_seconds_max=embedding_seconds_max,
            folding=folding,
            clock=self.clock,
            entropy=SeededEntropy(self._seed),
            retry_policy=retry_policy,
        )

    def seen(self, namespace: str = NAMESPACE) -> Seen:
        """Return what a fresh process sees; every page and every hit."""
        memories = self.another_process().memories
        exported = [json.loads(line)["content"] for line in memories.export(namespace)]
        listed = [memory.content for memory in memories.list(namespace, limit=100).memories]
        recalled = [hit.memory.content for hit in memories.recall(namespace, "", limit=100)]
        stats = memories.stats(namespace)
        count = stats.memories - stats.expired
        return Seen(tuple(sorted(exported)), tuple(sorted(listed)), tuple(sorted(recalled)), count)

    # --- the steps of an indexer, one by one ------------------------------------------------------------------------

    def fold(self, *hints: str, parts: Parts | None = None) -> FoldReport:
        """Fold the log, and the ids that events hint at."""
        folder = (parts or self.another_process()).indexer._folder
        return folder.fold(PLACE, dict.fromkeys(hints))

    def compact(self, *, parts: Parts | None = None) -> int:
        """Merge one group of segments; return how many went into it."""
        return (parts or self.another_process()).indexer._compactor.compact(PLACE)

    def empty_trash(self) -> int:
        """Delete replaced segments whose grace is over; return how many."""
        return self.another_process().indexer._collector.empty_trash(PLACE)

    def remove_orphans(self) -> int:
        """Delete segments no manifest answers for; return how many."""
        return self.another_process().indexer._collector.remove_orphans(PLACE)

    def clean_up_log(self) -> None:
        """Fold everything and let the log entries of it be deleted."""
        self.fold()
        self.fold()
        self.clock.advance(LOG_GRACE_MS / 1_000 + 1)
        self.fold()

    @property
    def manifest(self) -> Manifest:
        """The present manifest."""
        return self.another_process().indexer._folder._heads.load(PLACE).manifest

    @property
    def snapshot(self) -> Snapshot:
        """The rows a fresh process reads."""
        return self.another_process().services.index.view(PLACE).snapshot

    def index_files(self, folder: str) -> list[str]:
        """Return the names of the files in ``log``, ``segments`` or ``vectors``."""
        prefix = f"memory/{NAMESPACE}/_index/{folder}/"
        return [key.removeprefix(prefix) for key in self.store.keys_below(prefix)]


def contents(memories: MemoryStore, query: str, namespace: str = NAMESPACE, **options: Any) -> list[str]:
    """Return the contents a recall finds, best first."""
    return [hit.memory.content for hit in memories.recall(namespace, query, **options)]
