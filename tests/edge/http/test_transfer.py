"""Export and import over HTTP."""

import json
import re

import pytest

from s3_agent_memory.service.transfer import exporter as transfer_export
from tests.functions.deployment import Answer, Context, make_client, object_store

LINES = {"content-type": "application/x-ndjson"}


def lines_of(answer):
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.body.splitlines()]


def pages_of(client, target):
    """Return the answers along the links; their number is bounded."""
    answers: list[Answer] = []
    while target and len(answers) < 50:
        answers.append(client.send("GET", target))
        link = re.fullmatch(r'<(.*)>; rel="next"', answers[-1].headers.get("link", ""))
        target = link.group(1) if link else None
    return answers


class Hourglass(Context):
    """A context whose time is up after it was asked for the time left so many times."""

    def __init__(self, question_count):
        super().__init__()
        self.question_count = question_count

    def get_remaining_time_in_millis(self):  # type: ignore[override]  # As in the base class.
        self.question_count -= 1
        return 29_000 if self.question_count >= 0 else 0


def test_export_answers_every_memory_as_a_line(client):
    memories = [client.remember(f"memory {number} ü") for number in range(3)]
    assert sorted(lines_of(client.send("GET", "/v1/export")), key=str) == sorted(memories, key=str)


def test_export_includes_expired_memories_when_asked(client):
    client.remember(ttl=0.000001)
    assert len(lines_of(client.send("GET", "/v1/export?include_expired=true"))) == 1


def test_export_page_by_page_meets_every_memory_once(client):
    ids = {client.remember("x" * 16_000, data={"x": "y" * 30_000})["id"] for _ in range(110)}
    answers = pages_of(client, "/v1/export?cursor=")
    seen = [memory["id"] for answer in answers for memory in lines_of(answer)]
    assert (len(seen), set(seen), len(answers) > 1) == (110, ids, True)


def test_no_page_of_an_export_is_larger_than_4_mib(client):
    # The page of a list that comes second is far larger than the first, after which a page of an export may go on.
    data = [{"x": "\x01" * 5_400}] * 20 + [None] * 20
    ids = {client.remember("\x01" * 16_384, data=item)["id"] for item in data}
    answers = pages_of(client, "/v1/export?cursor=")
    seen = [memory["id"] for answer in answers for memory in lines_of(answer)]
    assert (len(seen), set(seen)) == (40, ids)
    assert max(len(answer.body) for answer in answers) <= 4 * 1024 * 1024


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


def test_a_page_includes_expired_memories_when_asked(client):
    client.remember(ttl=0.000001)
    kept = client.remember("kept")["id"]
    counts = [len(lines_of(client.send("GET", f"/v1/export?cursor={more}"))) for more in ("", "&include_expired=true")]
    assert (counts, kept != "") == ([1, 2], True)


def test_an_export_is_of_what_was_chosen_whole_and_page_by_page(client, monkeypatch):
    monkeypatch.setattr(transfer_export, "_PAGE_COUNT_MAX", 2)
    chosen = {client.remember(tags=["a b", "c"], kind="episodic")["id"] for _ in range(3)}
    client.remember(tags=["c"], kind="episodic")
    client.remember(tags=["a b"])
    query = "kind=episodic&tag=a+b&tag=c"
    answers = pages_of(client, f"/v1/export?{query}&cursor=")
    paged = [memory["id"] for answer in answers for memory in lines_of(answer)]
    whole = [memory["id"] for memory in lines_of(client.send("GET", f"/v1/export?{query}"))]
    assert (sorted(paged), set(whole), len(answers)) == (sorted(chosen), chosen, 3)


@pytest.mark.parametrize("cursor", ["x", "semantic", "semantic~", "fact~a", "semantic~../x"])
def test_a_page_behind_no_cursor_of_an_export_is_400(client, cursor):
    assert client.send("GET", f"/v1/export?cursor={cursor}").status == 400


def test_a_page_leaves_out_what_is_forgotten_and_has_what_was_resurrected(client):
    for name in ("a", "b", "c"):
        client.remember(id=name)
        client.send("DELETE", f"/v1/memories/{name}")
    client.remember(id="b", resurrect=True)
    client.remember(id="bb")
    assert [memory["id"] for memory in lines_of(client.send("GET", "/v1/export?cursor="))] == ["b", "bb"]


def test_a_checksum_line_in_a_body_is_no_memory_and_no_error(client):
    body = b'{"id": "a", "content": "a"}\n{"checksum": {"lines": 7, "sha256": "0"}}\n'
    answer = client.send("POST", "/v1/import", body, headers=LINES).json
    assert (answer["imported"], answer["failed"], answer["checksum"]) == (1, 0, "absent")


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
    report = client.send("POST", "/v1/import", body, headers=LINES, context=Context(4_000)).json
    assert (report["imported"], report["unread_lines"]) == (0, 3)


def test_an_import_is_found_at_once(client):
    client.send("POST", "/v1/import", b'{"id": "tea", "content": "green tea"}', headers=LINES)
    assert client.search("tea") == ["tea"]


@pytest.mark.parametrize(
    "content_type",
    [
        "application/x-ndjson",
        "application/jsonl",
        "application/json-lines",
        "application/ndjson",
        "application/json",
        "text/plain; charset=utf-8",
        "application/octet-stream",
        "application/x-www-form-urlencoded",
        "",
    ],
)
def test_an_import_may_come_as_clients_send_lines(client, content_type):
    headers = {"content-type": content_type}
    answer = client.send("POST", "/v1/import", b'{"content": "a+b"}\n', headers=headers, is_base64=True)
    assert (answer.status, answer.json["imported"]) == (200, 1)


def test_only_a_line_feed_ends_a_line_of_an_import(client):
    body = b'{"content":\r"a"}\r\n{"content": "b\xc2\x85c"}\x0b\n{"content": "c"}'
    report = client.send("POST", "/v1/import", body, headers=LINES, is_base64=True).json
    assert (report["imported"], [error["line"] for error in report["errors"]]) == (2, [2])


def test_unread_lines_are_the_last_ones_so_that_sending_those_goes_on(client):
    lines = [b'{"content": "%d"}\n' % number for number in range(300)]
    first = client.send("POST", "/v1/import", b"".join(lines), headers=LINES, context=Hourglass(200)).json
    rest = lines[-first["unread_lines"] :]
    second = client.send("POST", "/v1/import", b"".join(rest), headers=LINES).json
    assert (first["imported"], first["unread_lines"], second["imported"]) == (200, 100, 100)
    assert client.send("GET", "/v1/stats").json["memories"] == 300


def test_the_report_of_an_import_fits_whatever_the_lines_were(client):
    line = json.dumps({"\x7f" * 20_000: 1}, ensure_ascii=False).encode() + b"\n"
    answer = client.send("POST", "/v1/import", line * 120, headers=LINES)
    report = answer.json
    assert (answer.status, report["failed"], len(report["errors"])) == (200, 120, 100)
    assert max(len(error["message"]) for error in report["errors"]) <= 500


@pytest.mark.parametrize("content_type", ["multipart/form-data", "application/xml", "text/csv"])
def test_an_import_of_another_type_is_415(client, content_type):
    answer = client.send("POST", "/v1/import", b"{}", headers={"content-type": content_type})
    assert (answer.status, "application/x-ndjson" in answer.json["detail"]) == (415, True)


def test_an_import_above_4_mib_is_413(client):
    answer = client.send("POST", "/v1/import", b"x" * (4 * 1024 * 1024 + 1), headers=LINES)
    assert (answer.status, answer.code) == (413, "body_too_large")


def test_an_empty_import_is_422(client):
    assert client.send("POST", "/v1/import", b"", headers=LINES).status == 422
