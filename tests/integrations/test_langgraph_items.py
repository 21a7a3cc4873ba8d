"""How an item lies in the memory store, how long it lives, and what may not be stored."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp

from s3_agent_memory import ConflictError, Kind, LimitExceededError, Limits, Memory, MemoryStore, ValidationError
from s3_agent_memory.langgraph_store import S3Store
from s3_agent_memory.service.store.base import NamespaceLike
from tests.integrations.langgraph_worlds import ALICE, StoreWorld
from tests.unit.service.worlds import World


@pytest.fixture
def lab() -> StoreWorld:
    return StoreWorld()


# --- as a memory ------------------------------------------------------------------------------------------------------


def test_an_item_is_a_memory_with_its_value_as_data(lab: StoreWorld) -> None:
    lab.store(index=["text"]).put(ALICE, "units", {"text": "metric", "since": 1795})
    memory = lab.world.memories.get("users/alice", "units")
    assert (memory.content, memory.data, memory.source) == ("metric", {"text": "metric", "since": 1795}, "langgraph")


def test_an_unsafe_key_is_kept_beside_its_hash(lab: StoreWorld) -> None:
    lab.store().put(ALICE, "units/of measure", {"text": "metric"})
    (memory,) = lab.world.memories.list("users/alice").memories
    assert memory.id.startswith("sha256-")
    assert memory.metadata == {"key": "units/of measure"}


def test_created_at_stays_when_an_item_is_put_again(lab: StoreWorld) -> None:
    store = lab.store()
    store.put(ALICE, "a", {"x": 1})
    lab.advance_minutes(1)
    store.put(ALICE, "a", {"x": 2})
    item = store.get(ALICE, "a")
    assert item is not None
    assert (item.updated_at - item.created_at).total_seconds() == 60


def test_a_memory_of_somebody_else_is_not_an_item(lab: StoreWorld) -> None:
    lab.world.memories.remember("users/alice", "Alice is vegetarian", id="diet")
    store = lab.store()
    assert (store.get(ALICE, "diet"), store.search(ALICE), store.search(ALICE, query="vegetarian")) == (None, [], [])


@pytest.mark.parametrize("kind", ["semantic", "episodic"])
def test_a_memory_of_somebody_else_is_not_overwritten(lab: StoreWorld, kind: str) -> None:
    lab.world.memories.remember("users/alice", "Alice is vegetarian", id="diet", kind=kind)
    with pytest.raises(ConflictError, match="no LangGraph store wrote"):
        lab.store().put(ALICE, "diet", {"x": 1})
    assert lab.world.memories.get("users/alice", "diet").content == "Alice is vegetarian"


def test_a_memory_of_somebody_else_is_not_deleted(lab: StoreWorld) -> None:
    lab.world.memories.remember("users/alice", "Alice is vegetarian", id="diet")
    lab.store().delete(ALICE, "diet")
    assert lab.world.memories.get("users/alice", "diet").content == "Alice is vegetarian"


def test_an_id_forgotten_under_another_kind_is_a_conflict(lab: StoreWorld) -> None:
    lab.world.memories.remember("users/alice", "Alice ate ramen", id="meal", kind="episodic")
    lab.world.memories.forget("users/alice", "meal")
    with pytest.raises(ConflictError, match="episodic"):
        lab.store().put(ALICE, "meal", {"x": 1})


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ({"$nulls": None}, {"deep": {}}),
        ({"$nulls": ["zip", [], [7], ["deep"], ["zip", "x"]]}, {"deep": {}}),
        ({"zip": 7}, {"zip": 7, "deep": {"x": None}}),
        ({"deep": None}, {"zip": None}),
        ({"deep": {"x": 1}}, {"zip": None, "deep": {"x": 1}}),
    ],
)
def test_an_item_that_somebody_changed_by_hand_can_be_read(lab: StoreWorld, data: dict, value: dict) -> None:
    store = lab.store()
    store.put(ALICE, "a", {"zip": None, "deep": {"x": None}})
    lab.world.memories.update("users/alice", "a", data=data)
    assert [item.value for item in store.search(ALICE)] == [value]


@pytest.mark.parametrize("metadata", [{"key": 7}, {"updated_at": "noon"}, {"ttl_minutes": 1e308}, {"ttl_minutes": -1}])
def test_wrong_metadata_hides_no_item(lab: StoreWorld, metadata: dict) -> None:
    store = lab.store()
    store.put(ALICE, "a", {"x": 1}, ttl=10)
    lab.world.memories.update("users/alice", "a", metadata=metadata)
    lab.advance_minutes(5)
    assert [(item.key, item.value) for item in store.search(ALICE)] == [("a", {"x": 1})]


def test_a_memory_that_only_says_it_is_langgraphs_is_no_item(lab: StoreWorld) -> None:
    lab.world.memories.remember("users/alice", "Alice ate ramen", id="a", kind="episodic", source="langgraph")
    assert (lab.store().get(ALICE, "a"), lab.store().search(ALICE)) == (None, [])


def test_another_process_sees_an_item_at_once(lab: StoreWorld) -> None:
    lab.store().put(ALICE, "a", {"x": 1})
    other = S3Store(lab.world.another_process().memories)
    assert [item.value for item in other.search(("users",))] == [{"x": 1}]


# --- time to live -----------------------------------------------------------------------------------------------------


def test_an_item_expires_after_its_minutes(lab: StoreWorld) -> None:
    store = lab.store()
    store.put(ALICE, "a", {"x": 1}, ttl=10)
    lab.advance_minutes(9.9)
    before = store.get(ALICE, "a", refresh_ttl=False)
    lab.advance_minutes(0.2)
    assert before is not None
    assert (store.get(ALICE, "a"), store.search(ALICE)) == (None, [])


def test_get_refreshes_a_time_to_live(lab: StoreWorld) -> None:
    store = lab.store()
    store.put(ALICE, "a", {"x": 1}, ttl=10)
    for _ in range(5):
        lab.advance_minutes(8)
        assert store.get(ALICE, "a") is not None


def test_search_refreshes_the_items_it_returns(lab: StoreWorld) -> None:
    store = lab.store()
    store.put(ALICE, "a", {"x": 1}, ttl=10)
    store.put(ALICE, "b", {"x": 2}, ttl=10)
    lab.advance_minutes(8)
    store.search(ALICE, filter={"x": 1})
    lab.advance_minutes(8)
    assert [item.key for item in store.search(ALICE)] == ["a"]


@pytest.mark.parametrize("config", [{"refresh_on_read": False}, {"refresh_on_read": False, "default_ttl": 10}])
def test_reads_do_not_refresh_if_told_so(lab: StoreWorld, config: dict) -> None:
    store = lab.store(ttl=config)
    store.put(ALICE, "a", {"x": 1}, ttl=10)
    lab.advance_minutes(8)
    store.get(ALICE, "a")
    store.search(ALICE)
    lab.advance_minutes(8)
    assert store.get(ALICE, "a") is None


def test_refreshing_is_no_update_of_the_item(lab: StoreWorld) -> None:
    store = lab.store()
    store.put(ALICE, "a", {"x": 1}, ttl=10)
    first = store.get(ALICE, "a")
    for _ in range(3):
        lab.advance_minutes(8)
        store.get(ALICE, "a")
    assert store.get(ALICE, "a") == first


def test_put_after_a_refresh_is_an_update_again(lab: StoreWorld) -> None:
    store = lab.store()
    store.put(ALICE, "a", {"x": 1}, ttl=10)
    lab.advance_minutes(8)
    store.get(ALICE, "a")
    store.put(ALICE, "a", {"x": 2})
    item = store.get(ALICE, "a")
    assert item is not None
    assert round((item.updated_at - item.created_at).total_seconds()) == 480


def test_a_read_soon_after_another_writes_nothing(lab: StoreWorld) -> None:
    store = lab.store()
    store.put(ALICE, "a", {"x": 1}, ttl=100)
    lab.advance_minutes(4)
    store.get(ALICE, "a")
    assert lab.world.memories.get("users/alice", "a").version == 1


def test_the_default_time_to_live_is_that_of_the_store(lab: StoreWorld) -> None:
    store = lab.store(ttl={"default_ttl": 10})
    store.put(ALICE, "a", {"x": 1})
    store.put(ALICE, "b", {"x": 2}, ttl=None)
    lab.advance_minutes(11)
    assert [item.key for item in store.search(ALICE)] == ["b"]


def test_put_again_replaces_the_time_to_live(lab: StoreWorld) -> None:
    store = lab.store()
    store.put(ALICE, "a", {"x": 1}, ttl=10)
    store.put(ALICE, "a", {"x": 2})
    lab.advance_minutes(1_000)
    assert store.get(ALICE, "a") is not None


def test_an_expired_key_can_be_put_again(lab: StoreWorld) -> None:
    store = lab.store()
    store.put(ALICE, "a", {"x": 1}, ttl=10)
    lab.advance_minutes(11)
    store.put(ALICE, "a", {"y": 2})
    item = store.get(ALICE, "a")
    assert item is not None
    assert item.value == {"y": 2}


def test_an_expired_item_is_pruned(lab: StoreWorld) -> None:
    lab.store().put(ALICE, "a", {"x": 1}, ttl=10)
    lab.advance_minutes(11)
    assert lab.world.memories.prune_expired("users/alice").forgotten == 1


@pytest.mark.parametrize("ttl", [0, -1])
def test_a_time_to_live_that_is_not_positive_is_refused(lab: StoreWorld, ttl: float) -> None:
    with pytest.raises(ValidationError, match="positive"):
        lab.store().put(ALICE, "a", {"x": 1}, ttl=ttl)


# --- what may not be stored -------------------------------------------------------------------------------------------


def test_a_value_beyond_the_limit_is_refused_with_the_limit(lab: StoreWorld) -> None:
    with pytest.raises(LimitExceededError, match="at most 32768"):
        lab.store().put(ALICE, "a", {"text": "x" * 33_000})


def test_a_key_beyond_the_limit_is_refused(lab: StoreWorld) -> None:
    with pytest.raises(LimitExceededError, match="at most 4096"):
        lab.store().put(ALICE, "a/" * 3_000, {"x": 1})


@pytest.mark.parametrize("value", [{"a": {1, 2}}, {"a": float("nan")}, {1: "a"}, {"a": "\ud800"}, ["a"], "a"])
def test_a_value_that_is_no_json_is_refused(lab: StoreWorld, value: object) -> None:
    with pytest.raises(ValidationError):
        lab.store().put(ALICE, "a", value)  # type: ignore[arg-type]


def test_a_batch_with_a_wrong_operation_writes_nothing(lab: StoreWorld) -> None:
    store = lab.store()
    with pytest.raises(ValidationError):
        store.batch([PutOp(ALICE, "a", {"x": 1}), PutOp(ALICE, "b", {"x": object()})])
    assert store.search(ALICE) == []


@pytest.mark.parametrize("namespace", [("a.b",), ("",)])
def test_a_batch_checks_labels_by_itself(lab: StoreWorld, namespace: tuple[str, ...]) -> None:
    with pytest.raises(InvalidNamespaceError):
        lab.store().batch([GetOp(namespace, "a")])


def test_nothing_is_found_where_nothing_can_be_stored(lab: StoreWorld) -> None:
    store, deep = lab.store(), ("a",) * 9
    assert (store.get(deep, "a"), store.search(deep), store.list_namespaces(prefix=deep)) == (None, [], [])


def test_put_refuses_a_namespace_that_is_too_deep(lab: StoreWorld) -> None:
    with pytest.raises(InvalidNamespaceError, match="1 to 8 labels"):
        lab.store().put(("a",) * 9, "a", {"x": 1})


@pytest.mark.parametrize("index", ["text", [1], {"embed": len, "dims": 3}])
def test_a_wrong_index_is_refused(lab: StoreWorld, index: object) -> None:
    with pytest.raises(ValidationError):
        lab.store(index=index)


# --- at the same time -------------------------------------------------------------------------------------------------


def test_no_write_of_many_threads_to_one_key_is_lost() -> None:
    memories = MemoryStore.from_url("memory://")
    stores = [S3Store(memories) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: stores[number % 4].put(ALICE, "a", {"n": number}), range(24)))
    assert memories.get("users/alice", "a").version == 24


class OvertakenMemories(MemoryStore):
    """A memory store in which somebody else is faster, once, between a read and the write that follows it."""

    rival: Callable[[], None] | None = None

    def get(self, namespace: NamespaceLike, id: str, *, kind: Kind | str | None = None) -> Memory:
        memory = super().get(namespace, id, kind=kind)
        rival, self.rival = self.rival, None
        if rival is not None:
            rival()
        return memory


def test_an_overtaken_write_leaves_nothing_of_what_overtook_it(lab: StoreWorld) -> None:
    memories = OvertakenMemories(lab.world.parts.runtime, lab.world.parts.services)
    store = S3Store(memories, clock=lab.world.clock)
    store.put(ALICE, "a", {"x": 1})
    memories.rival = lambda: lab.store().put(ALICE, "a", {"y": 2})
    store.put(ALICE, "a", {"z": 3})
    assert lab.world.memories.get("users/alice", "a").data == {"z": 3}


def test_writes_and_deletions_of_one_key_do_not_get_in_each_others_way() -> None:
    store = S3Store(MemoryStore.from_url("memory://"))
    values: list[dict[str, int] | None] = [{"n": 1}, None, {"n": 2}, None] * 5
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda value: store.batch([PutOp(ALICE, "a", value)]), values))
    store.put(ALICE, "a", {"n": 3})
    assert [item.value for item in store.search(ALICE)] == [{"n": 3}]


def test_a_value_longer_than_a_text_may_be_is_found_by_its_beginning() -> None:
    world = World(limits=Limits(content_bytes_max=64))
    store = S3Store(world.memories)
    store.put(ALICE, "a", {"text": "ramen " + "ю" * 100})
    (item,) = store.search(ALICE, query="ramen")
    assert item.score is not None
