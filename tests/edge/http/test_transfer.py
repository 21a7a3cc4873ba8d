"""Export and import over HTTP."""

import json
import re

import pytest

from tests.functions.deployment import make_client, object_store

LINES = {"content-type": "application/x-ndjson"}


def lines_of(answer):
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.body.splitlines()]


def test_export_answers_every_memory_as_a_line(client):
    memories = [client.remember(f"memory {number} ü") for number in range(3)]
    assert sorted(lines_of(client.send("GET", "/v1/export")), key=str) == sorted(memories, key=str)


def test_export_includes_expired_memories_when_asked(client):
    client.remember(ttl=0.000001)
    assert len(lines_of(client.send("GET", "/v1/export?include_expired=true"))) == 1


def test_export_page_by_page_meets_every_memory_once(client):
    ids = {client.remember("x" * 16_000, data={"x": "y" * 30_000})["id"] for _ in range(110)}
    target: str | None = "/v1/export?cursor="
    seen, pages = [], 0
    while target and pages < 20:
        answer = client.send("GET", target)
        seen += [memory["id"] for memory in lines_of(answer)]
        link = re.fullmatch(r'<(.*)>; rel="next"', answer.headers.get("link", ""))
        target, pages = link.group(1) if link else None, pages + 1
    assert (len(seen), set(seen), pages > 1) == (110, ids, True)


def test_an_export_too_large_for_one_answer_is_413_and_never_cut(client):
    for _ in range(110):
        client.remember("x" * 16_000, data={"x": "y" * 30_000})
    answer = client.send("GET", "/v1/export")
    assert (answer.status, answer.code, "cursor" in answer.json["detail"]) == (413, "answer_too_large", True)


def test_export_names_objects_that_cannot_be_read(client):
    key = f"memory/{client.namespace}/semantic/broken.json"
    client.remember(id="broken")
    object_store().put(key, b"{")
    answers = [client.send("GET", "/v1/export"), client.send("GET", "/v1/export?cursor=")]
    assert [answer.headers["x-corrupt-keys"] for answer in answers] == [key, key]


def test_a_page_cannot_include_expired_memories(client):
    assert client.send("GET", "/v1/export?cursor=&include_expired=true").status == 400


def test_import_stores_lines_into_the_namespace_of_the_token(client):
    other = make_client()
    line = {"id": "units", "content": "metric", "namespace": other.namespace.split("/"), "kind": "procedural"}
    answer = client.send("POST", "/v1/import", json.dumps(line).encode(), headers=LINES)
    assert answer.json["imported"] == 1
    assert client.send("GET", "/v1/memories/units").json["memory"]["namespace"] == client.namespace.split("/")
    assert other.send("GET", "/v1/memories/units").status == 404


def test_an_export_imports_into_another_namespace_as_it_was(client):
    memory = client.remember("ü", tags=["a"], metadata={"user_id": "bob"}, attribution={"author": "Ann"})
    other = make_client()
    report = other.send("POST", "/v1/import", client.send("GET", "/v1/export").body, headers=LINES, is_base64=True)
    copied = other.send("GET", f"/v1/memories/{memory['id']}").json["memory"]
    assert report.json["imported"] == 1
    assert copied | {"namespace": None} == memory | {"namespace": None}


def test_import_skips_overwrites_and_refuses_as_asked(client):
    client.remember("kept", id="kept")
    client.remember("gone", id="gone")
    client.send("DELETE", "/v1/memories/gone")
    body = b'{"id": "kept", "content": "new"}\n{"id": "gone", "content": "new"}\n'
    plain = client.send("POST", "/v1/import", body, headers=LINES).json
    forced = client.send("POST", "/v1/import?overwrite=true&resurrect=true", body, headers=LINES).json
    assert (plain["skipped"], plain["refused"]) == (1, 1)
    assert (forced["overwritten"], forced["imported"]) == (1, 1)


def test_import_reports_wrong_lines_by_number_and_stores_the_others(client):
    body = b'{"content": "a"}\nnot json\n\n{"content": ""}\n{"content": "b"}'
    report = client.send("POST", "/v1/import", body, headers=LINES).json
    assert (report["imported"], [error["line"] for error in report["errors"]]) == (2, [2, 4])


def test_import_stops_before_its_time_is_up_and_says_how_many_lines_are_left(client):
    body = b'{"content": "a"}\n' * 3
    report = client.send("POST", "/v1/import", body, headers=LINES, remaining_ms=4_000).json
    assert (report["imported"], report["unread_lines"]) == (0, 3)


def test_an_import_is_found_at_once(client):
    client.send("POST", "/v1/import", b'{"id": "tea", "content": "green tea"}', headers=LINES)
    assert client.search("tea") == ["tea"]


@pytest.mark.parametrize("content_type", ["application/json", "application/x-www-form-urlencoded", "text/plain"])
def test_an_import_of_another_type_is_415(client, content_type):
    answer = client.send("POST", "/v1/import", b"{}", headers={"content-type": content_type})
    assert (answer.status, "application/x-ndjson" in answer.json["detail"]) == (415, True)


def test_an_import_above_4_mib_is_413(client):
    answer = client.send("POST", "/v1/import", b"x" * (4 * 1024 * 1024 + 1), headers=LINES)
    assert (answer.status, answer.code) == (413, "body_too_large")


def test_an_empty_import_is_422(client):
    assert client.send("POST", "/v1/import", b"", headers=LINES).status == 422
