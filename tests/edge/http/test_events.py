"""The event feed over HTTP."""

import pytest

from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.errors import CursorTooOldError
from s3_agent_memory.service.events.feed import EventsFeed
from tests.functions.deployment import make_client


def events_of(client, query=""):
    answer = client.send("GET", f"/v1/events?{query}")
    assert answer.status == 200, answer.body
    return answer.json


def test_events_are_told_page_by_page_up_to_now(client):
    ids = {client.remember(f"text {number}")["id"] for number in range(5)}
    page = events_of(client, "limit=2")
    seen = [event["id"] for event in page["events"]]
    while page["has_more"]:
        page = events_of(client, f"limit=2&cursor={page['cursor']}")
        seen += [event["id"] for event in page["events"]]
    assert (len(seen), set(seen)) == (5, ids)


def test_a_forgotten_memory_is_told_without_its_content(client):
    client.remember("a secret", id="a")
    cursor = events_of(client, "cursor=now")["cursor"]
    client.send("DELETE", "/v1/memories/a")
    page = events_of(client, f"cursor={cursor}")
    (event,) = page["events"]
    assert (event["type"], event["id"], event["version"], event["kind"]) == ("forgotten", "a", 1, "semantic")
    assert "secret" not in str(page)


def test_a_token_sees_the_events_of_its_own_namespace_only(client):
    client.remember()
    assert events_of(make_client())["events"] == []


@pytest.mark.parametrize("query", ["cursor=x", "limit=0", "limit=1001", "limit=a", "since=1"])
def test_a_wrong_query_is_400(client, query):
    assert client.send("GET", f"/v1/events?{query}").status == 400


def test_a_cursor_of_another_namespace_is_400(client):
    cursor = events_of(make_client())["cursor"]
    assert client.send("GET", f"/v1/events?cursor={cursor}").status == 400


def test_a_cursor_that_is_too_old_is_410(client, monkeypatch):
    def read(_self, namespace, _cursor, *, limit):
        assert (parse_namespace(client.namespace), limit) == (namespace, 100)
        raise CursorTooOldError("start again")

    monkeypatch.setattr(EventsFeed, "read", read)
    answer = client.send("GET", "/v1/events")
    assert (answer.status, answer.code) == (410, "cursor_too_old")
