"""Erasing a namespace or a part of it: what goes, what stays, and that nothing comes back."""

from collections.abc import Iterator
from functools import partial

import pytest

from s3_agent_memory.bootstrap import Parts
from s3_agent_memory.domain.erasure import Erasure, ErasureScope, erasure_key
from s3_agent_memory.domain.keys import parse_truth_key
from s3_agent_memory.domain.memory import Attribution, Memory
from s3_agent_memory.errors import (
    AgentMemoryError,
    ConflictError,
    ForgottenError,
    NotFoundError,
    ThrottledError,
    ValidationError,
)
from s3_agent_memory.storage.port import ObjectStore
from tests.fakes.clock import MINUTE
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.faulty_store import Fault, FaultyObjectStore
from tests.unit.service.scenarios import die_at_request, try_to_die
from tests.unit.service.traces import Traces
from tests.unit.service.vector_worlds import open_world
from tests.unit.service.worlds import NAMESPACE, PLACE, World

ALICE, BOB = Attribution(user_id="alice"), Attribution(user_id="bob")


class Story:
    """A world with memories of two users in segments, shards, log and trash; those of Alice are to go."""

    def __init__(self) -> None:
        self.world = open_world()
        remember = self.world.memories.remember
        self.gone = [remember(NAMESPACE, f"alicesecret{number} apples", attribution=ALICE) for number in range(6)]
        self.kept = [remember(NAMESPACE, f"bobfact{number} apples", attribution=BOB) for number in range(6)]
        self.gone.append(remember(NAMESPACE, "alicesecret own", attribution=ALICE, id="own"))
        self.world.fold()
        self.gone.append(self.world.memories.update(NAMESPACE, "own", content="alicesecret changed"))
        self.gone.append(remember(NAMESPACE, "alicesecret in the log", attribution=ALICE, kind="episodic", ttl=MINUTE))
        self.world.memories.forget(NAMESPACE, self.gone[0].id)
        self.world.parts.services.vectors.embed(PLACE)
        self.world.clock.advance(2 * MINUTE)
        self.world.store.forget_requests()

    def objects(self, store: ObjectStore | None = None) -> Iterator[tuple[str, bytes]]:
        inner = store or self.world.store.inner
        for item in inner.list_page("").objects:
            found = inner.get(item.key, size_max=10**9)
            assert found is not None
            yield item.key, found.body

    def traces(self) -> list[str]:
        return Traces(self.gone, self.kept).found(self.objects())

    def erase(self, **options: object) -> Erasure:
        return self.world.memories.erase(NAMESPACE, confirm=NAMESPACE, user_id="alice", **options)  # type: ignore[arg-type]


def contents(memories: list[Memory]) -> tuple[str, ...]:
    return tuple(sorted(memory.content for memory in memories))


def test_an_erased_user_leaves_no_trace_in_any_object() -> None:
    story = Story()
    assert story.traces()
    assert story.erase().is_finished
    assert story.traces() == []


def test_an_erased_user_leaves_the_memories_of_others_as_they_were() -> None:
    story = Story()
    story.erase()
    seen = story.world.seen()
    assert (seen.truth, seen.is_exact) == (contents(story.kept), True)


def test_the_report_counts_what_went() -> None:
    story = Story()
    report = story.erase(requested_by="carol")
    assert (report.counts.semantic, report.counts.episodic, report.requested_by) == (6, 1, "carol")
    assert story.world.memories.erasure(NAMESPACE, report.id) == report


def test_an_erased_namespace_leaves_no_trace_and_no_memory() -> None:
    story = Story()
    story.gone, story.kept = [*story.gone, *story.kept], []
    assert story.world.memories.erase(NAMESPACE, confirm=NAMESPACE).is_finished
    assert story.traces() == []
    assert story.world.seen().is_exact


def test_a_namespace_below_an_erased_one_is_left_alone() -> None:
    world = World()
    world.memories.remember("users/alice/deeper", "stays")
    world.memories.remember(NAMESPACE, "goes")
    world.memories.erase(NAMESPACE, confirm=NAMESPACE)
    assert (world.seen("users/alice/deeper").truth, world.seen().truth) == (("stays",), ())


def test_ids_are_erased_whatever_kind_they_have() -> None:
    world = World()
    goes = [world.memories.remember(NAMESPACE, "goes", kind=kind, id=kind) for kind in ("episodic", "semantic")]
    world.memories.remember(NAMESPACE, "stays", id="semantic-2")
    world.memories.erase(NAMESPACE, confirm=NAMESPACE, ids=[memory.id for memory in goes] + ["never-was"])
    assert world.seen().truth == ("stays",)


def merged(world: World, count: int = 3, **fields: object) -> list[Memory]:
    """Remember memories that say the same in different capitals, and consolidate them."""
    texts = ["zorgle likes quince tea", "Zorgle likes quince tea!", "ZORGLE LIKES QUINCE TEA"]
    made = [world.memories.remember(NAMESPACE, text, **fields) for text in texts[:count]]  # type: ignore[arg-type]
    world.memories.consolidate(NAMESPACE)
    assert len(world.memories.list(NAMESPACE).memories) == 1
    return made


def bodies(world: World) -> bytes:
    keys = [item.key for item in world.store.inner.list_page("").objects]
    found = [world.store.inner.get(key, size_max=10**9) for key in keys]
    return b"".join(item.body for item in found if item is not None).lower()


def test_what_was_merged_of_erased_memories_goes_with_them() -> None:
    world = World()
    made = merged(world, 2)
    report = world.memories.erase(NAMESPACE, confirm=NAMESPACE, ids=[memory.id for memory in made])
    assert (report.is_finished, report.counts.semantic) == (True, 3)
    assert b"quince" not in bodies(world)
    assert b"quinc" not in bodies(world)


def test_an_original_that_is_not_erased_is_visible_again() -> None:
    world = World()
    first, second, third = merged(world)
    world.memories.erase(NAMESPACE, confirm=NAMESPACE, ids=[first.id, second.id])
    assert [memory.id for memory in world.another_process().memories.list(NAMESPACE).memories] == [third.id]


def test_a_merged_memory_of_settled_originals_goes_with_their_ids() -> None:
    world = World()
    made = merged(world)
    world.clock.advance(8 * 24 * 60 * MINUTE)
    world.memories.prune_expired(NAMESPACE)
    world.memories.erase(NAMESPACE, confirm=NAMESPACE, ids=[made[0].id])
    assert b"quince" not in bodies(world)


def test_earlier_contents_of_a_merged_memory_go_with_the_ids_it_was_made_of() -> None:
    world = World()
    made = merged(world, 2)
    (whole,) = world.memories.list(NAMESPACE).memories
    world.memories.update(NAMESPACE, whole.id, content="Zorgle likes quince tea and cake")
    world.memories.erase(NAMESPACE, confirm=NAMESPACE, ids=[memory.id for memory in made])
    assert b"quince" not in bodies(world)


def test_an_erasure_of_merged_ids_that_dies_anywhere_is_finished_by_another_process() -> None:
    for place in range(1_000):
        world = World()
        first, second, third = merged(world)
        world.store.forget_requests()
        die_at_request(world, at=place)
        is_finished = try_to_die(partial(world.memories.erase, NAMESPACE, confirm=NAMESPACE, ids=[first.id, second.id]))
        world.clock.advance(MINUTE)
        world.another_process().memories.erase(NAMESPACE, confirm=NAMESPACE, ids=[first.id, second.id])
        seen = [memory.id for memory in world.another_process().memories.list(NAMESPACE).memories]
        assert seen == [third.id], f"request {place}"
        if is_finished:
            assert place > 20
            return
    raise AssertionError("the erasure never came to its end")


def test_a_merged_memory_goes_with_its_user() -> None:
    world = World()
    merged(world, attribution=ALICE)
    world.memories.erase(NAMESPACE, confirm=NAMESPACE, user_id="alice")
    assert b"quince" not in bodies(world)


def test_what_an_erased_memory_had_put_an_end_to_does_not_come_back() -> None:
    world = World()
    memories = world.memories
    old = memories.remember(NAMESPACE, "Alice lives in Paris")
    world.clock.advance(MINUTE)
    new = memories.supersede(NAMESPACE, old.id, "Alice lives in Rome")
    memories.erase(NAMESPACE, confirm=NAMESPACE, ids=[new.id])
    assert memories.list(NAMESPACE).memories == ()
    assert memories.list(NAMESPACE, as_of=old.created_at).memories[0].content == "Alice lives in Paris"


def test_an_import_brings_nothing_back() -> None:
    story = Story()
    lines = list(story.world.memories.export(NAMESPACE, include_expired=True))
    story.world.memories.erase(NAMESPACE, confirm=NAMESPACE)
    report = story.world.another_process().memories.import_(NAMESPACE, lines)
    assert (report.imported, report.refused) == (0, len(lines))


def test_an_erased_id_is_refused() -> None:
    story = Story()
    story.erase()
    with pytest.raises(ForgottenError):
        story.world.memories.remember(NAMESPACE, "again", id="own")


@pytest.mark.parametrize(
    "options",
    [
        {"confirm": "users/bob"},
        {"confirm": ""},
        {"confirm": NAMESPACE, "user_id": ""},
        {"confirm": NAMESPACE, "user_id": "  "},
        {"confirm": NAMESPACE, "ids": []},
        {"confirm": NAMESPACE, "ids": "own"},
        {"confirm": NAMESPACE, "ids": ["not an id"]},
        {"confirm": NAMESPACE, "user_id": "alice", "session_id": "s1"},
    ],
)
def test_without_a_scope_and_a_confirmation_nothing_is_erased(options: dict[str, object]) -> None:
    world = World()
    world.memories.remember(NAMESPACE, "stays")
    world.store.forget_requests()
    with pytest.raises(ValidationError):
        world.memories.erase(NAMESPACE, **options)  # type: ignore[arg-type]
    assert world.store.requests == []


def test_the_same_call_goes_on_where_the_time_was_up() -> None:
    story = Story()
    first = story.erase(seconds_max=0)
    second = story.erase()
    assert (first.is_finished, second.is_finished, first.id) == (False, True, second.id)


def test_every_call_gets_on_however_little_time_there_is() -> None:
    story = Story()
    scope = ErasureScope(user_id="alice")
    for _ in range(200):
        ticks = iter([True])
        report = story.world.parts.services.eraser.erase(
            PLACE, scope, requested_by=None, has_time=partial(next, ticks, False)
        )
        if report.is_finished:
            break
    assert story.traces() == []


def test_another_scope_is_another_erasure() -> None:
    story = Story()
    first = story.erase(seconds_max=0)
    other = story.world.memories.erase(NAMESPACE, confirm=NAMESPACE, user_id="bob")
    assert (first.is_finished, other.is_finished, first.id != other.id) == (False, True, True)


def test_what_a_process_left_is_finished_by_whoever_resumes() -> None:
    story = Story()
    report = story.erase(seconds_max=0)
    assert story.world.another_process().memories.resume_erasures(NAMESPACE) == 1
    assert story.world.memories.erasure(NAMESPACE, report.id).is_finished
    assert story.traces() == []


def test_there_is_no_report_of_what_was_never_begun() -> None:
    with pytest.raises(NotFoundError):
        World().memories.erasure(NAMESPACE, "1700000000000-0123456789abcdef")


def test_an_object_that_cannot_be_read_goes_with_its_namespace_and_stays_forgotten() -> None:
    world = World()
    memory = world.memories.remember(NAMESPACE, "goes", id="broken")
    world.memories.update(NAMESPACE, "broken", content="goes too")
    world.fold()
    world.store.inner.put(memory.key, b"goes{")
    assert world.memories.erase(NAMESPACE, confirm=NAMESPACE).is_finished
    assert world.seen().is_exact
    with pytest.raises(ConflictError):
        world.memories.remember(NAMESPACE, "again", id="broken")


def test_an_object_that_cannot_be_read_is_named_by_the_erasure_of_a_user() -> None:
    world = World()
    memory = world.memories.remember(NAMESPACE, "whose?", id="broken")
    world.store.inner.put(memory.key, b"{")
    report = world.memories.erase(NAMESPACE, confirm=NAMESPACE, user_id="alice")
    assert report.unreadable_keys == (memory.key,)


def test_other_objects_go_with_their_namespace_only() -> None:
    story = Story()
    inner, place = story.world.store.inner, f"memory/{NAMESPACE}/"
    strays = {place + "_reports/1.json": b'{"content": "x"}', place + "semantic/note.txt": b"x"}
    for key, body in strays.items():
        inner.put(key, body)
    story.erase()
    assert all(inner.get(key, size_max=9) for key in strays)
    story.world.memories.erase(NAMESPACE, confirm=NAMESPACE)
    assert not any(inner.get(key, size_max=9) for key in strays)


def test_earlier_contents_of_an_erased_user_go() -> None:
    story = Story()
    key = f"memory/{NAMESPACE}/_history/own/1.json"
    story.world.store.inner.put(key, b'{"id":"own","content":"alicesecret own","attribution":{"user_id":"alice"}}')
    story.erase()
    assert story.world.store.inner.get(key, size_max=9) is None


def test_a_memory_made_while_an_erasure_runs_stays() -> None:
    story = Story()
    story.erase(seconds_max=0)
    story.world.clock.advance(MINUTE)
    fresh = story.world.memories.remember(NAMESPACE, "fresh", attribution=ALICE)
    assert story.erase().is_finished
    assert story.world.seen().truth == contents([*story.kept, fresh])


def test_a_memory_changed_while_an_erasure_runs_goes() -> None:
    story = Story()
    story.erase(seconds_max=0)
    story.world.clock.advance(MINUTE)
    story.gone.append(story.world.memories.update(NAMESPACE, "own", content="alicesecret late"))
    assert story.erase().is_finished
    assert story.traces() == []


# --- rivals -----------------------------------------------------------------------------------------------------------


def rival_of(story: Story, embedder: FakeEmbedder | None = None) -> tuple[Parts, FaultyObjectStore]:
    """Return a process whose requests can be stopped at, beside the one that erases."""
    store = FaultyObjectStore(story.world.store.inner)
    return story.world._open(store, embedder=embedder), store


def test_a_fold_that_read_before_the_erasure_brings_nothing_back() -> None:
    story = Story()
    rival, store = rival_of(story)
    store.run_before(story.erase, verb="put", key="/HEAD")
    rival.folder.fold(PLACE)
    assert store.is_used_up
    named = story.world.manifest.known_ids
    assert not [trace for trace in story.traces() if any(item in trace for item in named)]


def test_a_rebuild_that_read_before_the_erasure_brings_nothing_back() -> None:
    story = Story()
    rival, store = rival_of(story)
    store.run_before(story.erase, verb="put", key="/HEAD")
    rival.memories.reindex(NAMESPACE)
    named = story.world.manifest.known_ids
    assert not [trace for trace in story.traces() if any(item in trace for item in named)]


def test_an_embedder_that_read_before_the_erasure_brings_nothing_back() -> None:
    story = Story()
    memories = story.world.another_process().memories
    story.gone.append(memories.remember(NAMESPACE, "alicesecret without vector", attribution=ALICE))
    story.world.fold()
    rival, store = rival_of(story, embedder=FakeEmbedder("fake/1"))
    store.run_before(story.erase, verb="put", key="/HEAD")
    rival.services.vectors.embed(PLACE)
    assert store.is_used_up
    named = story.world.manifest.known_vector_ids
    assert not [trace for trace in story.traces() if any(item in trace for item in named)]


def test_uploads_that_nobody_committed_go() -> None:
    story = Story()
    rival, store = rival_of(story)
    store.fail(Fault.LOST_REQUEST, verb="put", key="/HEAD", times=100)
    with pytest.raises(ThrottledError):
        rival.folder.fold(PLACE)
    story.erase()
    assert story.traces() == []


def test_two_that_erase_at_once_leave_nothing_and_lose_nothing() -> None:
    count = request_count()
    for place in range(0, count, 3):
        story = Story()
        rival = story.world.another_process().memories
        erase = partial(rival.erase, NAMESPACE, confirm=NAMESPACE, user_id="alice")
        story.world.store.run_before(erase, at=place)
        story.erase()
        story.world.another_process().memories.resume_erasures(NAMESPACE)
        assert story.traces() == [], f"request {place}"
        assert story.world.seen().truth == contents(story.kept), f"request {place}"
        assert story.world.seen().is_exact, f"request {place}"


# --- faults -----------------------------------------------------------------------------------------------------------


def request_count() -> int:
    story = Story()
    story.erase()
    return len(story.world.store.requests)


def is_done(story: Story) -> bool:
    """Return True if the erasure says that it is finished."""
    try:
        return story.erase().is_finished
    except AgentMemoryError:
        return False


def test_an_erasure_that_dies_anywhere_is_finished_by_another_process() -> None:
    for place in range(request_count()):
        story = Story()
        die_at_request(story.world, at=place)
        assert not try_to_die(story.erase), f"request {place}"
        story.world.clock.advance(MINUTE)
        story.world.another_process().memories.erase(NAMESPACE, confirm=NAMESPACE, user_id="alice")
        assert story.traces() == [], f"request {place}"
        assert story.world.seen().truth == contents(story.kept), f"request {place}"


@pytest.mark.parametrize("fault", Fault)
def test_an_erasure_with_one_fault_says_finished_only_when_it_is(fault: Fault) -> None:
    for place in range(request_count()):
        story = Story()
        story.world.store.fail(fault, at=place)
        if is_done(story):
            assert story.traces() == [], f"{fault} at request {place}"
        story.world.store.deliver_late()
        assert is_done(story), f"{fault} at request {place}"
        assert story.traces() == [], f"{fault} at request {place}"
        assert story.world.seen().is_exact, f"{fault} at request {place}"


def test_every_erased_memory_has_a_tombstone() -> None:
    story = Story()
    story.erase()
    keys = [parse_truth_key(key) for key, _ in story.objects()]
    tombstones = {key.memory_id for key in keys if key is not None and key.kind is None}
    assert tombstones == {memory.id for memory in story.gone}


def test_earlier_contents_that_nobody_can_read_are_named_in_the_report() -> None:
    world = World()
    world.memories.remember(NAMESPACE, "alicesecret one", id="own", attribution=ALICE)
    world.memories.update(NAMESPACE, "own", content="alicesecret two")
    inner = world.store.inner
    inner.delete(f"memory/{NAMESPACE}/semantic/own.json")
    (key,) = world.store.keys_below(f"memory/{NAMESPACE}/_history/own/")
    found = inner.get(key, size_max=10**6)
    assert found is not None
    inner.put(key, found.body[:-1])
    done = world.memories.erase(NAMESPACE, confirm=NAMESPACE, user_id="alice")
    assert (done.is_finished, done.unreadable_keys) == (True, (key,))


def test_earlier_contents_that_nobody_can_read_go_with_the_ids_they_lie_under() -> None:
    world = World()
    key = f"memory/{NAMESPACE}/_history/own/{1:016d}"
    world.store.inner.put(key, b"alicesecret")
    done = world.memories.erase(NAMESPACE, confirm=NAMESPACE, ids=["own"])
    assert (done.unreadable_keys, world.store.inner.get(key, size_max=1)) == ((), None)


def spoiled_record(world: World) -> str:
    """Begin an erasure and spoil its record; return the key."""
    begun = world.memories.erase(NAMESPACE, confirm=NAMESPACE, user_id="carol", seconds_max=0)
    key = erasure_key(PLACE, begun.id)
    world.store.inner.put(key, b"{")
    return key


def test_a_record_that_nobody_can_read_does_not_hold_up_another_erasure() -> None:
    story = Story()
    spoiled_record(story.world)
    assert story.erase().is_finished
    assert story.traces() == []


def test_a_record_that_nobody_can_read_does_not_hold_up_what_is_resumed() -> None:
    story = Story()
    key = spoiled_record(story.world)
    story.world.clock.advance(1)
    assert not story.erase(seconds_max=0).is_finished
    assert story.world.another_process().memories.resume_erasures(NAMESPACE) == 1
    assert story.traces() == []
    assert story.world.store.inner.get(key, size_max=1) is not None
