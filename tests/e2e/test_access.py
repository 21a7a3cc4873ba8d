"""Who may do what through the deployed gateway and its authorizer."""

import pytest

from s3_agent_memory.edge.http.routes import ROUTES, Route
from tests.e2e.api import CommandLine, NewCaller
from tests.e2e.waiting import wait_for

# For as long the answers of the authorizer may be cached, and a while more.
_REVOKED_SECONDS = 30
_UNKNOWN_TOKEN = "sam_" + "0" * 64
PUBLIC_ROUTES = [route for route in ROUTES if route.is_public]
CLOSED_ROUTES = [route for route in ROUTES if not route.is_public]


def name_of(route: Route) -> str:
    return f"{route.method} {route.rule}"


def path_of(route: Route, memory_id: str = "absent") -> str:
    return route.rule.replace("<memory_id>", memory_id)


@pytest.mark.parametrize("route", PUBLIC_ROUTES, ids=name_of)
def test_a_public_route_answers_without_a_token(route: Route, new_caller: NewCaller) -> None:
    assert new_caller().send(route.method, path_of(route)).status_code == 200


@pytest.mark.parametrize("route", CLOSED_ROUTES, ids=name_of)
def test_a_request_without_a_token_is_refused(route: Route, new_caller: NewCaller) -> None:
    assert new_caller().send(route.method, path_of(route)).status_code == 401


@pytest.mark.parametrize("route", CLOSED_ROUTES, ids=name_of)
def test_a_token_that_nobody_made_is_refused(route: Route, new_caller: NewCaller) -> None:
    answer = new_caller(token=_UNKNOWN_TOKEN).send(route.method, path_of(route))

    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert "invalid_token" in answer.headers["WWW-Authenticate"]


def test_a_path_that_is_no_route_is_not_found(new_caller: NewCaller) -> None:
    assert new_caller("access/nowhere").send("GET", "/v1/nowhere").status_code == 404


def test_a_token_for_reading_cannot_write(new_caller: NewCaller) -> None:
    reader = new_caller("access/reader", "--permission", "read")

    assert reader.send("POST", "/v1/memories", {"content": "not for me"}).status_code == 403
    assert reader.ask("GET", "/v1/memories")["memories"] == []


def test_a_token_for_writing_cannot_read(new_caller: NewCaller) -> None:
    writer = new_caller("access/writer", "--permission", "write")
    memory_id = writer.remember("written and not to be read")

    assert writer.send("GET", f"/v1/memories/{memory_id}").status_code == 403
    assert writer.send("POST", "/v1/memories/search", {"query": "written"}).status_code == 403


def test_a_revoked_token_is_refused_once_the_cached_answer_is_over(
    command_line: CommandLine, new_caller: NewCaller
) -> None:
    made = command_line("-n", "access/revoked", "token", "create", "--principal", "for a while")
    caller = new_caller(token=made["token"])
    assert caller.send("GET", "/v1/stats").status_code == 200

    command_line("token", "revoke", made["token_id"])

    wait_for(
        lambda: caller.send("GET", "/v1/stats").status_code == 401,
        what="the revoked token to be refused",
        seconds=_REVOKED_SECONDS,
    )
