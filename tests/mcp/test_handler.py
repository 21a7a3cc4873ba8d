"""The function itself: warm, with many requests at once, again and again, and after errors."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.architecture.project import run_python
from tests.functions import deployment as functions
from tests.mcp.remote import initialize_params, notification, request

REQUEST_COUNT = 50


def make_token(namespace):
    return functions.load_handler("authorizer").tokens.create(principal="tester", namespace=namespace)[0]


def make_event(token, message):
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    return functions.authorized(functions.make_event("POST", "/mcp", message, headers))


def invoke(token, message):
    event = make_event(token, message)
    return functions.answer_of(functions.load_handler("mcp_endpoint").lambda_handler(event, functions.Context()))


def invoke_at_once(events):
    """Return the answers to events that are handled at the same moment, each in a thread of its own.

    Lambda never does that to one handler. Its metrics belong to the process and would be mixed up, so they are left
    out.
    """
    endpoint = functions.load_handler("mcp_endpoint").endpoint
    barrier = threading.Barrier(len(events))

    def handle(event):
        barrier.wait()
        return functions.answer_of(endpoint.handle(event))

    with ThreadPoolExecutor(len(events)) as pool:
        return list(pool.map(handle, events))


def tool_call(tool, **arguments):
    return request("tools/call", {"name": tool, "arguments": arguments})


def call(token, tool, **arguments):
    return invoke(token, tool_call(tool, **arguments))


@pytest.fixture
def token():
    return make_token(functions.fresh_namespace())


def test_fifty_requests_at_once_on_one_warm_handler_are_all_answered_rightly():
    tokens = [make_token(functions.fresh_namespace()) for _ in range(5)]
    messages = [tool_call("remember", content=f"memory {number}") for number in range(REQUEST_COUNT)]
    answers = invoke_at_once([make_event(tokens[number % 5], message) for number, message in enumerate(messages)])
    assert [answer.status for answer in answers] == [200] * REQUEST_COUNT
    assert not [answer.body for answer in answers if answer.json["result"]["isError"]]
    for index, token in enumerate(tokens):
        found = call(token, "list", limit=25).json["result"]["structuredContent"]["memories"]
        expected = {f"memory {number}" for number in range(index, REQUEST_COUNT, 5)}
        assert {memory["content"] for memory in found} == expected


def test_answers_of_requests_at_once_are_not_mixed_up(token):
    ids = list(range(1, REQUEST_COUNT + 1))
    answers = invoke_at_once([make_event(token, request("ping", id=number)) for number in ids])
    assert [answer.json["id"] for answer in answers] == ids


def test_a_handler_is_used_again_and_again(token):
    for number in range(REQUEST_COUNT):
        assert invoke(token, request("initialize", initialize_params())).status == 200
        assert invoke(token, notification("notifications/initialized")).status == 202
        assert call(token, "remember", content=f"memory {number}").status == 200


@pytest.mark.parametrize(
    "bad",
    [
        b"{",
        [],
        request("no/such/method"),
        request("tools/call", {"name": "nothing", "arguments": {}}),
        request("tools/call", {"name": "recall", "arguments": {"query": 7}}),
        request("subscriptions/listen", {}),
        request("tools/call", 7),
    ],
)
def test_a_handler_goes_on_after_an_error(token, bad):
    for _ in range(3):
        assert invoke(token, bad).status < 500
    assert call(token, "remember", content="x").json["result"]["isError"] is False


def test_a_handler_leaves_no_thread_behind(token):
    call(token, "recall", query="")
    before = threading.active_count()
    for _ in range(20):
        call(token, "recall", query="")
    assert threading.active_count() <= before + 1


def test_the_http_api_does_not_load_the_mcp_sdk():
    code = """
import os, sys
os.environ.update(S3_AGENT_MEMORY_URL="memory://", POWERTOOLS_METRICS_DISABLED="true")
import functions.http_api.handler, functions.authorizer.handler
print(*sorted({"mcp", "mcp_types", "jwt", "cryptography"} & set(sys.modules)))
"""
    assert run_python(code).split() == []
