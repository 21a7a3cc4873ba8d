"""The life of a memory, through every permission that the API's function needs for it."""

import json

from tests.e2e.api import NewCaller


def test_a_memory_is_written_read_changed_and_forgotten(new_caller: NewCaller) -> None:
    caller = new_caller("memories/life")
    path = "/v1/memories/diet"

    assert caller.remember("Alice is vegetarian", id="diet") == "diet"
    assert caller.ask("PATCH", path, {"content": "Alice is vegan"})["memory"]["version"] == 2
    assert caller.ask("GET", path)["memory"]["content"] == "Alice is vegan"
    assert caller.found_ids("vegan") == ["diet"]
    assert caller.ask("DELETE", path) == {"id": "diet", "forgotten": True}

    assert caller.send("GET", path).status_code == 404
    assert caller.found_ids("vegan") == []


def test_an_export_is_imported_elsewhere(new_caller: NewCaller) -> None:
    source, target = new_caller("memories/source"), new_caller("memories/target")
    source.remember("Moved from one place to another", id="moved")
    lines = source.send("GET", "/v1/export").text
    assert json.loads(lines)["id"] == "moved"

    answer = target.send("POST", "/v1/import", content=lines, headers={"Content-Type": "application/x-ndjson"})

    assert answer.json()["imported"] == 1, answer.text
    assert target.found_ids("moved place") == ["moved"]
