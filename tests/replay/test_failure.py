"""A failing storage or a wrong request is an error with a code, never an empty success."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.errors import AgentMemoryError, BackendError, ThrottledError, ValidationError
from tests.fakes.faulty_store import Fault
from tests.unit.service.worlds import NAMESPACE, World

READS: dict[str, Callable[[MemoryStore], Any]] = {
    "recall": lambda memories: [hit.memory.content for hit in memories.recall(NAMESPACE, "text")],
    "recall eventually": lambda memories: len(memories.recall(NAMESPACE, "text", consistency="eventual")),
    "list": lambda memories: [memory.content for memory in memories.list(NAMESPACE).memories],
    "get": lambda memories: memories.get(NAMESPACE, "one").content,
    "export": lambda memories: list(memories.export(NAMESPACE)),
    "stats": lambda memories: memories.stats(NAMESPACE),
    "namespaces": lambda memories: memories.namespaces(),
}


def filled_world() -> World:
    world = World()
    for memory_id in ("one", "two", "three"):
        world.memories.remember(NAMESPACE, f"text {memory_id}", id=memory_id)
    world.fold()
    world.memories.remember(NAMESPACE, "text four", id="four")
    world.memories.forget(NAMESPACE, "two")
    world.store.forget_requests()
    return world


def answer_to(call: Callable[[], Any]) -> Any:
    """Return what a call answers: a value, or the error it raises."""
    try:
        return call()
    except AgentMemoryError as error:
        return error


@pytest.mark.parametrize("fault", [Fault.LOST_REQUEST, Fault.THROTTLED])
@pytest.mark.parametrize("read", READS)
def test_a_read_whose_storage_fails_says_so_or_is_right(read: str, fault: Fault) -> None:
    right = READS[read](filled_world().memories)
    for place in range(50):
        world = filled_world()
        world.store.fail(fault, at=place)
        answer = answer_to(partial(READS[read], world.memories))
        is_told = isinstance(answer, (BackendError, ThrottledError))
        assert is_told or answer == right, f"request {place}: {answer!r}"
        if place >= len(world.store.requests):
            return


@pytest.mark.parametrize("read", READS)
def test_a_process_reads_right_after_a_failure(read: str) -> None:
    right = READS[read](filled_world().memories)
    world = filled_world()
    world.store.fail(Fault.LOST_REQUEST, times=2)
    for _ in range(2):
        try:
            READS[read](world.memories)
        except BackendError:
            continue
    world.store.forget_requests()
    assert READS[read](world.memories) == right


# --- requests of the wrong shape --------------------------------------------------------------------------------------

CLEAR_CODES = {"validation", "limit_exceeded", "not_found", "conflict"}
NONSENSE: list[Any] = [
    *[None, True, 7, -1, 1.5, float("nan"), "", " ", "\ud800", "x" * 40_000, b"bytes", [], ["a", 7], [[]], ()],
    *[{}, {"a": object()}, {7: 7}, object(), {"$eq": object()}, {"data.a": {"$bad": 1}}, {"data.a": object()}],
]
REMEMBER = (
    "content",
    "kind",
    "tags",
    "importance",
    "ttl",
    "expires_at",
    "source",
    "data",
    "metadata",
    "id",
    "namespace",
)
UPDATE = (*[name for name in REMEMBER if name != "kind"], "expected_version")
SEARCH = ("namespace", "query", "kind", "tags", "filter", "limit", "consistency")
CALLS: list[tuple[str, str, dict[str, Any]]] = [
    *[("remember", name, {"namespace": NAMESPACE, "content": "text"}) for name in REMEMBER],
    *[("update", name, {"namespace": NAMESPACE, "id": "one", "importance": 0.5}) for name in UPDATE],
    *[("recall", name, {"namespace": NAMESPACE, "query": "text"}) for name in SEARCH],
    *[("list", name, {"namespace": NAMESPACE}) for name in ("namespace", "kind", "tags", "filter", "limit", "cursor")],
    *[("get", name, {"namespace": NAMESPACE, "id": "one"}) for name in ("namespace", "id", "kind")],
    *[("forget", name, {"namespace": NAMESPACE, "id": "one"}) for name in ("namespace", "id", "reason")],
    *[(action, "namespace", {}) for action in ("stats", "reindex", "sweep", "prune_expired")],
    ("namespaces", "prefix", {}),
]


@pytest.mark.parametrize(
    ("action", "name", "arguments"), CALLS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_nonsense_is_refused_or_harmless_but_never_a_crash(action: str, name: str, arguments: dict[str, Any]) -> None:
    for nonsense in NONSENSE:
        world = filled_world()
        answer = answer_to(partial(getattr(world.memories, action), **{**arguments, name: nonsense}))
        is_clear = not isinstance(answer, AgentMemoryError) or answer.code in CLEAR_CODES
        assert is_clear, f"{nonsense!r}: {answer!r}"
        seen = world.seen()
        assert seen.agrees, f"{nonsense!r}: {seen}"


@pytest.mark.parametrize("value", [7, ["text"], {"text": "text"}, b"text", None, ""])
def test_a_refused_memory_leaves_no_trace(value: Any) -> None:
    world = World()
    with pytest.raises(ValidationError):
        world.memories.remember(NAMESPACE, value)
    assert world.store.requests == []


def test_errors_do_not_repeat_the_memory() -> None:
    world = filled_world()
    secret = "the secret word is swordfish"
    for arguments in ({"importance": 7}, {"kind": secret}, {"tags": secret}, {"data": {"a": object()}}, {"id": "/"}):
        with pytest.raises(ValidationError) as caught:
            world.memories.remember(NAMESPACE, secret, **arguments)
        assert "swordfish" not in str(caught.value), arguments
