"""Files of other systems become memories, the same ones whenever they are read."""

import io
import json
from pathlib import Path

import pytest

from s3_agent_memory.domain.codec import memory_to_json
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.service.migration.mem0 import mem0_line
from s3_agent_memory.service.results import ImportReport
from tests.unit.service.worlds import NAMESPACE, World, contents

FOLDER = Path(__file__).parent / "migrations"
MEM0, MCP = FOLDER / "mem0.json", FOLDER / "memory.jsonl"
FILES = [("mem0", MEM0), ("mcp-memory", MCP)]


def migrate(world: World, form: str, body: bytes, *, dry_run: bool = False) -> ImportReport:
    return world.memories.migrate(NAMESPACE, form, io.BytesIO(body), dry_run=dry_run)


def test_a_mem0_memory_keeps_its_id_times_owner_and_metadata(world: World) -> None:
    migrate(world, "mem0", MEM0.read_bytes())
    document = memory_to_json(world.memories.get(NAMESPACE, "892db2ae-06d9-49e5-8b3e-585ef9b85b8e"))
    assert {name: document[name] for name in ("content", "kind", "source", "metadata", "data", "attribution")} == {
        "content": "Prefers window seats on long flights",
        "kind": "semantic",
        "source": "mem0",
        "metadata": {"channel": "chat", "confidence": 0.92},
        "data": {"mem0": {"hash": "3f1c0a7be8d14c5f9a2e6b7d8c901234", "role": "user"}},
        "attribution": {"user_id": "dana", "agent_id": "travel-desk", "session_id": "trip-2025-11", "author": "Dana"},
    }
    assert (document["created_at"], document["updated_at"]) == ("2025-11-03T17:12:44.120913Z",) * 2


def test_a_mem0_memory_keeps_categories_and_lives_through_its_last_day(world: World) -> None:
    migrate(world, "mem0", MEM0.read_bytes())
    memory = world.memories.get(NAMESPACE, "0d3a7a54-4a0f-4b63-9b3b-0f6c9b1c2d3e")
    assert memory.tags == ("health", "food")
    assert memory_to_json(memory)["expires_at"] == "2100-01-01T00:00:00.000000Z"


def test_a_procedural_mem0_memory_stays_one(world: World) -> None:
    migrate(world, "mem0", MEM0.read_bytes())
    assert world.memories.get(NAMESPACE, "5b8e2f00-1111-4222-8333-944445555666").kind == "procedural"


def test_an_entry_without_a_text_is_reported_by_its_number(world: World) -> None:
    report = migrate(world, "mem0", MEM0.read_bytes())
    assert (report.imported, report.failed, [error.line for error in report.errors]) == (3, 1, [4])


def test_a_plain_list_is_a_mem0_export_too(world: World) -> None:
    entries = json.loads(MEM0.read_bytes())["results"]
    assert migrate(world, "mem0", json.dumps(entries).encode()).imported == 3


def test_metadata_too_large_for_its_place_goes_to_the_data() -> None:
    line = mem0_line({"id": "a", "memory": "text", "metadata": {"x": "y" * 5_000}})
    assert (line["metadata"], line["data"]) == ({}, {"mem0": {"metadata": {"x": "y" * 5_000}}})


@pytest.mark.parametrize(
    "entry", [{"memory": "text", "user_id": "a"}, {"id": "sp ace", "memory": "text"}, {"id": 7, "memory": "x"}]
)
def test_an_id_that_cannot_be_kept_is_derived_the_same_way_each_time(entry: dict[str, object]) -> None:
    first, again, other = mem0_line(entry)["id"], mem0_line(entry)["id"], mem0_line({**entry, "id": "ot her"})["id"]
    assert first == again != other


def test_every_observation_and_relation_of_a_graph_is_a_memory(world: World) -> None:
    report = migrate(world, "mcp-memory", MCP.read_bytes())
    page = world.memories.list(NAMESPACE, limit=100)
    assert sorted(memory.content for memory in page.memories) == [
        "Dana_Okafor works at Quarry Labs",
        "Dana_Okafor: Graduated in 2019",
        "Dana_Okafor: Prefers morning meetings ☀",
        "Dana_Okafor: Speaks Portuguese",
        "Quarry Labs (organization)",
    ]
    assert (report.imported, report.skipped, report.failed) == (5, 1, 2)
    assert [error.line for error in report.errors] == [5, 6]


def test_a_node_of_a_graph_is_found_by_filter_and_by_words(world: World) -> None:
    migrate(world, "mcp-memory", MCP.read_bytes())
    assert len(contents(world.memories, "", filter={"data.entity": "Dana_Okafor"})) == 3
    assert contents(world.memories, "who speaks Portuguese?")[0] == "Dana_Okafor: Speaks Portuguese"


@pytest.mark.parametrize(("form", "path"), FILES)
def test_a_file_that_is_read_again_changes_nothing(world: World, form: str, path: Path) -> None:
    first = migrate(world, form, path.read_bytes())
    before = list(world.memories.export(NAMESPACE))
    again = migrate(world, form, path.read_bytes())
    assert (again.imported, again.skipped) == (0, first.imported + first.skipped)
    assert list(world.memories.export(NAMESPACE)) == before


@pytest.mark.parametrize(("form", "path"), FILES)
def test_a_dry_run_reports_what_would_be_done_and_writes_nothing(world: World, form: str, path: Path) -> None:
    planned = migrate(world, form, path.read_bytes(), dry_run=True)
    assert list(world.memories.export(NAMESPACE)) == []
    assert migrate(world, form, path.read_bytes()) == planned
    planned_again = migrate(world, form, path.read_bytes(), dry_run=True)
    assert planned_again == migrate(world, form, path.read_bytes())


def test_what_was_forgotten_stays_forgotten(world: World) -> None:
    migrate(world, "mem0", MEM0.read_bytes())
    world.memories.forget(NAMESPACE, "892db2ae-06d9-49e5-8b3e-585ef9b85b8e")
    assert migrate(world, "mem0", MEM0.read_bytes(), dry_run=True).refused == 1
    assert migrate(world, "mem0", MEM0.read_bytes()).refused == 1


@pytest.mark.parametrize("body", [b"", b"{", b"7", b'{"memories": []}', b'{"results": {}}'])
def test_a_file_that_is_no_mem0_export_is_refused(world: World, body: bytes) -> None:
    with pytest.raises(ValidationError):
        migrate(world, "mem0", body)


def test_an_unknown_format_is_refused(world: World) -> None:
    with pytest.raises(ValidationError, match="mem0, mcp-memory"):
        migrate(world, "other", b"[]")


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_text_that_is_no_unicode_is_an_error_of_its_own_entry(world: World, dry_run: bool) -> None:
    body = rb'[{"id":"ok1","memory":"fine"},{"id":"bad","memory":"z\ud800"},{"id":"ok2","memory":"fine two"}]'
    report = migrate(world, "mem0", body, dry_run=dry_run)
    assert (report.imported, report.failed, [error.line for error in report.errors]) == (2, 1, [2])
