"""The cost model's constants are what the code really asks for: counted again, and compared."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain import usage
from s3_agent_memory.domain.codec import encode_memory
from s3_agent_memory.domain.keys import TruthKey, parse_namespace, vector_prefix
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.pricing import S3Requests, load_requests
from s3_agent_memory.embedding.hashing import HashingEmbedder
from s3_agent_memory.service.upkeep.housekeeper import Folding
from s3_agent_memory.storage.counting import CountingObjectStore
from s3_agent_memory.storage.in_memory import InMemoryObjectStore
from tests.fakes.embedder import FakeEmbedder
from tests.unit.service.worlds import NAMESPACE, PLACE, World

FOLDS = 64
WINDOW_SECONDS = 61
# A share of a merge falls on each fold, and a fold more or less shifts it.
TOLERANCE = 0.05


class _VersionedStore(CountingObjectStore):
    """Counts as well the listing of versions by which the S3 adapter deletes for good in a versioned bucket."""

    version_list_count = 0

    def delete_many(self, keys: Sequence[str]) -> None:
        self.version_list_count += bool(keys)
        super().delete_many(keys)


class _Counted:
    """A world whose requests are counted, with an embedder as in a deployment."""

    def __init__(self) -> None:
        stores: list[_VersionedStore] = []

        def wrap(inner: object) -> _VersionedStore:
            stores.append(_VersionedStore(inner))  # type: ignore[arg-type]
            return stores[0]

        self.world = World(wrap=wrap, embedder=FakeEmbedder())
        self.store = stores[0]
        self.indexer = self.world.another_process().indexer
        self.embedder = self.world.another_process(embedder=FakeEmbedder()).embedder

    def remember(self, count: int) -> list[Memory]:
        return [self.world.memories.remember(NAMESPACE, f"common text {number}") for number in range(count)]

    def fold(self, size: int) -> tuple[S3Requests, S3Requests]:
        """Write so many memories, and return what the indexer and then the embedder ask for because of them."""
        keys = [TruthKey(namespace=PLACE, kind=memory.kind, memory_id=memory.id) for memory in self.remember(size)]
        self.reset()
        self.indexer.run(keys)
        folded = self.asked()
        self.embedder.run([PLACE], lambda: 900_000)
        self.world.clock.advance(WINDOW_SECONDS)
        return folded, self.asked()

    def reset(self) -> None:
        self.store.reset()
        self.store.version_list_count = 0

    def asked(self) -> S3Requests:
        counts = self.store.counts
        asked = S3Requests(
            put=counts.put_count,
            list=counts.list_count + self.store.version_list_count,
            get=counts.get_count + counts.get_unchanged_count,
        )
        self.reset()
        return asked


def _mean(asked: Sequence[S3Requests]) -> dict[str, float]:
    return {name: sum(getattr(item, name) for item in asked) / len(asked) for name in ("put", "list", "get")}


def _is_close(expected: S3Requests) -> dict[str, object]:
    return {name: pytest.approx(getattr(expected, name), rel=TOLERANCE) for name in ("put", "list", "get")}


@pytest.mark.parametrize("size", [1, 16])
def test_a_fold_asks_for_what_is_counted(size: int) -> None:
    counted = _Counted()
    asked = [counted.fold(size)[0] for _ in range(FOLDS)]
    fold, each = load_requests()["fold"], load_requests()["fold_each"]
    expected = S3Requests(
        put=fold.put + size * each.put, list=fold.list + size * each.list, get=fold.get + size * each.get
    )
    assert _mean(asked) == _is_close(expected)


def test_a_run_of_the_embedder_behind_a_fold_asks_for_what_is_counted() -> None:
    counted = _Counted()
    asked = [counted.fold(8)[1] for _ in range(FOLDS)]
    assert _mean(asked) == _is_close(load_requests()["embedder_run"])


def test_remember_update_and_recall_ask_for_what_is_counted() -> None:
    counted, requests = _Counted(), load_requests()
    counted.fold(12)
    memory = counted.world.memories.list(NAMESPACE, limit=1).memories[0]
    memories = counted.world.memories
    memories.recall(NAMESPACE, "common")
    counted.reset()
    memories.recall(NAMESPACE, "common", limit=10)
    assert counted.asked() == requests["recall"]
    memories.remember(NAMESPACE, "text")
    assert counted.asked() == requests["remember"]
    memories.update(NAMESPACE, memory.id, importance=0.4)
    assert counted.asked() == requests["update"]


ROUNDS: Mapping[str, Callable[[MemoryStore], object]] = {
    "sweep": lambda memories: memories.sweep(NAMESPACE),
    "prune": lambda memories: memories.prune_expired(NAMESPACE),
    "consolidate": lambda memories: memories.consolidate(NAMESPACE, only_changes=True),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_a_round_over_a_namespace_at_rest_asks_for_what_is_counted(name: str) -> None:
    counted = _Counted()
    counted.fold(20)
    for _ in range(4):
        counted.world.clock.advance(3_700)
        memories = counted.world.another_process(embedder=FakeEmbedder()).memories
        memories.consolidate(NAMESPACE, only_changes=True)
        memories.sweep(NAMESPACE)
    embedder = None if name == "prune" else FakeEmbedder()
    memories = counted.world.another_process(embedder=embedder).memories
    counted.reset()
    ROUNDS[name](memories)
    assert counted.asked() == load_requests()[name]


def test_checking_a_token_asks_for_what_is_counted() -> None:
    counted = _Counted()
    token, _ = counted.world.parts.tokens.create(principal="alice", namespace=NAMESPACE)
    counted.reset()
    counted.world.parts.tokens.verify(token)
    assert counted.asked() == load_requests()["authorize"]


def test_a_plain_memory_takes_the_bytes_that_are_counted_beside_its_text() -> None:
    counted = _Counted()
    texts = ["Alice prefers metric units", "x" * 300]
    overheads = [
        len(encode_memory(counted.world.memories.remember(NAMESPACE, text, tags=["food", "home"]))) - len(text)
        for text in texts
    ]
    assert overheads == [pytest.approx(usage.OBJECT_OVERHEAD_BYTES, rel=0.1)] * 2


def test_a_vector_takes_the_bytes_that_are_counted() -> None:
    counted = _Counted()
    count = 500
    store = InMemoryObjectStore(counted.world.clock)
    parts = World()._open(store, embedder=HashingEmbedder(384), folding=Folding.INLINE)  # type: ignore[arg-type]
    for number in range(count):
        parts.memories.remember(NAMESPACE, f"text {number}")
    parts.memories.sweep(NAMESPACE)
    (shard,) = store.list_page(vector_prefix(parse_namespace(NAMESPACE))).objects
    assert shard.size_bytes / count == pytest.approx(usage.VECTOR_BYTES, rel=0.05)


def test_a_manifest_is_no_larger_than_is_counted() -> None:
    counted = _Counted()
    for _ in range(FOLDS):
        counted.fold(1)
    head = counted.world.store.get(f"memory/{NAMESPACE}/_index/HEAD", size_max=100_000)
    assert head is not None
    assert len(head.body) <= usage.MANIFEST_BYTES
