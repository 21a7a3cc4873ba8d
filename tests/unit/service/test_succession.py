"""Facts that change: what a reader gets now and as of a time, and what forgetting does to what was before."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.memory import Attribution, Memory
from s3_agent_memory.domain.validity import MemoryVersion
from s3_agent_memory.errors import ConflictError, NotFoundError, ValidationError
from tests.fakes.clock import DAY, HOUR
from tests.unit.service.scenarios import die_at_request, try_to_die
from tests.unit.service.worlds import NAMESPACE, PLACE, World

SECOND = timedelta(seconds=1)
TICK = timedelta(microseconds=1)


@pytest.fixture
def world() -> World:
    return World()


def now(world: World) -> datetime:
    return to_datetime(world.clock.now_us())


def remember(world: World, text: str, **fields: Any) -> Memory:
    return world.memories.remember(NAMESPACE, text, **fields)


def supersede(world: World, old: Memory, text: str, **fields: Any) -> Memory:
    """Supersede a memory a second later."""
    world.clock.advance(1)
    return world.memories.supersede(NAMESPACE, old.id, text, **fields)


def true(world: World, as_of: datetime | None = None) -> list[str]:
    """Return the contents that a fresh process finds, by list and by recall alike."""
    memories = world.another_process().memories
    listed = sorted(memory.content for memory in memories.list(NAMESPACE, as_of=as_of).memories)
    recalled = sorted(hit.memory.content for hit in memories.recall(NAMESPACE, "", as_of=as_of))
    assert listed == recalled
    return listed


def consolidated(world: World, text: str, *originals: Memory) -> Memory:
    """Write what a consolidation writes."""
    memory = Memory(
        id=world.parts.runtime.ids.new_id(),
        namespace=PLACE,
        kind=originals[0].kind,
        content=text,
        created_at=now(world),
        updated_at=now(world),
        consolidated_from=tuple(original.named_version for original in originals),
    )
    return world.parts.services.writer.create(memory)


# --- superseding ------------------------------------------------------------------------------------------------------


def test_what_is_superseded_is_left_out_at_once(world: World) -> None:
    new = supersede(world, remember(world, "home is Oslo"), "home is Rome")
    assert true(world) == [new.content]
    assert [hit.memory.id for hit in world.memories.recall(NAMESPACE, "home", limit=1)] == [new.id]


def test_the_old_memory_is_not_touched(world: World) -> None:
    old = remember(world, "Oslo")
    supersede(world, old, "Rome")
    assert world.memories.get(NAMESPACE, old.id) == old


def test_the_interval_is_half_open(world: World) -> None:
    old = remember(world, "Oslo")
    new = supersede(world, old, "Rome")
    assert true(world, old.created_at - TICK) == []
    assert true(world, old.created_at) == ["Oslo"]
    assert true(world, new.created_at - TICK) == ["Oslo"]
    assert true(world, new.created_at) == ["Rome"]


def test_a_fact_can_return(world: World) -> None:
    first = remember(world, "Oslo")
    second = supersede(world, first, "Rome")
    third = supersede(world, second, "Oslo")
    assert [true(world, memory.begin) for memory in (first, second, third)] == [["Oslo"], ["Rome"], ["Oslo"]]
    assert true(world) == ["Oslo"]


def test_a_change_that_is_still_to_come_is_not_true_yet(world: World) -> None:
    old = remember(world, "Oslo")
    supersede(world, old, "Rome", valid_from=now(world) + 60 * SECOND)
    assert true(world) == ["Oslo"]
    world.clock.advance(60)
    assert true(world) == ["Rome"]


def test_what_arrives_late_ends_when_the_later_one_begins(world: World) -> None:
    old = remember(world, "Oslo")
    world.clock.advance(10)
    last = supersede(world, old, "Rome")
    late = supersede(world, old, "Bonn", valid_from=last.begin - 5 * SECOND)
    assert late.valid_to == last.begin
    steps = [old.begin, late.begin, last.begin]
    assert [true(world, step) for step in steps] == [["Oslo"], ["Bonn"], ["Rome"]]
    assert true(world) == ["Rome"]


def test_two_that_supersede_one_version_at_once_are_each_true_from_their_time(world: World) -> None:
    old = remember(world, "Oslo")
    begins = [now(world) + 20 * SECOND, now(world) + 10 * SECOND]
    one, other = World.another_process(world), World.another_process(world)
    # The second one has seen nothing of the first: its view is that of before.
    writers = [parts.services.writer for parts in (one, other)]
    for text, begin, writer in zip(("Rome", "Bonn"), begins, writers, strict=True):
        writer.create(
            Memory(
                id=f"home-{text}",
                namespace=PLACE,
                kind=old.kind,
                content=text,
                created_at=now(world),
                updated_at=now(world),
                valid_from=begin,
                supersedes=(old.named_version,),
            )
        )
    assert [true(world, begin) for begin in (old.begin, begins[1], begins[0])] == [["Oslo"], ["Bonn"], ["Rome"]]
    world.clock.advance(30)
    assert true(world) == ["Rome"]


def test_two_that_begin_at_one_moment_both_stand(world: World) -> None:
    old = remember(world, "Oslo")
    begin = now(world) + SECOND
    for text in ("Rome", "Bonn"):
        supersede(world, old, text, valid_from=begin)
    assert true(world) == ["Bonn", "Rome"]


def test_an_earlier_begin_overtakes_what_the_old_one_had_superseded(world: World) -> None:
    first = remember(world, "Oslo")
    world.clock.advance(10)
    second = supersede(world, first, "Rome")
    corrected = supersede(world, second, "Rome, since May", valid_from=second.begin - 5 * SECOND)
    assert corrected.supersedes == (second.named_version, first.named_version)
    assert true(world, corrected.begin - TICK) == ["Oslo"]
    assert true(world, corrected.begin) == true(world) == ["Rome, since May"]


def test_an_old_memory_that_is_changed_counts_again(world: World) -> None:
    old = remember(world, "Oslo")
    supersede(world, old, "Rome")
    world.memories.update(NAMESPACE, old.id, content="a house in Oslo")
    assert true(world) == ["Rome", "a house in Oslo"]


def test_the_new_memory_takes_over_what_is_not_given(world: World) -> None:
    old = remember(
        world,
        "Oslo",
        kind="procedural",
        tags=["home"],
        importance=0.9,
        source="chat:1",
        data={"city": "Oslo"},
        metadata={"k": 1},
        attribution=Attribution(user_id="alice"),
        ttl=DAY,
        pinned=True,
        valid_to="2030-01-01",
    )
    new = supersede(world, old, "Rome", data={"city": "Rome"})
    kept = ("kind", "tags", "importance", "metadata", "attribution", "expires_at", "pinned")
    assert [getattr(new, name) for name in kept] == [getattr(old, name) for name in kept]
    assert (new.data, new.source, new.version, new.valid_to) == ({"city": "Rome"}, None, 1, None)


def test_given_fields_replace_those_of_the_old_one(world: World) -> None:
    old = remember(world, "Oslo", tags=["home"], metadata={"k": 1}, ttl=DAY)
    new = supersede(world, old, "Rome", tags=[], metadata=None, ttl=None, source="chat:2", new_id="rome")
    assert (new.id, new.tags, new.metadata, new.expires_at, new.source) == ("rome", (), {}, None, "chat:2")


def test_nothing_supersedes_what_is_not_there(world: World) -> None:
    gone, expired = remember(world, "gone"), remember(world, "expired", ttl=1)
    world.memories.forget(NAMESPACE, gone.id)
    world.clock.advance(2)
    for memory_id in (gone.id, expired.id, "never-was"):
        with pytest.raises(NotFoundError):
            world.memories.supersede(NAMESPACE, memory_id, "new")


def test_another_version_than_the_expected_one_is_not_superseded(world: World) -> None:
    old = remember(world, "Oslo")
    world.memories.update(NAMESPACE, old.id, importance=0.9)
    with pytest.raises(ConflictError, match="at version 2, not 1"):
        supersede(world, old, "Rome", expected_version=1)
    assert true(world) == ["Oslo"]


@pytest.mark.parametrize("fields", [{"valid_from": "soon"}, {"valid_to": "1999-01-01"}, {"tags": "home"}, {"ttl": 0}])
def test_a_wrong_argument_stores_nothing(world: World, fields: dict[str, Any]) -> None:
    old = remember(world, "Oslo")
    with pytest.raises(ValidationError):
        supersede(world, old, "Rome", **fields)
    assert true(world) == ["Oslo"]


def test_clocks_that_differ_hide_nothing_that_is_true(world: World) -> None:
    old = remember(world, "Oslo")
    world.clock.advance(-30)
    new = world.memories.supersede(NAMESPACE, old.id, "Rome")
    assert new.created_at > old.created_at
    assert true(world) == ["Rome"]


def test_superseding_an_original_ends_what_was_consolidated_from_it(world: World) -> None:
    old = remember(world, "lives in Oslo")
    merged = consolidated(world, "Alice lives in Oslo", old, remember(world, "home: Oslo"))
    new = supersede(world, old, "lives in Rome")
    assert new.supersedes == (old.named_version, merged.named_version)
    assert true(world) == ["lives in Rome"]


def test_the_version_that_is_named_counts_and_not_the_row_the_index_has(world: World) -> None:
    """An update that has not written its log entry yet is known by its object alone."""
    old = remember(world, "Oslo")
    die_at_request(world, verb="put", key="/_index/log/")
    assert not try_to_die(lambda: world.memories.update(NAMESPACE, old.id, content="Oslo, Norway"))
    world.clock.advance(1)
    new = world.another_process().memories.supersede(NAMESPACE, old.id, "Rome")
    assert new.supersedes == (MemoryVersion(old.id, 2),)
    assert true(world) == ["Rome"]


def test_a_pages_cursor_belongs_to_its_moment(world: World) -> None:
    for text in ("Oslo", "Rome"):
        remember(world, text)
    page = world.memories.list(NAMESPACE, limit=1, as_of=now(world))
    with pytest.raises(ValidationError, match="cursor"):
        world.memories.list(NAMESPACE, limit=1, cursor=page.next_cursor)


def test_expired_and_forgotten_memories_never_come_back(world: World) -> None:
    expired, forgotten = remember(world, "expired", ttl=HOUR), remember(world, "forgotten")
    then = now(world)
    world.clock.advance(HOUR)
    world.memories.forget(NAMESPACE, forgotten.id)
    assert expired.expires_at == now(world)
    assert true(world, then) == []


# --- validity of its own ----------------------------------------------------------------------------------------------


def test_a_memory_is_true_within_its_own_interval(world: World) -> None:
    start = now(world) + 10 * SECOND
    remember(world, "a visit", valid_from=start, valid_to=start + 10 * SECOND)
    seen = []
    for _ in range(3):
        seen.append(true(world))
        world.clock.advance(10)
    assert seen == [[], ["a visit"], []]
    assert true(world, start) == ["a visit"]
    assert true(world, start + 10 * SECOND) == []


def test_an_update_can_end_a_memory_and_open_it_again(world: World) -> None:
    old = remember(world, "Oslo")
    world.clock.advance(1)
    world.memories.update(NAMESPACE, old.id, valid_to=now(world))
    assert true(world) == []
    world.memories.update(NAMESPACE, old.id, valid_to=None)
    assert true(world) == ["Oslo"]


# --- forgetting -------------------------------------------------------------------------------------------------------


def test_forgetting_the_new_memory_does_not_bring_the_old_one_back(world: World) -> None:
    old = remember(world, "Oslo")
    new = supersede(world, old, "Rome")
    world.memories.forget(NAMESPACE, new.id)
    assert true(world) == []
    assert true(world, old.begin) == ["Oslo"]
    assert world.memories.get(NAMESPACE, old.id).valid_to == new.begin


def test_forgetting_a_change_that_was_still_to_come_leaves_the_old_memory_true(world: World) -> None:
    old = remember(world, "Oslo")
    new = supersede(world, old, "Rome", valid_from=now(world) + 60 * SECOND)
    world.memories.forget(NAMESPACE, new.id)
    world.clock.advance(60)
    assert true(world) == ["Oslo"]


def test_forgetting_the_last_one_does_not_bring_back_the_one_before_it(world: World) -> None:
    old = remember(world, "Oslo")
    last_begin = now(world) + 20 * SECOND
    # Neither has seen the other.
    for text, begin in (("Rome", last_begin), ("Bonn", last_begin - 10 * SECOND)):
        world.parts.services.writer.create(
            Memory(
                id=text,
                namespace=PLACE,
                kind=old.kind,
                content=text,
                created_at=now(world),
                updated_at=now(world),
                valid_from=begin,
                supersedes=(old.named_version,),
            )
        )
    world.clock.advance(30)
    world.memories.forget(NAMESPACE, "Rome")
    assert true(world) == []
    assert true(world, last_begin - SECOND) == ["Bonn"]


def test_forgetting_touches_no_version_that_was_changed_since(world: World) -> None:
    old = remember(world, "Oslo")
    new = supersede(world, old, "Rome")
    changed = world.memories.update(NAMESPACE, old.id, content="a house in Oslo")
    world.memories.forget(NAMESPACE, new.id)
    assert world.memories.get(NAMESPACE, old.id) == changed


def test_a_superseder_that_expires_keeps_hiding_and_its_pruning_ends_the_old_memory(world: World) -> None:
    old = remember(world, "Oslo")
    new = supersede(world, old, "Rome", ttl=60)
    world.clock.advance(61)
    assert true(world) == []
    assert world.memories.prune_expired(NAMESPACE).forgotten == 1
    assert true(world) == []
    assert world.memories.get(NAMESPACE, old.id).valid_to == new.begin


def test_forgetting_a_consolidated_memory_forgets_what_it_was_made_of(world: World) -> None:
    originals = [remember(world, "lives in Oslo"), remember(world, "home: Oslo")]
    merged = consolidated(world, "Alice lives in Oslo", *originals)
    again = consolidated(world, "Alice lives in Oslo, Norway", merged, remember(world, "Oslo, Norway"))
    assert true(world) == [again.content]
    world.memories.forget(NAMESPACE, again.id)
    assert true(world) == []
    assert list(world.memories.export(NAMESPACE)) == []


def test_forgetting_a_consolidated_memory_spares_an_original_that_was_changed(world: World) -> None:
    originals = [remember(world, "lives in Oslo"), remember(world, "home: Oslo")]
    merged = consolidated(world, "Alice lives in Oslo", *originals)
    world.memories.update(NAMESPACE, originals[0].id, content="lived in Oslo")
    world.memories.forget(NAMESPACE, merged.id)
    assert true(world) == ["lived in Oslo"]


def test_memories_that_name_each_other_are_forgotten_all_the_same(world: World) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        world.parts.services.writer.remember_as(
            Memory(
                id=name,
                namespace=PLACE,
                kind=remember(world, "x").kind,
                content=name,
                created_at=now(world),
                updated_at=now(world),
                consolidated_from=(MemoryVersion(other, 1),),
            )
        )
    world.memories.forget(NAMESPACE, "a")
    assert sorted(memory.content for memory in world.memories.list(NAMESPACE).memories) == ["x", "x"]


def test_taking_a_consolidated_memory_away_by_itself_restores_the_exact_state(world: World) -> None:
    originals = [remember(world, "lives in Oslo"), remember(world, "home: Oslo")]
    before = list(world.memories.export(NAMESPACE))
    merged = consolidated(world, "Alice lives in Oslo", *originals)
    assert true(world) == [merged.content]
    world.parts.services.writer.forget(PLACE, merged.id)
    assert list(world.memories.export(NAMESPACE)) == before
    assert true(world) == ["home: Oslo", "lives in Oslo"]
