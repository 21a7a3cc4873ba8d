"""Export reads the objects themselves; import writes only where it is told to."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from s3_agent_memory.domain.codec import memory_to_json
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.service.results import ImportReport
from tests.fakes.clock import HOUR, MINUTE
from tests.unit.service.scenarios import die_at_request, try_to_die
from tests.unit.service.worlds import NAMESPACE, World

LINE = {
    "id": "units",
    "kind": "procedural",
    "content": "metric units",
    "created_at": "2020-01-01T00:00:00Z",
    "updated_at": "2020-01-02T00:00:00Z",
    "version": 7,
    "tags": ["prefs"],
}


def lines_of(*documents: object) -> list[str]:
    return [json.dumps(document) for document in documents]


def run_import(world: World, lines: Iterable[str | bytes], **options: Any) -> ImportReport:
    return world.memories.import_(NAMESPACE, lines, **options)


# --- export -----------------------------------------------------------------------------------------------------------


def test_an_export_is_the_stored_objects(world: World) -> None:
    stored = [
        world.memories.remember(NAMESPACE, text, kind=kind) for text, kind in (("a", "semantic"), ("b", "episodic"))
    ]
    exported = [json.loads(line) for line in world.memories.export(NAMESPACE)]
    assert exported == [memory_to_json(memory) for memory in stored]


def test_an_export_needs_no_index(world: World) -> None:
    die_at_request(world, verb="put", key="/_index/")
    try_to_die(lambda: world.memories.remember(NAMESPACE, "not logged"))
    assert len(list(world.memories.export(NAMESPACE))) == 1


def test_an_export_leaves_out_what_has_expired_unless_asked(world: World) -> None:
    world.memories.remember(NAMESPACE, "short", ttl=MINUTE)
    world.clock.advance(MINUTE)
    counts = [len(list(world.memories.export(NAMESPACE, include_expired=flag))) for flag in (False, True)]
    assert counts == [0, 1]


def test_an_export_leaves_out_an_object_whose_forget_died(world: World) -> None:
    world.memories.remember(NAMESPACE, "text", id="a")
    die_at_request(world, verb="delete")
    try_to_die(lambda: world.memories.forget(NAMESPACE, "a"))
    assert world.store.keys_below(f"memory/{NAMESPACE}/semantic/") != []
    assert list(world.memories.export(NAMESPACE)) == []


def test_an_export_has_what_was_resurrected(world: World) -> None:
    world.memories.remember(NAMESPACE, "text", id="a")
    world.memories.forget(NAMESPACE, "a")
    world.memories.remember(NAMESPACE, "again", id="a", resurrect=True)
    assert [json.loads(line)["content"] for line in world.memories.export(NAMESPACE)] == ["again"]


def test_an_export_reads_namespaces_below_separately(world: World) -> None:
    world.memories.remember(NAMESPACE, "mine")
    world.memories.remember(f"{NAMESPACE}/notes", "below")
    assert [json.loads(line)["content"] for line in world.memories.export(NAMESPACE)] == ["mine"]


# --- import -----------------------------------------------------------------------------------------------------------


def test_an_export_imported_elsewhere_is_the_same(world: World) -> None:
    for number in range(300):
        world.memories.remember(
            NAMESPACE, f"text {number}", kind=("semantic", "episodic")[number % 2], data={"n": number}
        )
    lines = list(world.memories.export(NAMESPACE))
    report = world.memories.import_("users/bob", lines)
    copied = [json.loads(line) for line in world.memories.export("users/bob")]
    expected = [{**json.loads(line), "namespace": ["users", "bob"]} for line in lines]
    assert report == ImportReport(imported=300)
    assert copied == expected


def test_an_import_keeps_times_version_and_kind(world: World) -> None:
    run_import(world, lines_of(LINE))
    memory = world.memories.get(NAMESPACE, "units")
    document = memory_to_json(memory)
    assert {name: document[name] for name in ("created_at", "updated_at", "version", "kind")} == {
        "created_at": "2020-01-01T00:00:00.000000Z",
        "updated_at": "2020-01-02T00:00:00.000000Z",
        "version": 7,
        "kind": "procedural",
    }


def test_a_line_needs_only_content(world: World) -> None:
    assert run_import(world, lines_of({"content": "just this"})).imported == 1
    assert world.seen().listed == ("just this",)


def test_an_import_writes_only_into_its_namespace(world: World) -> None:
    run_import(world, lines_of({**LINE, "namespace": ["users", "bob"]}, {**LINE, "id": "b", "namespace": "../etc"}))
    assert world.memories.namespaces() == [NAMESPACE]
    assert world.seen().listed == ("metric units", "metric units")


def test_ids_that_exist_are_skipped(world: World) -> None:
    run_import(world, lines_of(LINE))
    assert run_import(world, lines_of({**LINE, "content": "other"})) == ImportReport(skipped=1)
    assert world.seen().listed == ("metric units",)


def test_ids_that_exist_are_overwritten_on_request(world: World) -> None:
    run_import(world, lines_of(LINE))
    report = run_import(world, lines_of({**LINE, "content": "other"}), overwrite=True)
    assert report == ImportReport(overwritten=1)
    assert world.seen().listed == ("other",)
    assert world.memories.get(NAMESPACE, "units").version == 8


@pytest.mark.parametrize("options", [{}, {"resurrect": True}, {"overwrite": True}])
def test_a_line_whose_id_belongs_to_another_kind_failed(world: World, options: dict[str, bool]) -> None:
    for memory_id in ("here", "gone"):
        world.memories.remember(NAMESPACE, "first", id=memory_id, kind="semantic")
    world.memories.forget(NAMESPACE, "gone")
    report = run_import(world, lines_of({**LINE, "id": "here"}, {**LINE, "id": "gone"}), **options)
    assert (report.failed, report.skipped, report.imported) == (2, 0, 0)
    assert all("belongs to the kind semantic" in error.message for error in report.errors)


def test_an_overwrite_does_not_change_the_kind_of_an_id(world: World) -> None:
    run_import(world, lines_of(LINE))
    report = run_import(world, lines_of({**LINE, "kind": "semantic"}), overwrite=True)
    assert (report.imported, report.overwritten) == (0, 0)
    assert world.memories.get(NAMESPACE, "units").kind == "procedural"


def test_forgotten_ids_are_refused(world: World) -> None:
    run_import(world, lines_of(LINE))
    world.memories.forget(NAMESPACE, "units")
    assert run_import(world, lines_of(LINE), overwrite=True) == ImportReport(refused=1)
    assert world.seen().listed == ()


def test_forgotten_ids_come_back_on_request(world: World) -> None:
    run_import(world, lines_of(LINE))
    world.memories.forget(NAMESPACE, "units")
    assert run_import(world, lines_of(LINE), resurrect=True) == ImportReport(imported=1)
    assert world.memories.get(NAMESPACE, "units").version == 8


@pytest.mark.parametrize(
    ("line", "code"),
    [
        *[("not json", "validation"), ("[]", "validation"), ("7", "validation"), ("{}", "validation")],
        *[('{"content":""}', "validation"), ('{"content":"a","id":"../x"}', "validation"), (b"\xff\xfe", "validation")],
        *[('{"content":"a","kind":"fact"}', "validation"), ('{"content":"a","importance":NaN}', "validation")],
        *[('{"content":"\\ud800"}', "validation"), ('{"content":"\ud800"}', "validation")],
        *[('{"content":"a","schema":2}', "validation"), ('{"content":"a","version":0}', "validation")],
        *[('{"content":"%s"}' % ("x" * 20_000), "limit_exceeded"), ("x" * 140_000, "limit_exceeded")],
    ],
)
def test_a_wrong_line_is_reported_by_number_and_the_others_go_on(world: World, line: str | bytes, code: str) -> None:
    report = run_import(world, [json.dumps(LINE), line, json.dumps({**LINE, "id": "b"})])
    assert report.imported == 2
    assert [(error.line, error.code) for error in report.errors] == [(2, code)]


@pytest.mark.parametrize("line", ["", "   ", "\n", b"\r\n"])
def test_an_empty_line_is_nothing(world: World, line: str | bytes) -> None:
    assert run_import(world, [line]) == ImportReport()


def test_an_error_message_does_not_repeat_the_memory(world: World) -> None:
    report = run_import(world, ['{"content":"a secret","kind":"a secret kind"}'])
    assert "a secret" not in report.errors[0].message


def test_what_is_imported_can_be_recalled_at_once(world: World) -> None:
    run_import(world, lines_of(*({**LINE, "id": f"id{number}"} for number in range(90))))
    assert world.memories.stats(NAMESPACE).memories == 90
    assert world.seen().agrees


def test_an_import_into_expired_ids_needs_resurrect(world: World) -> None:
    world.memories.remember(NAMESPACE, "old", id="units", kind="procedural", ttl=MINUTE)
    world.clock.advance(HOUR)
    assert run_import(world, lines_of(LINE)) == ImportReport(refused=1)
    assert run_import(world, lines_of(LINE), resurrect=True) == ImportReport(imported=1)


def test_errors_are_all_counted_and_the_first_are_told(world: World) -> None:
    report = run_import(world, ["wrong"] * 300)
    assert (report.failed, [error.line for error in report.errors]) == (300, list(range(1, 101)))


def test_an_import_respects_the_limits_of_the_store() -> None:
    world = World(limits=Limits(content_bytes_max=5))
    assert run_import(world, lines_of(LINE)).errors[0].code == "limit_exceeded"
