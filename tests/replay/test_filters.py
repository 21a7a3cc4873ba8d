"""Filters in recall and list, through the index, before and after the fold."""

from typing import Any

import pytest

from s3_agent_memory.domain.memory import Attribution
from tests.unit.domain.test_filters import MISSING, VALUE_OF
from tests.unit.service.worlds import NAMESPACE, World

TABLE: list[tuple[object, set[str]]] = [
    ({"$gt": 9}, {"10", "10.0", "10.5"}),
    ({"$gte": 9}, {"9", "10", "10.0", "10.5"}),
    ({"$lt": 9}, {"2", "-1"}),
    ({"$lte": 9}, {"2", "9", "-1"}),
    ({"$eq": 10}, {"10", "10.0"}),
    ({"$eq": "10"}, {'"10"'}),
    ({"$eq": True}, {"true"}),
    ({"$eq": 1}, set()),
    ({"$eq": None}, {"null", "missing"}),
    ({"$ne": 10}, {"2", "9", "10.5", "-1", '"10"', "true", "null", "missing"}),
    ({"$ne": None}, {"2", "9", "10", "10.0", "10.5", "-1", '"10"', "true"}),
    ({"$gt": "1"}, {'"10"'}),
    ({"$gte": True}, set()),
    ({"$lt": None}, set()),
    (10.0, {"10", "10.0"}),
]


@pytest.fixture(params=["log", "segment", "both"], scope="module")
def filled(request: pytest.FixtureRequest) -> World:
    """One memory for each value, in the log or folded."""
    world = World()
    for number, (name, value) in enumerate(VALUE_OF.items()):
        world.memories.remember(NAMESPACE, name, data={} if value is MISSING else {"v": value})
        if request.param == "both" and number % 2:
            world.fold()
    if request.param == "segment":
        world.clean_up_log()
    return world


@pytest.mark.parametrize(("condition", "names"), TABLE)
def test_list_filters_by_type_and_value(filled: World, condition: object, names: set[str]) -> None:
    page = filled.memories.list(NAMESPACE, filter={"data.v": condition})
    assert {memory.content for memory in page.memories} == names


@pytest.mark.parametrize(("condition", "names"), TABLE)
def test_recall_filters_by_type_and_value(filled: World, condition: object, names: set[str]) -> None:
    hits = filled.memories.recall(NAMESPACE, "", filter={"data.v": condition})
    assert {hit.memory.content for hit in hits} == names


def test_a_filter_is_applied_before_the_limit(world: World) -> None:
    for number in range(300):
        world.memories.remember(NAMESPACE, "needle", data={"n": number}, importance=1 - number / 1_000)
    world.fold()
    hits = world.memories.recall(NAMESPACE, "needle", filter={"data.n": {"$gte": 298}}, limit=5)
    assert sorted(str(hit.memory.data) for hit in hits) == ["{'n': 298}", "{'n': 299}"]


@pytest.mark.parametrize("key", ["last", "k0", "k299"])
def test_a_memory_with_more_values_than_are_indexed_is_found_by_each(world: World, key: str) -> None:
    data: dict[str, Any] = {f"k{number}": number for number in range(300)}
    world.memories.remember(NAMESPACE, "large", data={**data, "last": "yes"})
    world.memories.remember(NAMESPACE, "small", data={"last": "no"})
    world.fold()
    wanted = {"last": "yes", "k0": 0, "k299": 299}[key]
    page = world.memories.list(NAMESPACE, filter={f"data.{key}": wanted})
    assert [memory.content for memory in page.memories] == ["large"]


def test_a_filter_sees_the_present_values(world: World) -> None:
    memory = world.memories.remember(NAMESPACE, "text", data={"state": "open"}, tags=["a"])
    world.fold()
    world.memories.update(NAMESPACE, memory.id, data={"state": "done"}, tags=["b"])
    found = [
        len(world.memories.list(NAMESPACE, filter=wanted).memories)
        for wanted in ({"data.state": "open"}, {"data.state": "done"}, {"tags": "a"}, {"tags": "b"})
    ]
    assert found == [0, 1, 0, 1]


def test_an_eventual_answer_never_breaks_its_filter(world: World) -> None:
    memory = world.memories.remember(NAMESPACE, "text", data={"state": "open"})
    world.fold()
    world.memories.update(NAMESPACE, memory.id, data={"state": "done"})
    stale = world.memories.recall(NAMESPACE, "text", filter={"data.state": "open"}, consistency="eventual")
    assert list(stale) == []


@pytest.mark.parametrize("name", ["user_id", "agent_id", "session_id", "author"])
def test_attribution_is_a_filter(world: World, name: str) -> None:
    for value in ("al", "alice", "alice2", None):
        world.memories.remember(NAMESPACE, str(value), attribution=Attribution(**{name: value}))
    found = [memory.content for memory in world.memories.list(NAMESPACE, filter={name: "alice"}).memories]
    assert found == ["alice"]


def test_tags_are_all_required(world: World) -> None:
    world.memories.remember(NAMESPACE, "both", tags=["a", "b"])
    world.memories.remember(NAMESPACE, "one", tags=["a"])
    assert [hit.memory.content for hit in world.memories.recall(NAMESPACE, "", tags=["a", "b"])] == ["both"]


def test_a_kind_is_a_filter(world: World) -> None:
    for kind in ("semantic", "episodic", "procedural"):
        world.memories.remember(NAMESPACE, kind, kind=kind)
    assert [memory.content for memory in world.memories.list(NAMESPACE, kind="episodic").memories] == ["episodic"]
