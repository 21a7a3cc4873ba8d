"""Consolidation as a caller sees it: what is merged, what is left alone, and how a merge ends."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.consolidation import MergeState, RunState
from s3_agent_memory.domain.memory import Attribution
from s3_agent_memory.errors import (
    ConflictError,
    GenerationError,
    NotFoundError,
    UnusableAnswerError,
    ValidationError,
)
from s3_agent_memory.service.prompting.summarising import LongestSummariser
from tests.unit.service.worlds import NAMESPACE, World

DAY = 86_400
TEA, TEA_AGAIN = "Alice likes tea", "alice likes TEA!"


class ScriptedSummariser:
    """Does something, then answers with a text or fails."""

    name = "scripted"

    def __init__(self, answer: str | Exception, *, first: Callable[[], object] = lambda: None) -> None:
        self._answer = answer
        self._first = first

    def summarise(self, texts: Sequence[str]) -> str:
        assert texts
        self._first()
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.fixture
def world() -> World:
    return World()


def twice(world: World, **fields: Any) -> tuple[str, str]:
    """Remember two memories that say the same, and return their ids."""
    first = world.memories.remember(NAMESPACE, TEA, **fields)
    world.clock.advance(1)
    return first.id, world.memories.remember(NAMESPACE, TEA_AGAIN, **fields).id


def contents(world: World) -> list[str]:
    page = world.another_process().memories.list(NAMESPACE, limit=100)
    return sorted(memory.content for memory in page.memories)


def exported(world: World) -> list[str]:
    return list(world.another_process().memories.export(NAMESPACE))


# --- what a merge is --------------------------------------------------------------------------------------------------


def test_two_memories_that_say_the_same_become_one(world: World) -> None:
    twice(world)
    run = world.memories.consolidate(NAMESPACE)
    assert (run.state, [merge.state for merge in run.merges]) == (RunState.APPLIED, [MergeState.MERGED])
    assert contents(world) == [TEA_AGAIN]


def test_the_merged_memory_has_what_both_had(world: World) -> None:
    first = world.memories.remember(NAMESPACE, TEA, tags=["a", "b"], importance=0.3, data={"x": 1}, source="one")
    second = world.memories.remember(NAMESPACE, TEA, tags=["b", "c"], importance=0.9, data={"y": 2}, source="two")
    run = world.memories.consolidate(NAMESPACE)
    (merged,) = world.memories.list(NAMESPACE).memories
    assert merged.tags == ("a", "b", "c")
    assert (merged.importance, merged.data, merged.source) == (0.9, {"x": 1, "y": 2}, f"consolidation:{run.id}")
    assert merged.created_at == first.created_at
    assert set(merged.consolidated_from) == {first.named_version, second.named_version}


def test_recall_finds_the_merged_memory_once(world: World) -> None:
    twice(world)
    world.memories.consolidate(NAMESPACE)
    assert len(world.another_process().memories.recall(NAMESPACE, "tea")) == 1


def test_a_run_says_why_it_merged(world: World) -> None:
    twice(world)
    run = world.memories.consolidate(NAMESPACE)
    assert world.memories.consolidation(NAMESPACE, run.id) == run
    assert (run.merges[0].words, run.merges[0].meaning, run.summariser) == (1.0, None, "longest")


def test_a_record_holds_no_text(world: World) -> None:
    twice(world)
    run = world.memories.consolidate(NAMESPACE)
    found = world.store.inner.get(f"memory/{NAMESPACE}/_consolidations/{run.id}.json", size_max=10**6)
    assert found is not None
    assert b"tea" not in found.body.lower()


def test_a_dry_run_changes_nothing(world: World) -> None:
    twice(world)
    before = exported(world)
    plan = world.memories.plan_consolidation(NAMESPACE)
    assert [[memory.content for memory in item.originals] for item in plan.merges] == [[TEA, TEA_AGAIN]]
    assert (exported(world), world.memories.consolidations(NAMESPACE)) == (before, [])


def test_a_second_run_finds_nothing_left(world: World) -> None:
    twice(world)
    world.memories.consolidate(NAMESPACE)
    assert world.memories.consolidate(NAMESPACE).merges == ()


def test_only_the_kind_that_is_asked_for_is_merged(world: World) -> None:
    twice(world)
    twice(world, kind="episodic")
    run = world.memories.consolidate(NAMESPACE, kind="episodic")
    assert [merge.kind for merge in run.merges] == ["episodic"]


def test_memories_of_different_kinds_are_not_merged(world: World) -> None:
    world.memories.remember(NAMESPACE, TEA)
    world.memories.remember(NAMESPACE, TEA, kind="episodic")
    assert world.memories.consolidate(NAMESPACE).merges == ()


def test_more_copies_than_a_group_may_have_become_several(world: World) -> None:
    for _ in range(70):
        world.memories.remember(NAMESPACE, TEA)
    run = world.memories.consolidate(NAMESPACE)
    assert sorted(len(merge.originals) for merge in run.merges) == [6, 64]


def test_what_is_beyond_the_cap_is_left_to_the_next_run(world: World) -> None:
    for number in range(3):
        for _ in range(2):
            world.memories.remember(NAMESPACE, f"Fact number {number} about the {number}th thing")
    runs = [world.memories.consolidate(NAMESPACE, merge_count_max=2) for _ in range(2)]
    assert [(len(run.merges), run.is_complete) for run in runs] == [(2, False), (1, True)]


@pytest.mark.parametrize("options", [{"threshold": 1.5}, {"undo_days": -1}, {"merge_count_max": 0}, {"kind": "x"}])
def test_a_wrong_option_is_refused_and_changes_nothing(world: World, options: dict) -> None:
    twice(world)
    with pytest.raises(ValidationError):
        world.memories.consolidate(NAMESPACE, **options)
    assert len(contents(world)) == 2


# --- what is left alone -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"attribution": Attribution(user_id="a")}, {"attribution": Attribution(user_id="b")}),
        ({"attribution": Attribution(agent_id="a")}, {}),
        ({"attribution": Attribution(session_id="a")}, {"attribution": Attribution(session_id="b")}),
        ({"data": {"key": 1}}, {"data": {"key": 2}}),
        ({"data": {"key": 1}}, {"data": {"key": True}}),
        ({"metadata": {"key": "a"}}, {"metadata": {"key": "b"}}),
        ({"pinned": True}, {}),
        ({"valid_from": "2020-01-01T00:00:00Z"}, {"valid_from": "2021-01-01T00:00:00Z"}),
        ({"valid_to": "2099-01-01T00:00:00Z"}, {}),
        ({"ttl": 100 * DAY}, {}),
        ({"ttl": 3 * DAY}, {"ttl": 3 * DAY}),
        ({"tags": [f"a{n}" for n in range(20)]}, {"tags": [f"b{n}" for n in range(20)]}),
    ],
    ids=str,
)
def test_memories_that_differ_in_more_than_their_text_are_not_merged(world: World, one: dict, other: dict) -> None:
    world.memories.remember(NAMESPACE, TEA, **one)
    world.memories.remember(NAMESPACE, TEA, **other)
    assert world.memories.consolidate(NAMESPACE).merges == ()


def test_a_superseded_memory_is_not_merged(world: World) -> None:
    first, _ = twice(world)
    world.memories.supersede(NAMESPACE, first, "Alice likes coffee")
    assert world.memories.consolidate(NAMESPACE).merges == ()


def test_records_under_ids_of_their_own_are_not_merged(world: World) -> None:
    for name in ("one", "two"):
        world.memories.remember(NAMESPACE, TEA, id=name, data={"text": TEA})
    assert world.memories.consolidate(NAMESPACE).merges == ()


def test_what_others_make_of_a_merge_does_not_bring_unlike_ones_together(world: World) -> None:
    twice(world)
    world.memories.remember(NAMESPACE, "Alice purchased an automobile")
    world.memories.remember(NAMESPACE, "Alice bought a car")
    run = world.memories.consolidate(NAMESPACE, threshold=0.9)
    assert len(run.merges) == 1


# --- races ------------------------------------------------------------------------------------------------------------


def test_a_slow_model_never_merges_what_changed_meanwhile(world: World) -> None:
    first, _ = twice(world)
    others = world.another_process().memories
    summariser = ScriptedSummariser(
        "Alice really likes tea", first=lambda: others.update(NAMESPACE, first, content="x")
    )
    run = world.memories.consolidate(NAMESPACE, summariser=summariser)
    assert [merge.state for merge in run.merges] == [MergeState.SKIPPED]
    assert contents(world) == sorted(["x", TEA_AGAIN])


def test_an_original_that_changes_as_the_merge_is_written_takes_the_merge_back(world: World) -> None:
    first, _ = twice(world)
    others = world.another_process().memories
    world.store.run_before(lambda: others.update(NAMESPACE, first, content="x"), verb="put", key="/semantic/merged-")
    run = world.memories.consolidate(NAMESPACE)
    assert [merge.state for merge in run.merges] == [MergeState.WITHDRAWN]
    assert contents(world) == sorted(["x", TEA_AGAIN])


def test_an_original_that_is_superseded_as_the_merge_is_written_takes_it_back(world: World) -> None:
    first, _ = twice(world)
    others = world.another_process().memories
    world.store.run_before(
        lambda: others.supersede(NAMESPACE, first, "Alice likes coffee"), verb="put", key="/semantic/merged-"
    )
    world.memories.consolidate(NAMESPACE)
    assert contents(world) == sorted(["Alice likes coffee", TEA_AGAIN])


def test_an_original_that_changes_later_is_visible_beside_the_merged_memory(world: World) -> None:
    first, _ = twice(world)
    world.memories.consolidate(NAMESPACE)
    world.memories.update(NAMESPACE, first, content="Alice likes coffee")
    assert contents(world) == sorted(["Alice likes coffee", TEA_AGAIN])


def test_an_undo_while_a_run_is_applied_leaves_nothing_of_it(world: World) -> None:
    twice(world)
    before = exported(world)
    others = world.another_process().memories

    def undo() -> None:
        (run,) = others.consolidations(NAMESPACE)
        others.undo_consolidation(NAMESPACE, run.id)

    world.store.run_before(undo, verb="put", key="/semantic/merged-")
    assert world.memories.consolidate(NAMESPACE).state is RunState.UNDONE
    assert exported(world) == before


def test_two_processes_that_consolidate_at_once_merge_once(world: World) -> None:
    twice(world)
    others = world.another_process().memories
    world.store.run_before(lambda: others.consolidate(NAMESPACE), verb="put", key="/semantic/merged-")
    run = world.memories.consolidate(NAMESPACE)
    assert len(contents(world)) == 1
    assert run.state is RunState.APPLIED


# --- models -----------------------------------------------------------------------------------------------------------


def test_a_model_writes_the_merged_text(world: World) -> None:
    twice(world)
    world.memories.consolidate(NAMESPACE, summariser=ScriptedSummariser("Tea is what Alice likes"))
    assert contents(world) == ["Tea is what Alice likes"]


@pytest.mark.parametrize(
    "answer", [GenerationError("no"), UnusableAnswerError("no"), "She likes tea", "Alice hates 2 teas"]
)
def test_an_answer_that_fails_or_loses_something_merges_nothing(world: World, answer: str | Exception) -> None:
    for text in ("Tea is what Alice likes", "tea is what Alice likes"):
        world.memories.remember(NAMESPACE, text)
    run = world.memories.consolidate(NAMESPACE, summariser=ScriptedSummariser(answer))
    assert [merge.state for merge in run.merges] == [MergeState.SKIPPED]
    assert len(contents(world)) == 2


# --- how a run ends ---------------------------------------------------------------------------------------------------


def test_undo_restores_the_exact_state(world: World) -> None:
    twice(world)
    before = exported(world)
    run = world.memories.consolidate(NAMESPACE)
    report = world.memories.undo_consolidation(NAMESPACE, run.id)
    assert (report.restored, report.kept) == (2, ())
    assert (exported(world), len(contents(world))) == (before, 2)


def test_undoing_again_is_harmless(world: World) -> None:
    twice(world)
    run = world.memories.consolidate(NAMESPACE)
    for _ in range(2):
        world.memories.undo_consolidation(NAMESPACE, run.id)
    assert len(contents(world)) == 2


def test_an_undo_counts_only_originals_that_are_there(world: World) -> None:
    gone, _ = twice(world)
    world.memories.remember(NAMESPACE, "ALICE likes tea")
    run = world.memories.consolidate(NAMESPACE)
    world.memories.forget(NAMESPACE, gone)
    assert world.memories.undo_consolidation(NAMESPACE, run.id).restored == 2


def test_an_undo_after_the_merged_memory_was_forgotten_restores_nothing(world: World) -> None:
    twice(world)
    run = world.memories.consolidate(NAMESPACE)
    world.memories.forget(NAMESPACE, run.merges[0].id)
    assert world.memories.undo_consolidation(NAMESPACE, run.id).restored == 0


def test_a_plan_leaves_out_what_was_undone(world: World) -> None:
    twice(world)
    run = world.memories.consolidate(NAMESPACE)
    world.memories.undo_consolidation(NAMESPACE, run.id)
    assert world.memories.plan_consolidation(NAMESPACE).merges == ()


def test_undo_brings_nothing_back_that_was_superseded_meanwhile(world: World) -> None:
    twice(world)
    world.clock.advance(DAY)
    run = world.memories.consolidate(NAMESPACE)
    before = to_datetime(world.clock.now_us())
    world.clock.advance(DAY)
    new = world.memories.supersede(NAMESPACE, run.merges[0].id, "Alice likes coffee")
    world.clock.advance(1)
    world.memories.undo_consolidation(NAMESPACE, run.id)
    memories = world.another_process().memories
    assert [hit.memory.id for hit in memories.recall(NAMESPACE, "Alice likes")] == [new.id]
    assert {memory.content for memory in memories.list(NAMESPACE, as_of=before).memories} == {TEA, TEA_AGAIN}


def test_what_was_undone_is_not_merged_again(world: World) -> None:
    twice(world)
    world.memories.undo_consolidation(NAMESPACE, world.memories.consolidate(NAMESPACE).id)
    run = world.memories.consolidate(NAMESPACE)
    assert [merge.state for merge in run.merges] == [MergeState.SKIPPED]


def test_undo_keeps_a_merged_memory_that_somebody_changed(world: World) -> None:
    twice(world)
    run = world.memories.consolidate(NAMESPACE)
    world.memories.update(NAMESPACE, run.merges[0].id, content="Alice likes green tea")
    assert world.memories.undo_consolidation(NAMESPACE, run.id).kept == (run.merges[0].id,)
    assert contents(world) == ["Alice likes green tea"]


def test_a_run_that_nobody_knows_cannot_be_undone(world: World) -> None:
    with pytest.raises(NotFoundError):
        world.memories.undo_consolidation(NAMESPACE, "nobody")


def test_the_originals_are_forgotten_after_the_undo_window(world: World) -> None:
    twice(world)
    world.memories.consolidate(NAMESPACE, undo_days=7)
    world.clock.advance(7 * DAY - 60)
    assert world.memories.prune_expired(NAMESPACE).consolidated == 0
    world.clock.advance(120)
    assert world.memories.prune_expired(NAMESPACE).consolidated == 2
    assert (len(exported(world)), contents(world)) == (1, [TEA_AGAIN])


def test_a_settled_run_cannot_be_undone(world: World) -> None:
    twice(world)
    run = world.memories.consolidate(NAMESPACE, undo_days=0)
    assert run.state is RunState.SETTLED
    with pytest.raises(ConflictError):
        world.memories.undo_consolidation(NAMESPACE, run.id)
    assert len(exported(world)) == 1


def test_an_original_that_changed_is_not_forgotten(world: World) -> None:
    first, _ = twice(world)
    world.memories.consolidate(NAMESPACE)
    world.memories.update(NAMESPACE, first, content="Alice likes coffee")
    world.clock.advance(8 * DAY)
    assert world.memories.prune_expired(NAMESPACE).consolidated == 1
    assert contents(world) == sorted(["Alice likes coffee", TEA_AGAIN])


def test_originals_stay_if_the_merged_memory_is_gone(world: World) -> None:
    twice(world)
    run = world.memories.consolidate(NAMESPACE)
    world.store.inner.delete(f"memory/{NAMESPACE}/semantic/{run.merges[0].id}.json")
    world.clock.advance(8 * DAY)
    assert world.memories.prune_expired(NAMESPACE).consolidated == 0
    assert len(exported(world)) == 2


def test_forgetting_the_merged_memory_forgets_what_it_says(world: World) -> None:
    twice(world)
    run = world.memories.consolidate(NAMESPACE)
    world.memories.forget(NAMESPACE, run.merges[0].id)
    assert (exported(world), contents(world)) == ([], [])


def test_what_was_merged_may_be_merged_again_once_it_is_settled(world: World) -> None:
    twice(world)
    world.memories.consolidate(NAMESPACE)
    world.memories.remember(NAMESPACE, "ALICE LIKES TEA")
    assert world.memories.consolidate(NAMESPACE).merges == ()
    world.clock.advance(8 * DAY)
    world.memories.prune_expired(NAMESPACE)
    assert len(world.memories.consolidate(NAMESPACE, only_changes=False).in_state(MergeState.MERGED)) == 1
    assert len(contents(world)) == 1


def test_records_go_a_month_after_their_run_has_ended(world: World) -> None:
    twice(world)
    world.memories.consolidate(NAMESPACE, undo_days=0)
    world.clock.advance(31 * DAY)
    world.memories.prune_expired(NAMESPACE)
    assert world.memories.consolidations(NAMESPACE) == []


# --- long runs --------------------------------------------------------------------------------------------------------


def test_a_run_without_time_goes_on_with_the_next_call(world: World) -> None:
    twice(world)
    stopped = world.memories.consolidate(NAMESPACE, has_time=lambda: False)
    assert (stopped.state, len(contents(world))) == (RunState.RUNNING, 2)
    finished = world.another_process().memories.consolidate(NAMESPACE)
    assert (finished.id, finished.state) == (stopped.id, RunState.APPLIED)
    assert len(contents(world)) == 1


def test_no_merge_is_begun_when_the_time_is_up(world: World) -> None:
    for name in ("tea", "coffee", "water"):
        for text in (f"Alice likes {name}", f"alice likes {name.upper()}!"):
            world.memories.remember(NAMESPACE, text)
    answers = iter((True, True, False, False))
    stopped = world.memories.consolidate(NAMESPACE, has_time=lambda: next(answers))
    assert (len(stopped.in_state(MergeState.MERGED)), len(stopped.planned)) == (2, 1)


def test_progress_counts_the_merges_of_a_run(world: World) -> None:
    twice(world)
    seen: list[tuple[int, int | None]] = []
    world.memories.consolidate(NAMESPACE, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 1)]


def test_a_night_looks_only_at_what_changed(world: World) -> None:
    twice(world)
    world.memories.remember(NAMESPACE, "Bob paid Carol")
    world.memories.remember(NAMESPACE, "Carol paid Bob")
    world.clock.advance(DAY)
    assert world.memories.consolidate(NAMESPACE, only_changes=True).examined == 4
    world.clock.advance(DAY)
    assert world.memories.consolidate(NAMESPACE, only_changes=True).examined == 0
    world.memories.remember(NAMESPACE, "Carol was paid by Bob")
    run = world.memories.consolidate(NAMESPACE, only_changes=True)
    assert len(run.in_state(MergeState.MERGED)) == 1


def test_nights_without_anything_to_merge_leave_one_record(world: World) -> None:
    world.memories.remember(NAMESPACE, TEA)
    for _ in range(3):
        world.memories.consolidate(NAMESPACE)
        world.clock.advance(DAY)
    assert len(world.memories.consolidations(NAMESPACE)) == 1


def test_as_of_a_moment_before_the_run_the_merged_memory_answers(world: World) -> None:
    twice(world)
    moment = to_datetime(world.clock.now_us()) + timedelta(seconds=1)
    world.clock.advance(DAY)
    world.memories.consolidate(NAMESPACE)
    found = world.memories.list(NAMESPACE, as_of=moment).memories
    assert [memory.content for memory in found] == [TEA_AGAIN]


def test_the_longest_text_is_kept_word_for_word() -> None:
    assert LongestSummariser().summarise(["a b", "A, B!"]) == "A, B!"
