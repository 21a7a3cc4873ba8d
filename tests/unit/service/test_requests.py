"""What each call asks of the store; every request is money and a round trip."""

import pytest

from s3_agent_memory.storage.counting import CountingObjectStore, RequestCounts
from tests.unit.service.worlds import NAMESPACE, World

SIZES = (10, 2_000)
UNCHANGED_HEAD = RequestCounts(list_count=1, get_unchanged_count=1)


class CountedWorld:
    """A world with so many folded memories, whose requests are counted from now on."""

    def __init__(self, memory_count: int) -> None:
        stores: list[CountingObjectStore] = []

        def wrap(store: object) -> CountingObjectStore:
            stores.append(CountingObjectStore(store))  # type: ignore[arg-type]
            return stores[0]

        self.world = World(wrap=wrap)
        for number in range(memory_count):
            self.world.memories.remember(NAMESPACE, f"common word{number}", id=None if number else "first")
            self.world.clock.advance(0.001)
        self.world.clean_up_log()
        self.memories = self.world.memories
        self.store = stores[0]
        self.store.reset()

    @property
    def requests(self) -> RequestCounts:
        """Return what was asked since the last call of this, without the bytes."""
        counts = self.store.counts
        self.store.reset()
        return RequestCounts(
            get_count=counts.get_count,
            get_unchanged_count=counts.get_unchanged_count,
            put_count=counts.put_count,
            delete_count=counts.delete_count,
            list_count=counts.list_count,
        )


@pytest.fixture(params=SIZES, scope="module")
def counted(request: pytest.FixtureRequest) -> CountedWorld:
    """A namespace of 10 and one of 2,000 memories; tests leave it as large as it was."""
    return CountedWorld(request.param)


@pytest.fixture
def warm(counted: CountedWorld) -> CountedWorld:
    """The same, with the index in this process."""
    counted.memories.recall(NAMESPACE, "common")
    counted.store.reset()
    return counted


def test_remember_is_two_puts(counted: CountedWorld) -> None:
    counted.memories.remember(NAMESPACE, "text")
    assert counted.requests == RequestCounts(put_count=2)


def test_remember_writes_no_more_bytes_in_a_large_namespace(counted: CountedWorld) -> None:
    counted.memories.remember(NAMESPACE, "Alice prefers metric units", tags=["prefs"], source="chat:42")
    written_bytes = counted.store.counts.written_bytes
    counted.store.reset()
    assert written_bytes < 1_024


def test_a_strong_recall_is_one_list_one_conditional_get_and_the_winners(warm: CountedWorld) -> None:
    hits = warm.memories.recall(NAMESPACE, "common", limit=7)
    assert len(hits) == 7
    assert warm.requests == UNCHANGED_HEAD + RequestCounts(get_count=7)


def test_a_strong_recall_that_finds_nothing_reads_nothing_more(warm: CountedWorld) -> None:
    warm.memories.recall(NAMESPACE, "unheard")
    assert warm.requests == UNCHANGED_HEAD


def test_a_strong_recall_reads_each_new_log_entry_once(warm: CountedWorld) -> None:
    warm.world.another_process().memories.remember(NAMESPACE, "another")
    warm.store.reset()
    warm.memories.recall(NAMESPACE, "unheard")
    assert warm.requests == UNCHANGED_HEAD + RequestCounts(get_count=1)
    warm.memories.recall(NAMESPACE, "unheard")
    assert warm.requests == UNCHANGED_HEAD


def test_an_eventual_recall_does_not_list(warm: CountedWorld) -> None:
    warm.memories.recall(NAMESPACE, "common", limit=7, consistency="eventual")
    assert warm.requests == RequestCounts(get_unchanged_count=1, get_count=7)


def test_a_list_is_one_list_one_conditional_get_and_the_page(warm: CountedWorld) -> None:
    assert len(warm.memories.list(NAMESPACE, limit=5).memories) == 5
    assert warm.requests == UNCHANGED_HEAD + RequestCounts(get_count=5)


def test_a_filter_reads_only_what_it_lets_pass(warm: CountedWorld) -> None:
    warm.memories.list(NAMESPACE, filter={"id": "first"}, tags=["unheard"])
    assert warm.requests == UNCHANGED_HEAD


def test_stats_read_no_memory(warm: CountedWorld) -> None:
    warm.memories.stats(NAMESPACE)
    assert warm.requests == UNCHANGED_HEAD


def test_get_looks_under_each_kind_and_for_a_tombstone(counted: CountedWorld) -> None:
    counted.memories.get(NAMESPACE, "first")
    assert counted.requests == RequestCounts(get_count=4)


def test_get_of_a_known_kind_is_two_gets(counted: CountedWorld) -> None:
    counted.memories.get(NAMESPACE, "first", kind="semantic")
    assert counted.requests == RequestCounts(get_count=2)


def test_update_is_the_reads_of_get_and_three_puts(counted: CountedWorld) -> None:
    counted.memories.update(NAMESPACE, "first", importance=0.4)
    assert counted.requests == RequestCounts(get_count=4, put_count=3)


def test_supersede_is_the_reads_of_get_a_look_at_the_index_and_two_puts(warm: CountedWorld) -> None:
    memory = warm.memories.supersede(NAMESPACE, "first", "common word0", valid_from="2100-01-01")
    assert warm.requests == UNCHANGED_HEAD + RequestCounts(get_count=4, put_count=2)
    warm.memories.forget(NAMESPACE, memory.id)


def test_a_recall_beside_superseded_memories_asks_for_no_more(warm: CountedWorld) -> None:
    old = warm.memories.remember(NAMESPACE, "lives in Oslo")
    new = warm.memories.supersede(NAMESPACE, old.id, "lives in Rome")
    warm.memories.recall(NAMESPACE, "unheard")
    warm.store.reset()
    assert [hit.memory.id for hit in warm.memories.recall(NAMESPACE, "lives", limit=1)] == [new.id]
    assert warm.requests == UNCHANGED_HEAD + RequestCounts(get_count=1)
    for memory in (new, old):
        warm.memories.forget(NAMESPACE, memory.id)


def test_forget_is_a_look_for_earlier_versions_two_puts_and_a_delete(counted: CountedWorld) -> None:
    memory = counted.memories.remember(NAMESPACE, "to be forgotten")
    counted.store.reset()
    counted.memories.forget(NAMESPACE, memory.id)
    assert counted.requests == RequestCounts(get_count=5, put_count=2, delete_count=1)


def test_a_cold_strong_recall_reads_the_manifest_and_each_segment_once(counted: CountedWorld) -> None:
    counted.world.clean_up_log()
    memories = counted.world.another_process().memories
    segment_count = len(counted.world.manifest.segments)
    counted.store.reset()
    memories.recall(NAMESPACE, "unheard")
    assert counted.requests == RequestCounts(list_count=1, get_count=1 + segment_count)


def test_reads_never_write(warm: CountedWorld) -> None:
    warm.memories.recall(NAMESPACE, "common", explain=True)
    warm.memories.recall(NAMESPACE, "")
    warm.memories.list(NAMESPACE)
    warm.memories.get(NAMESPACE, "first")
    warm.memories.stats(NAMESPACE)
    list(warm.memories.export(NAMESPACE))
    warm.memories.namespaces()
    requests = warm.requests
    assert (requests.put_count, requests.delete_count) == (0, 0)
