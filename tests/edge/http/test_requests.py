"""Requests that fail at the edge: shape, size, content type, route, method."""

import json

import pytest

from tests.functions.deployment import Client


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", 5),
        ("content", None),
        ("kind", "opinion"),
        ("tags", "food"),
        ("tags", [1]),
        ("importance", "0.5"),
        ("importance", True),
        ("ttl", "60"),
        ("data", [1]),
        ("metadata", "x"),
        ("resurrect", "yes"),
        ("attribution", "Ann"),
    ],
)
def test_a_field_of_the_wrong_type_is_422_and_named(client, field, value):
    answer = client.send("POST", "/v1/memories", {"content": "x"} | {field: value})
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert answer.json["errors"][0]["field"].split(".")[0] == field


def test_an_unknown_field_of_a_nested_object_is_named_with_its_path(client):
    answer = client.send("POST", "/v1/memories", {"content": "x", "attribution": {"user": "y"}})
    assert [error["field"] for error in answer.json["errors"]] == ["attribution.user"]


def test_a_missing_field_is_422_and_named(client):
    answer = client.send("POST", "/v1/memories", {})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "content")


def test_a_problem_never_repeats_the_text_that_was_sent(client):
    answer = client.send("POST", "/v1/memories", {"content": ["MARKER-TEXT"], "kind": "MARKER-TEXT"})
    assert answer.status == 422
    assert b"MARKER-TEXT" not in answer.body


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", "  "),
        ("importance", 1.5),
        ("importance", -1),
        ("ttl", 0),
        ("ttl", -5),
        ("expires_at", "tomorrow"),
        ("tags", [" a "]),
        ("id", "a/b"),
        ("id", ""),
        ("source", ""),
        ("content", "\ud800"),
    ],
)
def test_a_value_that_is_not_allowed_is_400(client, field, value):
    answer = client.send("POST", "/v1/memories", {"content": "x"} | {field: value})
    assert (answer.status, answer.code) == (400, "validation")


def test_ttl_and_expires_at_together_are_400(client):
    answer = client.send("POST", "/v1/memories", {"content": "x", "ttl": 5, "expires_at": "2999-01-01T00:00:00Z"})
    assert answer.status == 400


@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        ({"content": "x" * (16 * 1024 + 1)}, "content"),
        ({"tags": [str(number) for number in range(33)]}, "tags"),
        ({"data": {"x": "y" * (32 * 1024)}}, "data"),
        ({"metadata": {"x": "y" * (4 * 1024)}}, "metadata"),
    ],
)
def test_what_is_larger_than_a_limit_is_413_and_named(client, fields, limit):
    answer = client.send("POST", "/v1/memories", {"content": "x"} | fields)
    assert (answer.status, answer.code) == (413, "limit_exceeded")
    assert limit in answer.json["detail"]


def test_a_body_above_4_mib_is_413(client):
    answer = client.send("POST", "/v1/memories", b'{"content": "' + b"x" * (4 * 1024 * 1024) + b'"}')
    assert (answer.status, answer.code) == (413, "body_too_large")


@pytest.mark.parametrize("body", [b"{", b"nonsense", b'{"content": NaN}', b"\xff\xfe", b'{"a":' * 50_000])
def test_a_body_that_is_no_json_is_400(client, body):
    answer = client.send("POST", "/v1/memories", body, is_base64=True)
    assert (answer.status, answer.code) == (400, "malformed_json")


@pytest.mark.parametrize("body", [b"[]", b'[{"content": "x"}]', b"null", b'"text"', b"5", None])
def test_a_body_that_is_no_object_is_422(client, body):
    answer = client.send("POST", "/v1/memories", body)
    assert (answer.status, answer.code) == (422, "invalid_request")


def test_an_unknown_field_with_a_name_that_is_no_unicode_is_a_clean_error(client):
    answer = client.send("POST", "/v1/memories", {"content": "x", "\ud800": 1})
    assert answer.status == 422


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_another_content_type_is_415(client, content_type):
    answer = client.send("POST", "/v1/memories", {"content": "x"}, headers={"content-type": content_type})
    assert (answer.status, answer.code) == (415, "unsupported_media_type")


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON"])
def test_the_content_type_may_have_parameters_and_capitals(client, content_type):
    answer = client.send("POST", "/v1/memories", {"content": "x"}, headers={"content-type": content_type})
    assert answer.status == 201


@pytest.mark.parametrize("path", ["/v1", "/v1/memorie", "/v1/memories/", "/v1/memories/a/b", "/v2/memories"])
def test_an_unknown_path_is_404(client, path):
    answer = client.send("GET", path)
    assert (answer.status, answer.code) == (404, "route_not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v1/memories", "GET, HEAD, OPTIONS, POST"),
        ("POST", "/v1/memories/some-id", "DELETE, GET, HEAD, OPTIONS, PATCH"),
        ("DELETE", "/v1/stats", "GET, HEAD, OPTIONS"),
        ("TRACE", "/v1/import", "OPTIONS, POST"),
    ],
)
def test_another_method_is_405_with_allow(client, method, path, allowed):
    answer = client.send(method, path)
    assert (answer.status, answer.code, answer.headers["allow"]) == (405, "method_not_allowed", allowed)


@pytest.mark.parametrize(
    "target",
    [
        "/v1/memories?tags=food",
        "/v1/memories?user_id=bob",
        "/v1/memories?filter=x",
        "/v1/stats?kind=semantic",
        "/v1/memories/x?kind=semantic",
        "/v1/export?limit=5",
    ],
)
def test_an_unknown_parameter_is_400_and_named(client, target):
    answer = client.send("GET", target)
    name = target.partition("?")[2].partition("=")[0]
    assert (answer.status, answer.json["errors"][0]["field"]) == (400, f"query.{name}")


def test_a_preflight_is_204_without_a_token():
    answer = Client(None, "").send("OPTIONS", "/v1/memories", headers={"origin": "https://example.org"})
    assert (answer.status, answer.body) == (204, b"")
    assert {"authorization", "content-type"} <= set(answer.headers["access-control-allow-headers"].split(", "))
    assert {"PATCH", "DELETE"} <= set(answer.headers["access-control-allow-methods"].split(", "))


def test_a_stage_in_the_path_is_not_part_of_it(client):
    from tests.functions import deployment

    event = deployment.make_event("GET", "/prod/v1/stats", None, {"authorization": f"Bearer {client.token}"})
    event["requestContext"]["stage"] = "prod"
    result = deployment.load_handler("http_api").lambda_handler(deployment.authorized(event), deployment.Context())
    assert json.loads(result["body"])["namespace"] == client.namespace
