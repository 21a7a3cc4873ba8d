"""The event feed tells every acknowledged change, whatever clocks, folds, merges and rebuilds do meanwhile."""

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from s3_agent_memory.domain.events import Event, EventType
from s3_agent_memory.errors import CursorTooOldError, ValidationError
from s3_agent_memory.service.events.cursor import (
    CURSOR_LENGTH_MAX,
    SEEN_COUNT_MAX,
    FeedCursor,
    SeenChange,
    decode_cursor,
)
from s3_agent_memory.service.grace import DELETION_AGE_MS, TRASH_GRACE_MS
from tests.fakes.clock import HOUR, MINUTE
from tests.unit.service.scenarios import die_at_request, try_to_die
from tests.unit.service.worlds import NAMESPACE, PLACE, World

DAY = 24 * HOUR


@dataclass
class Consumer:
    """Keeps a copy of what is there by reading events, and nothing else."""

    world: World
    cursor: str | None = None
    limit: int = 100
    copy: dict[str, tuple[int, bool]] = field(default_factory=dict)
    told: list[Event] = field(default_factory=list)

    def poll(self, page_count_max: int = 1_000) -> list[Event]:
        """Read page by page until there is no more; each page by a process that remembers nothing."""
        told: list[Event] = []
        for _ in range(page_count_max):
            memories = self.world.another_process().memories
            page = memories.events(NAMESPACE, self.cursor, limit=self.limit)
            self.cursor = page.cursor
            told += page.events
            for event in page.events:
                self._apply(event)
            if not page.has_more:
                break
        self.told += told
        return told

    def _apply(self, event: Event) -> None:
        if event.type is EventType.SUPERSEDED:
            return
        rank = (event.version, event.type is EventType.FORGOTTEN)
        self.copy[event.id] = max(rank, self.copy.get(event.id, (0, False)))

    @property
    def alive(self) -> dict[str, int]:
        """The memories that are there, with their versions, as far as was told."""
        return {memory_id: version for memory_id, (version, is_gone) in self.copy.items() if not is_gone}


def truth_of(world: World) -> dict[str, int]:
    page = world.another_process().memories.list(NAMESPACE, limit=100)
    assert page.next_cursor is None
    return {memory.id: memory.version for memory in page.memories}


def types_of(events: list[Event]) -> list[tuple[str, str, int]]:
    return [(event.type.value, event.id, event.version) for event in events]


def remember(world: World, memory_id: str, **options: Any) -> None:
    world.memories.remember(NAMESPACE, f"text of {memory_id}", id=memory_id, **options)


def merge_all(world: World) -> None:
    """Fold eight times and merge the segments of it into one."""
    for number in range(8):
        remember(world, f"filler-{number}-{world.clock.now_us()}")
        world.fold()
    world.clean_up_log()
    assert world.compact() >= 8


# --- what is told -----------------------------------------------------------------------------------------------------


def test_a_feed_begins_with_everything_there_is(world: World) -> None:
    remember(world, "a")
    world.fold()
    remember(world, "b")
    assert types_of(Consumer(world).poll()) == [("created", "a", 1), ("created", "b", 1)]


def test_a_feed_from_now_begins_with_the_next_change(world: World) -> None:
    remember(world, "folded")
    world.fold()
    remember(world, "logged")
    consumer = Consumer(world, cursor="now")
    assert consumer.poll() == []
    remember(world, "next")
    assert types_of(consumer.poll()) == [("created", "next", 1)]


def test_every_kind_of_change_is_told_with_its_version_and_time(world: World) -> None:
    consumer = Consumer(world, cursor="now")
    consumer.poll()
    remember(world, "a", kind="procedural")
    created = consumer.poll()
    world.memories.update(NAMESPACE, "a", content="other")
    updated = consumer.poll()
    world.memories.forget(NAMESPACE, "a")
    forgotten = consumer.poll()
    events = [*created, *updated, *forgotten]
    assert types_of(events) == [("created", "a", 1), ("updated", "a", 2), ("forgotten", "a", 2)]
    assert {event.kind for event in events} == {"procedural"}


def test_a_memory_that_names_others_tells_what_it_supersedes(world: World) -> None:
    remember(world, "old")
    consumer = Consumer(world, cursor="now")
    consumer.poll()
    line = (
        '{"id":"new","content":"now this","created_at":"2026-01-01T00:00:00Z","supersedes":[{"id":"old","version":1}]}'
    )
    assert world.memories.import_(NAMESPACE, [line]).imported == 1
    events = consumer.poll()
    assert types_of(events) == [("created", "new", 1), ("superseded", "old", 1)]
    assert events[1].by == "new"


def test_an_event_never_holds_content(world: World) -> None:
    world.memories.remember(NAMESPACE, "a secret", id="a", tags=["secret"], data={"k": "secret"}, source="secret")
    world.fold()
    assert "secret" not in repr(Consumer(world).poll())


def test_what_was_told_from_the_log_is_not_told_again_when_it_is_folded(world: World) -> None:
    consumer = Consumer(world)
    remember(world, "a")
    consumer.poll()
    world.fold()
    assert consumer.poll() == []
    world.clean_up_log()
    assert consumer.poll() == []


def test_what_was_told_is_not_told_again_after_a_merge(world: World) -> None:
    consumer = Consumer(world)
    for number in range(12):
        remember(world, f"id-{number}")
        world.fold()
    world.clean_up_log()
    consumer.poll()
    assert world.compact() > 0
    assert consumer.poll() == []


def test_pages_have_as_many_memories_as_asked_for(world: World) -> None:
    for number in range(25):
        remember(world, f"id-{number}")
        if number in (9, 19):
            world.fold()
    consumer = Consumer(world, limit=4)
    sizes = [len(consumer.poll(page_count_max=1)) for _ in range(7)]
    assert (sizes, len(consumer.alive)) == ([4, 4, 4, 4, 4, 4, 1], 25)


# --- nothing is lost --------------------------------------------------------------------------------------------------


def test_a_log_entry_with_an_old_name_is_told(world: World) -> None:
    """A writer took its entry's name, slept for an hour, and wrote it after younger ones had been told."""
    other = world.another_process().memories
    remember(world, "young")
    world.fold()
    consumer = Consumer(world)
    consumer.poll()
    world.clock.advance(-HOUR)
    other.remember(NAMESPACE, "late", id="late")
    world.clock.advance(HOUR)
    assert types_of(consumer.poll()) == [("created", "late", 1)]


def test_an_import_of_old_memories_is_told(world: World) -> None:
    remember(world, "a")
    world.fold()
    consumer = Consumer(world)
    consumer.poll()
    world.memories.import_(
        NAMESPACE,
        ['{"id":"old","content":"x","created_at":"2001-01-01T00:00:00Z","updated_at":"2001-01-01T00:00:00Z"}'],
    )
    world.clean_up_log()
    assert types_of(consumer.poll()) == [("created", "old", 1)]


def test_a_fold_that_lands_late_is_told(world: World) -> None:
    """A fold takes in an event's id, not the log, and commits after a younger fold was told."""
    die_at_request(world, verb="put", key="/_index/log/")
    try_to_die(lambda: remember(world, "unlogged"))
    remember(world, "b")
    world.fold()
    consumer = Consumer(world)
    consumer.poll()
    world.clock.advance(HOUR)
    world.fold("unlogged")
    assert types_of(consumer.poll()) == [("created", "unlogged", 1)]


def test_a_deletion_that_left_the_index_before_it_was_told_is_told(world: World) -> None:
    """A forget that died is repeated a month later: its row is old when it comes, and the next merge drops it."""
    remember(world, "gone")
    world.fold()
    consumer = Consumer(world)
    consumer.poll()
    die_at_request(world, verb="put", key="/_index/log/")
    try_to_die(lambda: world.memories.forget(NAMESPACE, "gone"))
    world.clock.advance(2 * DELETION_AGE_MS / 1_000)
    world.another_process().memories.forget(NAMESPACE, "gone")
    world.clean_up_log()
    merge_all(world)
    assert world.snapshot.find("gone") is None
    consumer.poll()
    assert (consumer.alive, "gone" in consumer.copy) == (truth_of(world), True)


def test_a_rebuilt_index_tells_only_what_is_new(world: World) -> None:
    remember(world, "a")
    world.fold()
    consumer = Consumer(world)
    consumer.poll()
    remember(world, "b")
    world.another_process().memories.reindex(NAMESPACE)
    assert types_of(consumer.poll()) == [("created", "b", 1)]


def test_a_lost_index_loses_no_event(world: World) -> None:
    remember(world, "a")
    world.clean_up_log()
    consumer = Consumer(world)
    consumer.poll()
    remember(world, "b")
    world.clean_up_log()
    world.store.inner.delete(f"memory/{NAMESPACE}/_index/HEAD")
    world.clock.advance(2 * MINUTE)
    assert types_of(consumer.poll()) == [("created", "b", 1)]


def test_a_cursor_is_too_old_when_the_segments_it_stands_on_are_collected(world: World) -> None:
    remember(world, "a")
    world.fold()
    consumer = Consumer(world)
    consumer.poll()
    merge_all(world)
    world.fold()
    world.clock.advance(TRASH_GRACE_MS / 1_000 + MINUTE)
    # Each commit stamps what the one before replaced, and a later one finds its grace over.
    for _ in range(3):
        remember(world, f"more-{world.clock.now_us()}")
        world.fold()
        world.empty_trash()
        world.clock.advance(TRASH_GRACE_MS / 1_000 + MINUTE)
    with pytest.raises(CursorTooOldError, match="start again"):
        consumer.poll()
    again = Consumer(world)
    again.poll()
    assert again.alive == truth_of(world)


def test_a_cursor_that_stands_on_the_log_ends_when_the_index_knows_nothing_of_what_it_was_told(world: World) -> None:
    remember(world, "gone")
    consumer = Consumer(world)
    consumer.poll()
    world.memories.forget(NAMESPACE, "gone")
    world.clean_up_log()
    world.clock.advance(2 * DELETION_AGE_MS / 1_000)
    merge_all(world)
    with pytest.raises(CursorTooOldError, match="start again"):
        consumer.poll()


def test_a_segment_that_was_told_in_part_is_told_to_its_end_although_it_was_replaced(world: World) -> None:
    for memory_id in ("a", "b", "c"):
        remember(world, memory_id)
    world.clean_up_log()
    consumer = Consumer(world, limit=1)
    consumer.poll(page_count_max=1)
    (gone,) = consumer.alive
    world.memories.forget(NAMESPACE, gone)
    world.clean_up_log()
    world.clock.advance(2 * DELETION_AGE_MS / 1_000)
    merge_all(world)
    assert world.snapshot.find(gone) is None
    consumer.poll()
    assert (consumer.alive, consumer.copy[gone]) == (truth_of(world), (1, True))


def test_a_forget_that_died_and_is_repeated_late_ends_a_cursor_that_stands_on_the_log(world: World) -> None:
    """The row of its deletion is old when it comes, so the next merge drops it."""
    remember(world, "gone")
    consumer = Consumer(world)
    consumer.poll()
    die_at_request(world, verb="put", key="/_index/log/")
    try_to_die(lambda: world.memories.forget(NAMESPACE, "gone"))
    world.clock.advance(2 * DELETION_AGE_MS / 1_000)
    consumer.poll()
    world.another_process().memories.forget(NAMESPACE, "gone")
    world.clean_up_log()
    merge_all(world)
    assert world.snapshot.find("gone") is None
    with pytest.raises(CursorTooOldError, match="start again"):
        consumer.poll()


def test_a_cursor_that_stands_on_the_log_serves_for_days(world: World) -> None:
    remember(world, "gone")
    consumer = Consumer(world)
    consumer.poll()
    world.memories.forget(NAMESPACE, "gone")
    world.clean_up_log()
    world.clock.advance(DELETION_AGE_MS / 4_000)
    merge_all(world)
    consumer.poll()
    assert consumer.alive == truth_of(world)


def test_a_cursor_serves_for_a_long_time_if_nothing_is_merged(world: World) -> None:
    remember(world, "a")
    world.fold()
    consumer = Consumer(world)
    consumer.poll()
    world.clock.advance(30 * DAY)
    remember(world, "b")
    world.clean_up_log()
    assert types_of(consumer.poll()) == [("created", "b", 1)]


def test_changes_beyond_what_a_cursor_remembers_are_told_when_they_are_folded(world: World) -> None:
    consumer = Consumer(world)
    count = SEEN_COUNT_MAX + 40
    for number in range(count):
        remember(world, f"id-{number}")
    consumer.poll()
    assert len(consumer.copy) == SEEN_COUNT_MAX
    world.fold()
    consumer.poll()
    assert (len(consumer.copy), len(consumer.told)) == (count, count)


def test_a_cursor_fits_into_a_url(world: World) -> None:
    names = [f"{number:013d}-{'f' * 16}" for number in range(60)]
    seen = {2**64 - 1 - n: SeenChange(2**64 - 1, 2**54 + n, n % 2 == 0) for n in range(SEEN_COUNT_MAX)}
    full = FeedCursor(frozenset(names), (names[0], 7), seen)
    text = full.encode(PLACE)
    assert len(text) < CURSOR_LENGTH_MAX
    assert decode_cursor(text, PLACE) == full


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "not base64!", "A" * 9_000, "AAAAAltd", "ü"])
def test_a_cursor_that_is_none_is_refused(world: World, cursor: str) -> None:
    with pytest.raises(ValidationError, match="cursor"):
        world.memories.events(NAMESPACE, cursor)


def test_a_cursor_of_another_namespace_is_refused(world: World) -> None:
    remember(world, "a")
    cursor = world.memories.events(NAMESPACE).cursor
    with pytest.raises(ValidationError, match="cursor"):
        world.memories.events("users/bob", cursor)


def test_reading_events_never_writes(world: World) -> None:
    remember(world, "a")
    world.fold()
    world.store.forget_requests()
    world.memories.events(NAMESPACE)
    assert {request.verb for request in world.store.requests} <= {
        "get",
        "list_page",
        "read_many",
        "list",
        "get_if_changed",
    }


@pytest.mark.parametrize(("verb", "key"), [("list", "/_index/log/"), ("get", "/_index/HEAD"), ("get", "/_index/log/")])
def test_a_change_that_is_folded_and_cleaned_up_under_a_reader_is_told(world: World, verb: str, key: str) -> None:
    remember(world, "folded")
    world.fold()
    remember(world, "logged")
    world.store.run_before(world.clean_up_log, verb=verb, key=key)
    told = {event.id for event in world.memories.events(NAMESPACE).events}
    assert (told, world.store.is_used_up) == ({"folded", "logged"}, True)


# --- against everything at once ---------------------------------------------------------------------------------------


def _step(world: World, draw: random.Random) -> None:
    """Do one thing that can happen in a store."""
    memory_id = f"id-{draw.randrange(12)}"
    memories = world.another_process().memories
    choice = draw.random()
    if choice < 0.55:
        _write(memories, memory_id, draw)
    elif choice < 0.75:
        world.fold(*([memory_id] if draw.random() < 0.3 else []))
    elif choice < 0.90:
        world.clean_up_log()
        world.compact()
        world.empty_trash()
    elif choice < 0.92:
        memories.reindex(NAMESPACE)
    elif choice < 0.95:
        memories.sweep(NAMESPACE)
    else:
        # Clocks jump, forward and back.
        world.clock.advance(draw.choice([-HOUR, -1, MINUTE, 20 * MINUTE, 9 * DAY]))


def _write(memories: Any, memory_id: str, draw: random.Random) -> None:
    live = {memory.id for memory in memories.list(NAMESPACE, limit=100).memories}
    if memory_id not in live:
        memories.remember(NAMESPACE, f"x{draw.random()}", id=memory_id, resurrect=True)
    elif draw.random() < 0.5:
        memories.update(NAMESPACE, memory_id, content=f"y{draw.random()}")
    else:
        memories.forget(NAMESPACE, memory_id)


@pytest.mark.parametrize("seed", range(8))
def test_a_copy_kept_by_events_alone_is_right_after_any_course_of_events(seed: int) -> None:
    draw = random.Random(seed)
    world = World(seed=seed)
    consumer = Consumer(world, limit=draw.choice([1, 3, 100]))
    restarts = 0
    for _ in range(120):
        _step(world, draw)
        if draw.random() < 0.3:
            try:
                consumer.poll(page_count_max=draw.choice([1, 2, 1_000]))
            except CursorTooOldError:
                # As documented: forget the copy, and start again.
                restarts += 1
                consumer = Consumer(world, limit=consumer.limit)
    try:
        consumer.poll()
    except CursorTooOldError:
        consumer = Consumer(world)
        consumer.poll()
    assert consumer.alive == truth_of(world), f"seed {seed}, {restarts} restarts"
