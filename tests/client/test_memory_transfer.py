"""Exports and imports of any size over HTTP, against the real functions in this process."""

import json

import httpx
import pytest

from s3_agent_memory.client import transfer
from s3_agent_memory.client.retries import Retries
from s3_agent_memory.client.transfer import MemoryTransferClient
from s3_agent_memory.domain.checksum_line import with_checksum
from s3_agent_memory.errors import AuthenticationError, BackendError, CursorTooOldError, ThrottledError
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import SeededEntropy
from tests.functions.deployment import make_client
from tests.fuzz.wsgi import application


def connect(client, transport=None, **options):
    return MemoryTransferClient(
        "http://service",
        token=client.token,
        transport=transport or httpx.WSGITransport(application),
        clock=FakeClock(),
        entropy=SeededEntropy(),
        **options,
    )


@pytest.fixture
def account():
    return make_client()


def lines_of(count, size=10):
    return [json.dumps({"id": f"id-{number}", "content": "x" * size}).encode() for number in range(count)]


class Scripted(httpx.BaseTransport):
    """Passes requests on, but for those that a script answers: a status, an exception, or None for the service."""

    def __init__(self, script):
        self.script = list(script)
        self.inner = httpx.WSGITransport(application)
        self.sent = []

    def handle_request(self, request):
        self.sent.append(request)
        step = self.script.pop(0) if self.script else None
        if isinstance(step, Exception):
            raise step
        if isinstance(step, httpx.Response):
            return step
        response = self.inner.handle_request(request)
        if step == "answer lost":
            response.read()
            raise httpx.ReadError("cut")
        return response


def test_what_is_imported_in_many_requests_is_exported_page_by_page(account, monkeypatch):
    monkeypatch.setattr(transfer, "REQUEST_LINES_MAX", 30)
    lines = lines_of(100, 1_000)
    with connect(account) as memories:
        done: list[int] = []
        totals = memories.import_lines(with_checksum_bytes(lines), progress=done.append)
        exported = [json.loads(line) for line in memories.export()]
    assert (totals.imported, totals.failed, totals.checksum, done) == (100, 0, "verified", [30, 60, 90, 100])
    assert {memory["id"] for memory in exported} == {f"id-{number}" for number in range(100)}


def with_checksum_bytes(lines):
    return [line.encode() for line in with_checksum(line.decode() for line in lines)]


def test_a_request_is_never_larger_than_the_service_takes(account):
    transport = Scripted([])
    with connect(account, transport) as memories:
        totals = memories.import_lines(lines_of(500, 15_000))
    assert (totals.imported, len(transport.sent)) == (500, 3)
    assert max(len(request.content) for request in transport.sent) < 4 * 1024 * 1024


def test_wrong_lines_are_reported_with_their_number_in_the_file(account, monkeypatch):
    monkeypatch.setattr(transfer, "REQUEST_LINES_MAX", 2)
    lines = [*lines_of(3), b"", b"not json", b'{"id":"a","content":""}']
    with connect(account) as memories:
        totals = memories.import_lines(lines)
    assert (totals.imported, totals.failed, [error.line for error in totals.errors]) == (3, 2, [5, 6])


def test_lines_that_the_service_had_no_time_for_are_sent_again(account):
    answer = {"imported": 0, "overwritten": 0, "skipped": 0, "refused": 0, "failed": 0, "errors": []}
    busy = httpx.Response(200, json={**answer, "checksum": "absent", "unread_lines": 5})
    transport = Scripted([busy])
    with connect(account, transport) as memories:
        totals = memories.import_lines(lines_of(5))
    assert (totals.imported, len(transport.sent)) == (5, 2)
    with connect(account, Scripted([busy] * 9)) as memories, pytest.raises(ThrottledError):
        memories.import_lines(lines_of(5))


def test_a_lost_answer_stores_nothing_twice_also_without_ids(account):
    with connect(account, Scripted(["answer lost"])) as memories:
        totals = memories.import_lines([b'{"content": "one"}', b'{"content": "two"}'])
        assert len(list(memories.export())) == 2
    assert (totals.imported, totals.skipped) == (0, 2)


def test_a_passing_failure_is_tried_again_and_a_lasting_one_raised(account):
    with connect(account, Scripted([httpx.Response(503), httpx.ConnectError("no")])) as memories:
        assert memories.import_lines(lines_of(1)).imported == 1
    refused = connect(account, Scripted([httpx.Response(503)] * 3), retries=Retries(attempt_count_max=3))
    with refused as memories, pytest.raises(BackendError):
        memories.import_lines(lines_of(1))
    with connect(account, Scripted([httpx.Response(401)])) as memories, pytest.raises(AuthenticationError):
        list(memories.export())


def test_a_file_that_lost_a_line_is_reported(account):
    with connect(account) as memories:
        totals = memories.import_lines(with_checksum_bytes(lines_of(3))[1:])
    assert (totals.imported, totals.failed, totals.checksum) == (2, 1, "mismatch")


def test_events_go_on_from_a_cursor(account):
    with connect(account) as memories:
        cursor = memories.events("now").cursor
        memories.import_lines(lines_of(1))
        page = memories.events(cursor)
    assert [(event.type, event.id) for event in page.events] == [("created", "id-0")]


def test_a_cursor_that_is_too_old_says_so(account):
    with connect(account, Scripted([httpx.Response(410)])) as memories, pytest.raises(CursorTooOldError):
        memories.events("old")
