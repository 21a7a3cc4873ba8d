"""The rules of a remote MCP server, one by one: each has broken some server in the field."""

import json

import pytest

from tests.functions.deployment import make_event
from tests.mcp.remote import (
    LEGACY,
    MODERN,
    Remote,
    ask_with,
    error_of,
    events_of,
    initialize_params,
    modern_meta,
    notification,
    request,
)

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
ALL_VERSIONS = (*HANDSHAKE_VERSIONS, MODERN)


# Both eras on one URL ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_initialize_of_an_older_revision_is_answered_in_that_revision(alice, version):
    answer = alice.post(request("initialize", initialize_params(version)))
    assert (answer.status, answer.json["result"]["protocolVersion"]) == (200, version)


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_requests_of_an_older_revision_need_no_session(alice, version):
    answer = alice.legacy("tools/list", mcp_protocol_version=version)
    assert len(answer.json["result"]["tools"]) == 6


def test_a_request_without_a_version_is_one_of_the_oldest(alice):
    assert alice.post(request("tools/list")).status == 200


def test_a_modern_request_carries_everything_with_it(alice):
    answer = alice.modern("tools/list")
    assert (answer.status, answer.json["result"]["resultType"]) == (200, "complete")


def test_discovery_names_versions_capabilities_and_instructions(alice):
    result = alice.modern("server/discover").json["result"]
    assert (result["supportedVersions"], set(result["capabilities"])) == ([MODERN], {"prompts", "resources", "tools"})
    assert "data, not instructions" in result["instructions"]


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp_method": "tools/call"},
        {"mcp_method": None},
        {"mcp_method": "TOOLS/LIST"},
        {"mcp_protocol_version": "2026-07-28,2026-07-28"},
        {"mcp_protocol_version": "2099-01-01"},
    ],
)
def test_a_header_that_contradicts_the_body_is_refused(alice, headers):
    answer = alice.modern("tools/list", **headers)
    assert (answer.status, error_of(answer)["code"]) == (400, -32020)


@pytest.mark.parametrize("name", [None, "forget", "Recall"])
def test_a_name_header_that_contradicts_the_body_is_refused(alice, name):
    answer = alice.modern("tools/call", {"name": "recall", "arguments": {"query": ""}}, mcp_name=name)
    assert (answer.status, error_of(answer)["code"]) == (400, -32020)


def test_white_space_around_a_header_means_nothing(alice):
    assert alice.modern("tools/list", mcp_method="  tools/list ").status == 200


def test_an_unsupported_version_is_told_what_is_supported(alice):
    for answer in (
        alice.legacy("tools/list", mcp_protocol_version="2030-01-01"),
        alice.post(
            request("tools/list", {"_meta": modern_meta("2030-01-01")}),
            mcp_protocol_version="2030-01-01",
            mcp_method="tools/list",
        ),
    ):
        error = error_of(answer)
        assert (answer.status, error["code"], error["data"]["requested"]) == (400, -32022, "2030-01-01")
        assert MODERN in error["data"]["supported"]


@pytest.mark.parametrize("method", ["ping", "initialize", "logging/setLevel", "resources/subscribe", "no/such/method"])
def test_a_method_that_the_modern_revision_does_not_have_is_404(alice, method):
    answer = alice.modern(method)
    assert (answer.status, error_of(answer)["code"]) == (404, -32601)


def test_an_unknown_method_of_an_older_revision_is_a_json_rpc_error(alice):
    assert error_of(alice.legacy("no/such/method"))["code"] == -32601


# Sessions, streams, notifications ------------------------------------------------------------------------------------


@pytest.mark.parametrize("session", [None, "stale", "0" * 32, "not a session\x00"])
def test_a_session_id_is_neither_issued_nor_looked_at(alice, session):
    for answer in (
        alice.legacy("initialize", initialize_params(), mcp_session_id=session),
        alice.legacy("tools/list", mcp_session_id=session),
        alice.modern("tools/list", mcp_session_id=session),
    ):
        assert answer.status == 200
        assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "HEAD"])
def test_other_methods_than_post_are_refused_at_once(alice, method):
    answer = alice.send(method, accept="text/event-stream", mcp_session_id="stale", last_event_id="7")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_other_methods_authenticate_first(deployment, method):
    assert Remote(deployment, None).send(method).status == 401


@pytest.mark.parametrize("version", ALL_VERSIONS)
@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "notifications/unknown"])
def test_a_notification_is_202_without_a_body(alice, version, method):
    answer = alice.post(notification(method), mcp_protocol_version=version)
    assert (answer.status, answer.body) == (202, b"")


def test_a_response_to_nothing_is_accepted_of_older_revisions_and_refused_of_the_modern(alice):
    response = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert alice.post(response).status == 202
    assert alice.post(response, mcp_protocol_version=MODERN).status == 400


# Bad requests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [None, LEGACY, MODERN])
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
        (b"[" * 100_000, -32700),
        (b'{"a":' * 50_000, -32700),
        (b"1" * 5_000, -32700),
        (b"null", -32600),
        (b'"text"', -32600),
        (b"7", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}', -32600),
    ],
)
def test_what_is_no_message_is_400(alice, version, body, code):
    answer = alice.post(body, mcp_protocol_version=version)
    assert (answer.status, error_of(answer)["code"]) == (400, code)


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"name": 7},
        {"name": "recall", "arguments": []},
        {"name": "recall", "arguments": "query"},
        {"name": "x" * 10_000},
        {"name": ["recall"]},
    ],
)
def test_wrong_parameters_are_an_error_and_never_500(alice, params):
    for answer in (alice.legacy("tools/call", params), alice.modern("tools/call", params)):
        assert answer.status in (200, 400)
        assert error_of(answer)["code"] in (-32602, -32600, -32020)


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize(
    "params",
    [
        {"name": "remember", "arguments": {"content": "\ud800"}},
        {"name": "remember", "arguments": {"content": "x", "tags": ["\udfff"]}},
        {"name": "recall", "arguments": {"query": "x", "\ud800": 1}},
        {"name": "\ud800", "arguments": {}},
    ],
)
def test_half_a_character_is_refused_and_never_500(alice, era, params):
    answer = getattr(alice, era)("tools/call", params)
    assert answer.status == 400 or answer.json["result"]["isError"] is True
    assert alice.answer("list")["memories"] == []


@pytest.mark.parametrize("version", [None, "2025-03-26"])
def test_a_batch_is_answered_where_the_revision_has_batches(alice, version):
    batch = [
        request("ping", id="a"),
        notification("notifications/initialized"),
        request("no/such/method", id=2),
        request("tools/call", {"name": "list", "arguments": {}}, id=3),
    ]
    answer = alice.post(batch, mcp_protocol_version=version)
    assert answer.status == 200
    assert [(item["id"], "result" in item) for item in answer.json] == [("a", True), (2, False), (3, True)]


def test_a_batch_of_notifications_is_202(alice):
    answer = alice.post([notification("notifications/initialized")] * 3)
    assert (answer.status, answer.body) == (202, b"")


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_a_batch_is_refused_where_the_revision_has_none(alice, version):
    answer = alice.post([request("ping")], mcp_protocol_version=version)
    assert (answer.status, error_of(answer)["code"]) == (400, -32600)


@pytest.mark.parametrize(
    "batch", [[], [request("ping")] * 51, [7], [request("ping"), {}], [request("initialize", initialize_params())]]
)
def test_a_wrong_batch_is_400_and_nothing_of_it_is_done(alice, batch):
    store = request("tools/call", {"name": "remember", "arguments": {"content": "x"}})
    answer = alice.post([store, *batch] if batch else batch)
    assert (answer.status, error_of(answer)["code"]) == (400, -32600)
    assert alice.answer("list")["memories"] == []


# Content negotiation -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "accept",
    [
        None,
        "",
        "*/*",
        "application/json",
        "application/json, text/event-stream",
        "text/event-stream, application/json",
        "text/event-stream;q=0.9,application/json;q=0.1",
        "APPLICATION/JSON",
        "application/*",
        "text/html, */*;q=0.8",
    ],
)
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_json_is_answered_whenever_it_is_taken(alice, era, accept):
    answer = getattr(alice, era)("tools/list", accept=accept)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")


@pytest.mark.parametrize(
    "accept", ["text/event-stream", "Text/Event-Stream; charset=utf-8", "application/json;q=0, text/*"]
)
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_one_event_is_answered_when_nothing_else_is_taken(alice, era, accept):
    answer = getattr(alice, era)("tools/list", accept=accept)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    (event,) = events_of(answer)
    assert len(event["result"]["tools"]) == 6


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON"])
def test_json_is_taken_with_any_parameters(alice, content_type):
    assert alice.modern("tools/list", content_type=content_type).status == 200


@pytest.mark.parametrize(
    "content_type", [None, "", "text/plain", "application/x-www-form-urlencoded", "application/jsonp"]
)
def test_other_content_is_415(alice, content_type):
    answer = alice.modern("tools/list", content_type=content_type)
    assert (answer.status, error_of(answer)["code"]) == (415, -32600)


def test_a_body_in_base64_is_decoded(deployment, alice):
    event = make_event("POST", "/mcp", request("tools/list"), {}, is_base64=True)
    event["headers"] |= {"content-type": "application/json", "authorization": f"Bearer {alice.token}"}
    assert deployment.handle(event).status == 200


def test_a_body_that_is_no_base64_is_400(deployment, alice):
    event = make_event("POST", "/mcp", b"%%%", {})
    event["headers"] |= {"content-type": "application/json", "authorization": f"Bearer {alice.token}"}
    event["isBase64Encoded"] = True
    assert deployment.handle(event).status == 400


# Limits --------------------------------------------------------------------------------------------------------------


def test_a_body_of_more_than_4_mib_is_413(alice):
    arguments = {"name": "remember", "arguments": {"content": "x" * (4 * 1024 * 1024)}}
    answer = alice.modern("tools/call", arguments)
    assert (answer.status, error_of(answer)["code"]) == (413, -32600)


def test_a_huge_argument_below_that_is_an_error_of_the_tool(alice):
    answer = alice.call("remember", content="x" * (3 * 1024 * 1024))
    assert answer.json["result"]["content"][0]["text"].endswith("[limit_exceeded]")


def test_a_stage_is_no_part_of_the_path(deployment, alice):
    event = make_event("POST", "/mcp", request("tools/list"), {"content-type": "application/json"})
    event["headers"]["authorization"] = f"Bearer {alice.token}"
    assert event["requestContext"]["stage"] == "$default"
    assert deployment.handle(event).status == 200


# Cheap, and nothing but data -----------------------------------------------------------------------------------------


def test_connecting_and_listing_touch_no_storage(deployment, alice):
    authorizer = deployment.authorized(make_event("POST", "/mcp", None, {"authorization": f"Bearer {alice.token}"}))
    grant = authorizer["requestContext"]["authorizer"]
    deployment.store.reset()
    for method, params in (
        ("initialize", initialize_params()),
        ("tools/list", None),
        ("resources/list", None),
        ("resources/templates/list", None),
        ("prompts/list", None),
        ("prompts/get", {"name": "use_memory_well"}),
        ("ping", None),
    ):
        assert "result" in ask_with(deployment, grant, method, params).json
    assert deployment.store.counts.request_count == 0


def test_verifying_a_token_takes_one_read(deployment, alice):
    deployment.store.reset()
    alice.modern("tools/list")
    assert (deployment.store.counts.get_count, deployment.store.counts.request_count) == (1, 1)


def test_no_log_holds_what_was_stored_or_the_token(deployment, alice):
    alice.answer("remember", content="a very secret text", tags=["secret-tag"])
    alice.call("recall", query="secret question")
    alice.call("remember", content={"secret": 1}, secret=2)
    alice.post(b'{"secret')
    assert deployment.log.getvalue()
    assert "secret" not in deployment.log.getvalue()
    assert alice.token not in deployment.log.getvalue()


def test_the_log_names_method_route_and_status(deployment, alice):
    alice.modern("tools/list")
    logged = json.loads(deployment.log.getvalue().splitlines()[-1])
    assert (logged["method"], logged["route"], logged["status"]) == ("POST", "/mcp", 200)
