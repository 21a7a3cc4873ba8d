"""Two tenants of one deployment: whatever one asks for, it meets nothing of the other's."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from s3_agent_memory.edge.http.routes import ROUTES, Route
from tests.e2e.api import Caller, NewCaller

_SECRET = "The spare key lies under the third flowerpot"
_QUESTION = {"query": "spare key flowerpot"}
_TALK = {"level": "session", "session_id": "talk"}
_SPEAKER = {"agent_client_id": "spy", "session_id": "talk"}
_ROUTES = [route for route in ROUTES if not route.is_public]


@dataclass(frozen=True, slots=True)
class Scene:
    """A memory and a consolidation of one tenant, and another tenant who is after them."""

    owner: Caller
    stranger: Caller
    memory_id: str
    run_id: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request for somebody else's memory, and the status that it must be answered with."""

    status: int
    body: Any = None
    lines: str | None = None


def attempts(memory_id: str) -> dict[str, Attempt]:
    """Return what a stranger would try, by the name of the endpoint: one attempt for every route."""
    operations = [
        {"op": "get", "id": memory_id},
        {"op": "update", "id": memory_id, "content": "moved"},
        {"op": "forget", "id": memory_id},
        {"op": "search", **_QUESTION},
    ]
    foreign = {"content": "planted", "namespace": ["tenants", "owner"]}
    return {
        "remember": Attempt(201, {"content": "The stranger was here"}),
        "list_memories": Attempt(200),
        "search": Attempt(200, _QUESTION),
        "batch": Attempt(200, {"operations": operations}),
        "get_memory": Attempt(404),
        "update_memory": Attempt(404, {"content": "moved"}),
        "forget_memory": Attempt(404),
        "export_memories": Attempt(200),
        "import_memories": Attempt(200, lines=json.dumps(foreign)),
        "read_stats": Attempt(200),
        "list_namespaces": Attempt(200),
        "recall_conversation": Attempt(200, {"scope": _TALK, **_QUESTION}),
        "list_conversation": Attempt(200, {"scope": _TALK}),
        "write_conversation": Attempt(200, {"attribution": _SPEAKER, "role": "user", "content": "Where is the key?"}),
        "forget_conversation": Attempt(200, {"scope": _TALK}),
        "supersede_memory": Attempt(404, {"content": "moved"}),
        "read_history": Attempt(404),
        "consolidate": Attempt(200, {}),
        "get_consolidation": Attempt(404),
        "undo_consolidation": Attempt(404),
        "read_events": Attempt(200),
        # Without the permission nobody learns whether there is one.
        "begin_erasure": Attempt(403, {"confirm": "tenants/owner", "everything": True}),
        "read_erasure": Attempt(403),
    }


@pytest.fixture(scope="module")
def scene(new_caller: NewCaller) -> Scene:
    owner = new_caller("tenants/owner")
    memory_id = owner.remember(_SECRET, tags=["home"])
    run_id = owner.ask("POST", "/v1/consolidations", {})["run"]["id"]
    return Scene(owner, new_caller("tenants/stranger"), memory_id, run_id)


def send(scene: Scene, route: Route, **options: Any) -> Any:
    attempt = attempts(scene.memory_id)[route.endpoint]
    path = route.rule.replace("<memory_id>", scene.memory_id).replace("<run_id>", scene.run_id)
    if attempt.lines is not None:
        options |= {"content": attempt.lines, "headers": {"Content-Type": "application/x-ndjson"}}
    return scene.stranger.send(route.method, path, attempt.body, **options)


@pytest.mark.parametrize("route", _ROUTES, ids=lambda route: route.endpoint)
def test_no_route_shows_or_changes_the_memory_of_another_tenant(route: Route, scene: Scene) -> None:
    answer = send(scene, route)

    assert answer.status_code == attempts(scene.memory_id)[route.endpoint].status, answer.text
    assert "flowerpot" not in answer.text
    assert "tenants/owner" not in answer.text
    memories = scene.owner.ask("GET", "/v1/memories")["memories"]
    assert [(memory["content"], memory["version"]) for memory in memories] == [(_SECRET, 1)]


@pytest.mark.parametrize("route", _ROUTES, ids=lambda route: route.endpoint)
def test_no_route_lets_a_tenant_choose_the_namespace_of_another(route: Route, scene: Scene) -> None:
    answer = send(scene, route, params={"namespace": "tenants/owner"})

    # A batch is answered as a whole, with a result for each operation. The list of namespaces takes none.
    results = answer.json().get("results", [{"status": answer.status_code}])
    expected = 400 if route.endpoint == "list_namespaces" else 403
    assert {result["status"] for result in results} == {expected}, answer.text
