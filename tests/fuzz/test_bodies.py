"""Requests over HTTP: whatever path, query, headers and body hold, the answer is one that the API describes."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.functions.deployment import Client, make_client
from tests.fuzz.damage import encoded, odd_bodies, odd_documents

CLIENT = make_client()
BODIES: dict[str, tuple[str, str, Any]] = {
    "remember": (
        "POST",
        "/v1/memories",
        {
            "content": "metric units",
            "kind": "semantic",
            "tags": ["red"],
            "importance": 0.5,
            "ttl": 60.0,
            "expires_at": None,
            "source": "chat",
            "data": {"city": "Rome", "price": [1]},
            "metadata": {"a": 1},
            "attribution": {"author": "Ann"},
            "id": "chosen",
            "resurrect": True,
        },
    ),
    "update": (
        "PATCH",
        "/v1/memories/chosen",
        {"content": "x", "tags": [], "data": {"city": None}, "importance": 1, "expected_version": 1},
    ),
    "search": (
        "POST",
        "/v1/memories/search",
        {
            "query": "units",
            "kind": None,
            "tags": ["red"],
            "filter": {"data.price": {"$gte": 1}, "author": "Ann"},
            "limit": 5,
            "consistency": "strong",
            "explain": True,
        },
    ),
    "batch": (
        "POST",
        "/v1/memories/batch",
        {
            "operations": [
                {"op": "remember", "content": "x"},
                {"op": "get", "id": "chosen"},
                {"op": "update", "id": "chosen", "importance": 0.1},
                {"op": "search", "query": "x", "filter": {"id": "chosen"}},
                {"op": "forget", "id": "chosen", "reason": "asked"},
            ]
        },
    ),
}
LINE = json.dumps({"content": "imported", "id": "line", "data": {"a": 1}, "tags": ["a"]}).encode()
MORE_EXAMPLES = settings(max_examples=3 * settings().max_examples)
texts = st.text(st.characters(codec="utf-8"), max_size=30)


def assert_answered(client: Client, method: str, target: str, body: Any = None, **options: Any) -> None:
    """Send a request; the client itself checks that the answer is described."""
    answer = client.send(method, target, body, **options)
    assert answer.status < 500, answer.body[:500]


@pytest.mark.parametrize("name", BODIES)
@MORE_EXAMPLES
@given(data=st.data())
def test_any_document_as_a_body_is_answered(name: str, data: st.DataObject) -> None:
    method, target, document = BODIES[name]
    assert_answered(CLIENT, method, target, encoded(data.draw(odd_documents(document))))


@pytest.mark.parametrize("name", BODIES)
@MORE_EXAMPLES
@given(data=st.data())
def test_any_bytes_as_a_body_are_answered(name: str, data: st.DataObject) -> None:
    method, target, document = BODIES[name]
    assert_answered(CLIENT, method, target, data.draw(odd_bodies(encoded(document))), is_base64=True)


@given(odd_bodies(LINE), st.sampled_from(["", "?overwrite=true", "?resurrect=true&overwrite=1"]))
def test_any_lines_to_import_are_answered(lines: bytes, query: str) -> None:
    headers = {"content-type": "application/x-ndjson"}
    assert_answered(CLIENT, "POST", "/v1/import" + query, lines + b"\n" + LINE, headers=headers, is_base64=True)


QUERY_NAMES = ["kind", "tag", "limit", "cursor", "namespace", "reason", "include_expired", "overwrite", "x"]
TARGETS = ["/v1/memories", "/v1/memories/chosen", "/v1/export", "/v1/stats", "/v1/namespaces", "/healthz"]


QUERY_VALUES = ["", "1", "true", "%00", "%ff", "a,b", "-1"]


@given(
    target=st.sampled_from(TARGETS),
    query=st.lists(st.tuples(st.sampled_from(QUERY_NAMES), st.sampled_from(QUERY_VALUES)), max_size=3),
)
def test_any_query_is_answered(target: str, query: list[tuple[str, str]]) -> None:
    text = "&".join(f"{name}={value}" for name, value in query)
    assert_answered(CLIENT, "GET", f"{target}?{text}" if text else target)


@given(
    name=st.sampled_from(["if-match", "if-none-match", "accept", "content-type", "x-forwarded-for"]),
    value=st.one_of(texts, st.sampled_from(['"1"', 'W/"1"', "*", '""', "1" * 5_000, '"²"', "٣"])),
    method=st.sampled_from(["GET", "PATCH", "DELETE"]),
)
def test_any_header_is_answered(name: str, value: str, method: str) -> None:
    body = {"importance": 0.5} if method == "PATCH" else None
    assert_answered(CLIENT, method, "/v1/memories/chosen", body, headers={name: value})


@given(texts)
def test_any_token_but_a_valid_one_is_refused(token: str) -> None:
    assert Client(token, "").send("GET", "/v1/stats").status == 401
