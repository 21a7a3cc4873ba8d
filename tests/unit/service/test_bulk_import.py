"""An import of many lines: one segment for thousands, again after it was killed, exact in its report."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from s3_agent_memory.domain.codec import encode_memory
from s3_agent_memory.domain.keys import memory_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.validity import MemoryVersion
from s3_agent_memory.service.results import ImportReport
from s3_agent_memory.service.transfer import indexing as transfer_indexing
from s3_agent_memory.service.upkeep.housekeeper import Folding
from tests.fakes.clock import HOUR
from tests.unit.domain.memories import make_memory
from tests.unit.service.scenarios import die_at_request, try_to_die
from tests.unit.service.worlds import NAMESPACE, PLACE, World


def bulk_world(**options: Any) -> World:
    return World(folding=Folding.LAZY, **options)


def lines_of(count: int, first: int = 0, **fields: Any) -> list[str]:
    return [
        json.dumps({"id": f"id-{number}", "content": f"text {number}", "created_at": "2026-01-01T00:00:00Z", **fields})
        for number in range(first, first + count)
    ]


def found(world: World) -> int:
    """Return how many memories a fresh process finds in the index."""
    return world.another_process().memories.stats(NAMESPACE).memories


def test_an_import_writes_segments_and_no_log_entries() -> None:
    world = bulk_world()
    world.memories.import_(NAMESPACE, lines_of(700))
    assert (world.index_files("log"), found(world)) == ([], 700)
    assert world.seen("users/nobody").count == 0


def test_an_import_beside_an_indexer_leaves_segments_to_it() -> None:
    world = World(folding=Folding.INLINE)
    world.memories.import_(NAMESPACE, lines_of(70))
    assert (len(world.index_files("log")), world.index_files("segments"), found(world)) == (70, [], 70)


def test_an_import_of_one_line_takes_few_requests() -> None:
    world = bulk_world()
    world.store.forget_requests()
    world.memories.import_(NAMESPACE, lines_of(1))
    assert sum(request.verb == "put" for request in world.store.requests) == 5  # claim, object, segment, marker, HEAD


@pytest.mark.parametrize("at", [300, 900, 1_500])
def test_an_import_that_was_killed_and_run_again_has_every_line(at: int) -> None:
    world = bulk_world()
    die_at_request(world, at=at * 8)
    lines = lines_of(2_000)
    assert not try_to_die(lambda: world.memories.import_(NAMESPACE, lines))
    report = world.another_process(folding=Folding.LAZY).memories.import_(NAMESPACE, lines)
    assert (report.imported + report.skipped, report.failed) == (2_000, 0)
    assert report.skipped > 0
    assert found(world) == 2_000


def test_what_a_killed_import_left_unindexed_is_indexed_by_the_next_one() -> None:
    world = bulk_world()
    die_at_request(world, verb="put", key="/_index/segments/")
    assert not try_to_die(lambda: world.memories.import_(NAMESPACE, lines_of(20)))
    report = world.another_process(folding=Folding.LAZY).memories.import_(NAMESPACE, lines_of(20))
    assert (report, found(world)) == (ImportReport(skipped=20), 20)


def test_lines_before_an_input_that_breaks_off_are_imported_and_visible() -> None:
    def breaking() -> Iterator[str]:
        yield from lines_of(600)
        raise OSError("the disk is gone")

    world = bulk_world()
    with pytest.raises(OSError, match="gone"):
        world.memories.import_(NAMESPACE, breaking())
    assert found(world) == 512


def test_ids_that_are_there_are_listed_once_and_then_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_indexing, "_SKIPPED_COUNT_BEFORE_LISTING", 1)
    world = bulk_world()
    world.memories.import_(NAMESPACE, lines_of(3_000))
    memories = world.another_process(folding=Folding.LAZY).memories
    world.store.forget_requests()
    assert world.memories.import_(NAMESPACE, lines_of(3_000)) == ImportReport(skipped=3_000)
    keys = [request.key for request in world.store.requests if "/semantic/id-2999" in request.key]
    assert (memories is not world.memories, keys) == (True, [])


def test_what_is_forgotten_expired_or_changed_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_indexing, "_SKIPPED_COUNT_BEFORE_LISTING", 1)
    world = bulk_world()
    lines = lines_of(1_200)
    world.memories.import_(NAMESPACE, [*lines, *lines_of(1, 1_200, expires_at="2040-01-01T00:00:00Z")])
    world.memories.forget(NAMESPACE, "id-1100")
    key = memory_key(PLACE, Kind.SEMANTIC, "id-1101")
    world.store.inner.delete(key)
    world.clock.advance(40 * 365 * 24 * HOUR)
    report = world.memories.import_(NAMESPACE, [*lines, *lines_of(1, 1_200)])
    # One was removed by hand, which is no forgetting; one is forgotten, one expired.
    assert report == ImportReport(imported=1, skipped=1_198, refused=2)


def test_lines_of_one_id_are_taken_in_their_order() -> None:
    world = bulk_world()
    lines = [*lines_of(1, content="first"), *lines_of(1, content="second")]
    assert world.memories.import_(NAMESPACE, lines) == ImportReport(imported=1, skipped=1)
    assert world.seen().truth == ("first",)
    assert world.memories.import_(NAMESPACE, lines, overwrite=True) == ImportReport(overwritten=2)
    assert (world.seen().listed, world.seen().truth) == (("second",), ("second",))


def test_an_import_into_an_index_of_another_analysis_is_found() -> None:
    world = bulk_world()
    world.memories.remember(NAMESPACE, "les chevaux", id="fr")
    french = world.another_process(folding=Folding.LAZY, language="french").memories
    world.clean_up_log()
    assert french.import_(NAMESPACE, lines_of(5, content="running horses")).imported == 5
    assert len(world.another_process().memories.recall(NAMESPACE, "run horse")) == 5


def test_a_lost_index_is_rebuilt_by_an_import() -> None:
    world = bulk_world()
    world.memories.import_(NAMESPACE, lines_of(30))
    world.store.inner.delete(f"memory/{NAMESPACE}/_index/HEAD")
    world.clock.advance(HOUR)
    assert world.another_process(folding=Folding.LAZY).memories.import_(NAMESPACE, lines_of(5, 30)).imported == 5
    assert found(world) == 35


@pytest.mark.parametrize("lines", [["other"], ["one"]], ids=["new", "there already"])
def test_an_index_that_is_lost_right_after_an_import_is_rebuilt_by_the_next_one(lines: list[str]) -> None:
    world = bulk_world()
    texts = {"one": "one", "two": "two", "other": "other"}
    world.memories.import_(NAMESPACE, [json.dumps({"id": item, "content": texts[item]}) for item in ("one", "two")])
    for item in world.store.inner.list_page(f"memory/{NAMESPACE}/_index/").objects:
        world.store.inner.delete(item.key)
    fresh = world.another_process(folding=Folding.LAZY).memories
    fresh.import_(NAMESPACE, [json.dumps({"id": item, "content": texts[item]}) for item in lines])
    assert {memory.id for memory in fresh.list(NAMESPACE).memories} == {"one", "two", *lines}


def test_every_field_of_a_memory_survives_an_export_and_an_import_byte_by_byte() -> None:
    memory = make_memory(
        id="full",
        namespace=PLACE,
        content='ünïcode\u2028 \\ " 🥦',
        source="chat:1",
        importance=1 / 3,
        tags=("a", "b c"),
        data={"z": [1, 2.5, None, {"k": "v"}], "a": True},
        metadata={"é": "ö"},
        version=41,
        supersedes=(MemoryVersion("old", 3),),
        consolidated_from=(MemoryVersion("x", 1), MemoryVersion("y", 2)),
        pinned=True,
    )
    source, target = bulk_world(), bulk_world()
    source.store.inner.put(memory.key, encode_memory(memory))
    lines = list(source.memories.export(NAMESPACE))
    assert [line.encode() for line in lines] == [encode_memory(memory)]
    assert target.memories.import_(NAMESPACE, lines).imported == 1
    copied = target.store.inner.get(memory.key, size_max=10**6)
    assert copied is not None
    assert copied.body == encode_memory(memory)
    assert list(target.memories.export(NAMESPACE)) == lines


def test_an_export_keeps_fields_that_a_later_version_wrote() -> None:
    world = bulk_world()
    memory = make_memory(id="later", namespace=PLACE)
    body = encode_memory(memory)[:-1] + b',"invented_later":{"x":1}}'
    world.store.inner.put(memory.key, body)
    assert [line.encode() for line in world.memories.export(NAMESPACE)] == [body]


def test_a_memory_laid_out_by_hand_is_exported_on_one_line() -> None:
    world = bulk_world()
    memory = make_memory(id="pretty", namespace=PLACE)
    world.store.inner.put(memory.key, json.dumps(json.loads(encode_memory(memory)), indent=2).encode())
    (line,) = world.memories.export(NAMESPACE)
    assert (line.count("\n"), line.encode()) == (0, encode_memory(memory))
